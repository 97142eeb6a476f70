"""The ledger: what ran, over which partition, how it ended."""

from datetime import date
from typing import Any

import sqlalchemy as sa

from pipelines.schema import runs


def begin_run(
    connection: sa.Connection, step: str, origin: date | None, parent_id: int | None
) -> int:
    """Writes down that a step runs, and returns the run's id."""
    values = {"step": step, "origin_on": origin, "parent_id": parent_id}
    statement = sa.insert(runs).values(state="running", **values)
    return int(connection.execute(statement.returning(runs.c.run_id)).scalar_one())


def set_origin(connection: sa.Connection, run_id: int, origin: date) -> None:
    """Writes down the origin of a run that found it out on the way."""
    connection.execute(
        sa.update(runs).where(runs.c.run_id == run_id).values(origin_on=origin)
    )


def end_run(
    connection: sa.Connection,
    run_id: int,
    state: str,
    counts: dict[str, Any],
    error: str | None = None,
) -> None:
    """Writes down how a run ended."""
    now = sa.func.clock_timestamp()
    connection.execute(
        sa.update(runs)
        .where(runs.c.run_id == run_id)
        .values(
            state=state, counts=counts, error=error, finished_at=now, heartbeat_at=now
        )
    )


def recent_runs(connection: sa.Connection, limit: int) -> list[dict[str, Any]]:
    """The newest runs, newest first."""
    statement = sa.select(runs).order_by(runs.c.run_id.desc()).limit(limit)
    return [dict(row) for row in connection.execute(statement).mappings()]


def run_with_steps(connection: sa.Connection, run_id: int) -> list[dict[str, Any]]:
    """One run and the steps beneath it, in order; empty if there is none."""
    statement = (
        sa.select(runs)
        .where((runs.c.run_id == run_id) | (runs.c.parent_id == run_id))
        .order_by(runs.c.run_id)
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def finished_night(connection: sa.Connection, origin: date) -> int | None:
    """The nightly run that has already been done for an origin."""
    statement = sa.select(sa.func.max(runs.c.run_id)).where(
        runs.c.step == "nightly", runs.c.origin_on == origin, runs.c.state == "done"
    )
    return connection.execute(statement).scalar()


def night_without_news(connection: sa.Connection, origin: date) -> int | None:
    """The nightly run that is done for an origin, if nothing has come in since."""
    return connection.scalar(
        sa.text(
            "select max(n.run_id) from runs n "
            "join runs d on d.parent_id = n.run_id and d.step = 'demand' "
            "where n.step = 'nightly' and n.state = 'done' and n.origin_on = :origin "
            "and not exists (select from files where loaded_at > d.finished_at) "
            "and not exists "
            "(select from demand_versions where recorded_at > d.finished_at)"
        ),
        {"origin": origin},
    )


def last_night(connection: sa.Connection) -> dict[str, Any] | None:
    """The newest nightly run, however it ended."""
    statement = (
        sa.select(runs)
        .where(runs.c.step == "nightly")
        .order_by(runs.c.run_id.desc())
        .limit(1)
    )
    found = connection.execute(statement).mappings().first()
    return None if found is None else dict(found)
