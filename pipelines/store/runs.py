"""Statements for the run ledger: which steps ran, for which origin, and how they ended."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from pipelines.schema import run_lines, runs
from pipelines.schema.ledger import HAS_SESSION, RUN_LOCK
from pipelines.store import commit_order

NOW = sa.func.clock_timestamp()
STATES = ("running", "done", "failed", "skipped")
NOT_SKIPPED = ("running", "done", "failed")
IS_PARENT = runs.c.parent_id.is_(None)
NO_NEWS = """
    not exists (select from files where loaded_at > d.started_at)
    and not exists (select from demand_versions where recorded_at > d.finished_at)
"""
NIGHT_WITHOUT_NEWS = f"""
select max(n.run_id) from runs n
join runs d on d.parent_id = n.run_id and d.step = 'demand'
where n.step = 'nightly' and n.state = 'done' and n.origin_on = :origin and {NO_NEWS}
"""
TRAINING_WITHOUT_NEWS = f"""
select t.run_id, t.metrics from runs t
join runs n on n.run_id = t.parent_id and n.step = 'nightly'
join models m on m.version = t.metrics ->> 'model'
join runs d on d.parent_id = n.run_id and d.step = 'demand'
where t.step = 'train' and t.state = 'done' and t.origin_on = :origin and {NO_NEWS}
order by t.run_id desc limit 1
"""


def begin_run(
    connection: sa.Connection,
    step: str,
    origin: date | None,
    parent_id: int | None,
    process: tuple[str, int],
) -> int:
    """Inserts a running step of a process (host, pid), and returns the run's id.

    Whatever was brought in before has committed when it begins; see `commit_order`. The
    session of a top-level run holds the run's lock before others can see the row.
    """
    commit_order.await_committing_loads(connection)
    host, pid = process
    statement = sa.insert(runs).values(
        step=step, origin_on=origin, parent_id=parent_id, host=host, pid=pid,
        state="running", started_at=NOW,
    )  # fmt: skip
    run_id = int(connection.execute(statement.returning(runs.c.run_id)).scalar_one())
    if parent_id is None:
        connection.execute(sa.select(sa.func.pg_try_advisory_lock(RUN_LOCK, run_id)))
    return run_id


def set_origin(connection: sa.Connection, run_id: int, origin: date) -> None:
    """Sets the origin of a run that did not know it at its start."""
    connection.execute(
        sa.update(runs).where(runs.c.run_id == run_id).values(origin_on=origin)
    )


def end_run(
    connection: sa.Connection,
    run_id: int,
    state: str,
    metrics: dict[str, Any],
    error: str | None = None,
) -> None:
    """Records the end of a run that still counts as running."""
    connection.execute(
        sa.update(runs)
        .where(runs.c.run_id == run_id, runs.c.state == "running")
        .values(state=state, metrics=metrics, error=error, finished_at=NOW)
    )


def fail_dead(connection: sa.Connection, error: str) -> list[int]:
    """Fails the runs in progress whose session has ended, and returns their ids.

    They end with their last log line. The two `%s` of the error become pid and host.
    """
    last_line = sa.select(sa.func.max(run_lines.c.written_at)).where(
        run_lines.c.run_id == runs.c.run_id
    )
    ended_at = sa.func.coalesce(last_line.scalar_subquery(), runs.c.started_at)
    statement = (
        sa.update(runs)
        .where(runs.c.state == "running", sa.text(f"not {HAS_SESSION}"))
        .values(
            state="failed",
            error=sa.func.format(error, runs.c.pid, runs.c.host),
            finished_at=ended_at,
        )
        .returning(runs.c.run_id)
    )
    return sorted(connection.scalars(statement))


def recent_runs(
    connection: sa.Connection, limit: int, with_steps: bool, filters: dict[str, Any]
) -> list[dict[str, Any]]:
    """The newest runs whose columns have the values of `filters`, newest first.

    Runs that are steps of others are included only `with_steps`.
    """
    statement = sa.select(runs).order_by(runs.c.run_id.desc()).limit(limit)
    for name, value in filters.items():
        statement = statement.where(runs.c[name] == value)
    if not with_steps:
        statement = statement.where(IS_PARENT)
    return [dict(row) for row in connection.execute(statement).mappings()]


def newest_parent(connection: sa.Connection) -> int | None:
    """The newest run that is no step of another; one that runs now before the others."""
    return connection.scalar(
        sa.select(runs.c.run_id)
        .where(IS_PARENT)
        .order_by((runs.c.state == "running").desc(), runs.c.run_id.desc())
        .limit(1)
    )


def run_with_steps(connection: sa.Connection, run_id: int) -> list[dict[str, Any]]:
    """One run and the steps beneath it, in order; empty if there is none."""
    statement = (
        sa.select(runs)
        .where((runs.c.run_id == run_id) | (runs.c.parent_id == run_id))
        .order_by(runs.c.run_id)
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def night_without_news(connection: sa.Connection, origin: date) -> int | None:
    """The nightly run that is done for an origin, if nothing has come in since."""
    return connection.scalar(sa.text(NIGHT_WITHOUT_NEWS), {"origin": origin})


def training_without_news(
    connection: sa.Connection, origin: date
) -> dict[str, Any] | None:
    """The training that a night has done for an origin, if nothing has come in since.

    One that was started by hand may have other settings, and does not count. News is
    what came after the night's count: its training reads the data as of then.
    """
    rows = connection.execute(sa.text(TRAINING_WITHOUT_NEWS), {"origin": origin})
    row = rows.mappings().first()
    return None if row is None else dict(row)


def newest_night(
    connection: sa.Connection, states: Collection[str] = STATES
) -> dict[str, Any] | None:
    """The newest nightly run in one of some states."""
    statement = (
        sa.select(runs)
        .where(runs.c.step == "nightly", runs.c.state.in_(states))
        .order_by(runs.c.run_id.desc())
        .limit(1)
    )
    row = connection.execute(statement).mappings().first()
    return None if row is None else dict(row)


@dataclass(frozen=True)
class RecordedNights:
    """The newest origin whose night is done or found nothing to do, and the oldest begun for."""

    done_on: date | None
    first_on: date | None


def recorded_nights(connection: sa.Connection) -> RecordedNights:
    """Reads the span of origins that have had a nightly run."""
    ended_well = runs.c.state.in_(("done", "skipped"))
    done_on = sa.func.max(runs.c.origin_on).filter(ended_well)
    statement = sa.select(done_on, sa.func.min(runs.c.origin_on))
    row = connection.execute(statement.where(runs.c.step == "nightly")).one()
    return RecordedNights(*row)
