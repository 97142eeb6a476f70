"""Statements for trained models: recording, evaluation, promotion."""

from datetime import date
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, insert

from pipelines.schema import models


def add_model(connection: sa.Connection, **columns: Any) -> None:
    """Records an exported model.

    The same version again changes nothing, unless its artefact was pruned: it is there
    again, and as old as a new one.
    """
    again = insert(models).values(**columns).on_conflict_do_update(
        index_elements=[models.c.version],
        set_={"pruned_at": None, "created_at": sa.func.now()},
        where=models.c.pruned_at.is_not(None),
    )  # fmt: skip
    connection.execute(again)


def champion(connection: sa.Connection) -> dict[str, Any] | None:
    """The champion, whose forecasts are shown."""
    return _one(connection, models.c.role == "champion")


def model(connection: sa.Connection, version: str) -> dict[str, Any] | None:
    """The model of that version."""
    return _one(connection, models.c.version == version)


def newest_challenger(connection: sa.Connection) -> dict[str, Any] | None:
    """The challenger that was trained last."""
    return _one(connection, models.c.role == "challenger")


def newest_evaluation(connection: sa.Connection) -> dict[str, Any] | None:
    """The newest evaluation fit: the one whose holdout scores a challenger was judged by."""
    return _one(connection, models.c.role == "evaluation")


def evaluation_of(connection: sa.Connection, run_id: int) -> dict[str, Any] | None:
    """The evaluation fit of the run that trained a model."""
    return _one(
        connection, (models.c.role == "evaluation") & (models.c.run_id == run_id)
    )


def champion_before(connection: sa.Connection) -> dict[str, Any] | None:
    """The model that was champion before the present one."""
    statement = (
        sa.select(models)
        .where(models.c.role == "retired")
        .order_by(models.c.promoted_at.desc().nulls_last())
        .limit(1)
    )
    found = connection.execute(statement).mappings().first()
    return None if found is None else dict(found)


def newest_trained_through(
    connection: sa.Connection, origin: date
) -> dict[str, Any] | None:
    """The newest model that saw nothing after an origin, and whose artefact is there."""
    return _one(
        connection,
        (models.c.trained_through <= origin) & models.c.pruned_at.is_(None),
    )


def all_models(connection: sa.Connection) -> list[dict[str, Any]]:
    """Every model, newest first."""
    statement = sa.select(models).order_by(
        models.c.trained_through.desc(), models.c.created_at.desc()
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def promote(connection: sa.Connection, version: str, reason: str) -> bool:
    """Makes a model the champion; the one before it retires.

    Returns:
      Whether it is; nothing is changed for one whose artefact was pruned.
    """
    wanted = models.c.version == version
    kept = sa.select(models.c.version).where(wanted, models.c.pruned_at.is_(None))
    if connection.scalar(kept.with_for_update()) is None:
        return False
    retire = sa.update(models).where(models.c.role == "champion")
    connection.execute(retire.values(role="retired"))
    set_champion = sa.update(models).where(wanted)
    connection.execute(
        set_champion.values(
            role="champion",
            decision_reason=reason,
            promoted_at=sa.func.clock_timestamp(),
        )
    )
    return True


def reject(connection: sa.Connection, version: str, reason: str) -> None:
    """Rejects a challenger and records the reason."""
    statement = sa.update(models).where(models.c.version == version)
    connection.execute(statement.values(role="rejected", decision_reason=reason))


def keep_canary(
    connection: sa.Connection, version: str, canary: dict[str, Any]
) -> None:
    """Records a model's canary beside its scores."""
    told = sa.cast({"canary": canary}, JSONB)
    statement = sa.update(models).where(models.c.version == version)
    connection.execute(statement.values(scores=models.c.scores.op("||")(told)))


def _one(
    connection: sa.Connection, condition: sa.ColumnElement[bool]
) -> dict[str, Any] | None:
    statement = (
        sa.select(models)
        .where(condition)
        .order_by(models.c.trained_through.desc(), models.c.created_at.desc())
        .limit(1)
    )
    found = connection.execute(statement).mappings().first()
    return None if found is None else dict(found)
