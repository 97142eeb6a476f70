"""Models: what was trained, how it was judged, which one is shown."""

from datetime import date
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, insert

from pipelines.schema import models


def add_model(connection: sa.Connection, **columns: Any) -> None:
    """Records an exported model; the same version again changes nothing."""
    connection.execute(insert(models).values(**columns).on_conflict_do_nothing())


def champion(connection: sa.Connection) -> dict[str, Any] | None:
    """The model whose forecasts are shown."""
    return _one(connection, models.c.role == "champion")


def model(connection: sa.Connection, version: str) -> dict[str, Any] | None:
    """The model of that version."""
    return _one(connection, models.c.version == version)


def newest_challenger(connection: sa.Connection) -> dict[str, Any] | None:
    """The challenger that was trained last."""
    return _one(connection, models.c.role == "challenger")


def newest_judge(connection: sa.Connection) -> dict[str, Any] | None:
    """The newest fit that a challenger was judged by."""
    return _one(connection, models.c.role == "judge")


def judge_of(connection: sa.Connection, run_id: int) -> dict[str, Any] | None:
    """The fit by which the model of a run was judged."""
    return _one(connection, (models.c.role == "judge") & (models.c.run_id == run_id))


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
    """The newest model that saw nothing after an origin."""
    return _one(connection, models.c.trained_through <= origin)


def all_models(connection: sa.Connection) -> list[dict[str, Any]]:
    """Every model, newest first."""
    statement = sa.select(models).order_by(
        models.c.trained_through.desc(), models.c.created_at.desc()
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def promote(connection: sa.Connection, version: str, reason: str) -> None:
    """Makes a model the champion; the one before it retires."""
    retire = sa.update(models).where(models.c.role == "champion")
    connection.execute(retire.values(role="retired"))
    crown = sa.update(models).where(models.c.version == version)
    connection.execute(
        crown.values(
            role="champion", reason=reason, promoted_at=sa.func.clock_timestamp()
        )
    )


def reject(connection: sa.Connection, version: str, reason: str) -> None:
    """Writes down why a challenger was not promoted."""
    statement = sa.update(models).where(models.c.version == version)
    connection.execute(statement.values(role="rejected", reason=reason))


def keep_canary(
    connection: sa.Connection, version: str, canary: dict[str, Any]
) -> None:
    """Writes down, beside its scores, how a model did beside the champion."""
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
