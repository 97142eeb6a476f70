"""Statements for trained models: recording, evaluation, promotion."""

from datetime import date, datetime
from typing import Any, TypedDict, cast

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, insert

from pipelines.schema import models, runs
from pipelines.schema.rollback import ROLLBACK_TARGET


class Model(TypedDict):
    """A row of `models`."""

    version: str
    created_at: datetime
    trained_through: date
    data_watermark: str
    filename: str
    sha256: str
    seed: int
    role: str
    scores: dict[str, Any]
    decision_reason: str | None
    promoted_at: datetime | None
    run_id: int | None
    pruned_at: datetime | None


def add_model(connection: sa.Connection, **columns: Any) -> None:
    """Records an exported model.

    A version that exists is left as it is, unless its artefact was pruned: then it counts
    as created now.
    """
    statement = insert(models).values(**columns).on_conflict_do_update(
        index_elements=[models.c.version],
        set_={"pruned_at": None, "created_at": sa.func.now()},
        where=models.c.pruned_at.is_not(None),
    )  # fmt: skip
    connection.execute(statement)


def champion(connection: sa.Connection) -> Model | None:
    """The champion, whose forecasts are published."""
    return _newest(connection, models.c.role == "champion")


def model(connection: sa.Connection, version: str) -> Model | None:
    """The model with this version."""
    return _newest(connection, models.c.version == version)


def newest_challenger(connection: sa.Connection, day: date) -> Model | None:
    """The newest unpruned challenger that was trained through a day or an earlier one."""
    is_challenger = (models.c.role == "challenger") & models.c.pruned_at.is_(None)
    return _newest(connection, is_challenger & (models.c.trained_through <= day))


def newest_evaluation(connection: sa.Connection) -> Model | None:
    """The newest evaluation fit, whose holdout scores decide on a challenger."""
    return _newest(connection, models.c.role == "evaluation")


def evaluation_of(connection: sa.Connection, run_id: int) -> Model | None:
    """The evaluation fit of the run that trained a model.

    An earlier run may have recorded it: an event of the days ahead changes only the model.
    """
    is_evaluation = models.c.role == "evaluation"
    version = sa.select(runs.c.metrics["evaluation"].astext).where(
        runs.c.run_id == run_id
    )
    is_own = (models.c.run_id == run_id) | (
        models.c.version == version.scalar_subquery()
    )
    return _newest(connection, is_evaluation & is_own)


def last_champion_trained_through(connection: sa.Connection, day: date) -> Model | None:
    """Of the unpruned models trained on no data after a day, the one that was promoted last.

    It may differ from the newest champion, which may have been rolled back.
    """
    was_champion = models.c.promoted_at.is_not(None)
    is_eligible = was_champion & (models.c.trained_through <= day)
    return _first(
        connection,
        is_eligible & models.c.pruned_at.is_(None),
        models.c.promoted_at.desc(),
    )


def servable(connection: sa.Connection, origin: date) -> list[Model]:
    """The models that may make the shown forecast of an origin, first choice first.

    The champion, then the former champions, the last one first. Left out are models trained on
    days after the origin, whose data was withdrawn since, and former champions trained through
    the champion's last day or a later one, as they may have been rolled back.
    """
    newest = champion(connection)
    if newest is None:
        return []
    is_champion = models.c.version == newest["version"]
    is_older = models.c.trained_through < newest["trained_through"]
    eligible = sa.select(models).where(
        is_champion | models.c.promoted_at.is_not(None) & is_older,
        models.c.trained_through <= origin,
        models.c.pruned_at.is_(None),
    )
    statement = eligible.order_by(is_champion.desc(), models.c.promoted_at.desc())
    return [cast(Model, dict(row)) for row in connection.execute(statement).mappings()]


def rollback_target(connection: sa.Connection) -> Model | None:
    """The model that was champion before the present one."""
    version = connection.scalar(sa.text(ROLLBACK_TARGET))
    return None if version is None else model(connection, version)


def newest_trained_through(connection: sa.Connection, origin: date) -> Model | None:
    """The newest unpruned model trained on nothing after an origin, and not rejected."""
    is_eligible = (models.c.trained_through <= origin) & (models.c.role != "rejected")
    return _newest(connection, is_eligible & models.c.pruned_at.is_(None))


def all_models(connection: sa.Connection) -> list[Model]:
    """Every model, newest first."""
    statement = sa.select(models).order_by(
        models.c.trained_through.desc(), models.c.created_at.desc()
    )
    return [cast(Model, dict(row)) for row in connection.execute(statement).mappings()]


def promote(connection: sa.Connection, version: str, reason: str) -> bool:
    """Makes a model the champion; the one before it retires.

    Returns:
      False, with nothing changed, if its artefact was pruned.
    """
    is_promoted = models.c.version == version
    unpruned = sa.select(models.c.version).where(
        is_promoted, models.c.pruned_at.is_(None)
    )
    if connection.scalar(unpruned.with_for_update()) is None:
        return False
    now = sa.func.clock_timestamp()
    retire = sa.update(models).where(models.c.role == "champion")
    # A promotion time in the future, by a clock ahead, would rank it first of the former champions.
    promoted_at = sa.func.least(models.c.promoted_at, now)
    connection.execute(retire.values(role="retired", promoted_at=promoted_at))
    set_champion = sa.update(models).where(is_promoted)
    connection.execute(
        set_champion.values(role="champion", decision_reason=reason, promoted_at=now)
    )
    return True


def reject(
    connection: sa.Connection, version: str, reason: str, *, serves_hindcasts: bool
) -> None:
    """Decides against a challenger and records the reason; it may still serve hindcasts."""
    role = "hindcast" if serves_hindcasts else "rejected"
    statement = sa.update(models).where(models.c.version == version)
    connection.execute(statement.values(role=role, decision_reason=reason))


def set_canary(connection: sa.Connection, version: str, canary: dict[str, Any]) -> None:
    """Stores a model's canary result among its scores."""
    score = sa.cast({"canary": canary}, JSONB)
    statement = sa.update(models).where(models.c.version == version)
    connection.execute(statement.values(scores=models.c.scores.op("||")(score)))


def _newest(
    connection: sa.Connection, condition: sa.ColumnElement[bool]
) -> Model | None:
    newest = (models.c.trained_through.desc(), models.c.created_at.desc())
    return _first(connection, condition, *newest)


def _first(
    connection: sa.Connection,
    condition: sa.ColumnElement[bool],
    *order: sa.ColumnElement[Any],
) -> Model | None:
    statement = sa.select(models).where(condition).order_by(*order).limit(1)
    row = connection.execute(statement).mappings().first()
    return None if row is None else cast(Model, dict(row))
