"""Statements for the run ledger: which steps ran, for which origin, and how they ended."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa

from pipelines.schema import run_lines, runs
from pipelines.schema.ledger import HAS_SESSION, RUN_LOCK
from pipelines.store import load_timestamps

NOW = sa.func.clock_timestamp()
STATES = ("running", "done", "failed", "skipped")
MESSAGE = "message"
"""The step that writes the morning message."""
NOT_SKIPPED = ("running", "done", "failed")
IS_TOP_LEVEL = runs.c.parent_id.is_(None)
# Changes of all tables that a nightly run reads; a new table must be added here. Each timestamp
# is taken after `load_timestamps.block_new_runs`. Versions of events without a file were
# entered by hand; a withdrawal of signals marks their file.
CHANGES_OF_DATA = """
    select unnest(array[loaded_at, withdrawn_at]) as changed_at from files
    where kind not in ('orders', 'daily')
    union all select known_at from event_versions where file_id is null
    union all select replayed_at from quarantine
"""
# No data is newer than `d`, a night's step `demand`; demand recorded after it is of other runs.
NO_NEW_DATA = f"""
    not exists (select from ({CHANGES_OF_DATA}) change where changed_at > d.started_at)
    and not exists (select from demand_versions where recorded_at > d.finished_at)
"""
# If a later run has an earlier start than `d`, the clock was set back, and the data that the later
# run brought in has an earlier timestamp than the night.
SET_BACK_SINCE = """
    exists (select from runs later
            where later.run_id > d.run_id and later.parent_id is null
              and later.started_at < d.started_at and {brings})
"""
# Runs that may have brought in data: a night in progress knows its own, a skipped one has none.
BROUGHT_IN = "(later.step <> 'nightly' or later.state in ('done', 'failed'))"
NIGHT_WITHOUT_NEW_DATA = f"""
select max(n.run_id) from runs n
join runs d on d.parent_id = n.run_id and d.step = 'demand'
where n.step = 'nightly' and n.state = 'done' and n.origin_on = :origin and {NO_NEW_DATA}
  and not {SET_BACK_SINCE.format(brings=BROUGHT_IN)}
  and (:even_unpublished or n.metrics ->> 'unpublished' is null)
  and not exists (select from shown_forecast
                  where origin_on > :origin and published_at > clock_timestamp())
"""
SAME_TRAINING = f"""
select t.run_id, m.version as model, m.filename from runs t
join runs n on n.run_id = t.parent_id and n.step = 'nightly'
join models m on m.version = t.metrics ->> 'model'
join runs d on d.parent_id = n.run_id and d.step = 'demand'
where t.step = 'train' and t.state = 'done' and t.origin_on = :origin and {NO_NEW_DATA}
  and not {SET_BACK_SINCE.format(brings="true")}
  and t.metrics ->> 'settings_id' = :settings_id
order by t.run_id desc limit 1
"""
RECORDED_NIGHTS = """
select max(origin_on) filter (
           where state in ('done', 'skipped')
             and started_at - coalesce(later_began_at, started_at) <= interval '1 minute'),
       min(origin_on), (array_agg(started_at order by run_id desc))[1]
from (select run_id, step, origin_on, state, started_at,
             min(started_at) over (order by run_id rows between 1 following
                                   and unbounded following) as later_began_at
      from runs where parent_id is null) top_level
where step = 'nightly'
"""

# Only nights after the origin's last night that reached the step `forecast`.
NIGHTS_ENDED_IN_TRAINING = """
select n.run_id from runs n
where n.step = 'nightly' and n.origin_on = :origin and n.state = 'failed'
  and exists (select from runs t where t.parent_id = n.run_id and t.step = 'train'
                and t.metrics ->> 'settings_id' = :settings_id)
  and not exists (select from runs later join runs f on f.parent_id = later.run_id
                  where later.step = 'nightly' and later.origin_on = :origin
                    and later.run_id >= n.run_id and f.step = 'forecast')
  and not exists (select from runs p where p.parent_id = n.run_id and p.step = 'promote')
order by n.run_id
"""


def begin_run(
    connection: sa.Connection,
    step: str,
    origin: date | None,
    parent_id: int | None,
    process: tuple[str, int],
) -> int:
    """Inserts a running step of a process (host, pid), and returns the run's id.

    All data with an earlier timestamp has committed when the run begins; see `load_timestamps`.
    The session of a top-level run holds the run's lock before others can see the row.
    """
    load_timestamps.await_committing_loads(connection)
    host, pid = process
    statement = sa.insert(runs).values(
        step=step, origin_on=origin, parent_id=parent_id, host=host, pid=pid,
        state="running", started_at=NOW,
    )  # fmt: skip
    run_id = int(connection.execute(statement.returning(runs.c.run_id)).scalar_one())
    if parent_id is None:
        connection.execute(sa.select(sa.func.pg_try_advisory_lock(RUN_LOCK, run_id)))
    return run_id


def update_run(connection: sa.Connection, run_id: int, **columns: Any) -> None:
    """Stores columns of a run in progress, such as an origin that was unknown at its start."""
    connection.execute(sa.update(runs).where(runs.c.run_id == run_id).values(columns))


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


def fail_runs_without_session(connection: sa.Connection, error: str) -> list[int]:
    """Fails the runs in progress whose session has ended, and returns their ids.

    A run's end is the latest time known of it or its steps: a log line, a start or an end.
    The first `%s` of `error` is replaced by the run's pid, the second by its host.
    """
    of_run = runs.alias()
    is_own = sa.or_(
        of_run.c.run_id == runs.c.run_id, of_run.c.parent_id == runs.c.run_id
    )
    latest = sa.func.greatest(
        of_run.c.started_at, of_run.c.finished_at, run_lines.c.written_at
    )
    joined = of_run.outerjoin(run_lines, run_lines.c.run_id == of_run.c.run_id)
    ended_at = sa.select(sa.func.max(latest)).select_from(joined).where(is_own)
    statement = (
        sa.update(runs)
        .where(runs.c.state == "running", sa.text(f"not {HAS_SESSION}"))
        .values(
            state="failed",
            error=sa.func.format(error, runs.c.pid, runs.c.host),
            finished_at=ended_at.scalar_subquery(),
        )
        .returning(runs.c.run_id)
    )
    return sorted(connection.scalars(statement))


def recent_runs(
    connection: sa.Connection, limit: int, with_steps: bool, filters: dict[str, Any]
) -> list[dict[str, Any]]:
    """The newest runs whose columns have the values of `filters`, newest first.

    Steps of other runs are included only with `with_steps`.
    """
    statement = sa.select(runs).order_by(runs.c.run_id.desc()).limit(limit)
    for name, value in filters.items():
        statement = statement.where(runs.c[name] == value)
    if not with_steps:
        statement = statement.where(IS_TOP_LEVEL)
    return [dict(row) for row in connection.execute(statement).mappings()]


def newest_top_level_run(connection: sa.Connection) -> int | None:
    """Id of the newest top-level run in progress, or else of the newest top-level run."""
    return connection.scalar(
        sa.select(runs.c.run_id)
        .where(IS_TOP_LEVEL)
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


def night_without_new_data(
    connection: sa.Connection, origin: date, *, even_unpublished: bool = False
) -> int | None:
    """Id of the newest nightly run done for an origin, if no data has changed since; else None.

    A night whose forecast was not published to other systems counts only if `even_unpublished`,
    because it may run again. No night counts while a later origin is shown that was published by
    a clock that was ahead.
    """
    parameters = {"origin": origin, "even_unpublished": even_unpublished}
    return connection.scalar(sa.text(NIGHT_WITHOUT_NEW_DATA), parameters)


@dataclass(frozen=True)
class NightlyTraining:
    """A training that a nightly run has done: the id of its step, the model and its file."""

    run_id: int
    model: str
    filename: str


def same_training(
    connection: sa.Connection, origin: date, settings_id: str
) -> NightlyTraining | None:
    """The newest training of a nightly run for an origin, with the same settings and data.

    The data are the same if they have not changed since the nightly run's step `demand`.
    A training that was started by hand does not count.
    """
    parameters = {"origin": origin, "settings_id": settings_id}
    row = connection.execute(sa.text(SAME_TRAINING), parameters).first()
    return None if row is None else NightlyTraining(*row)


def nights_ended_in_training(
    connection: sa.Connection, origin: date, settings_id: str
) -> list[int]:
    """Ids of an origin's nights after its last forecast that failed in training with these settings."""
    parameters = {"origin": origin, "settings_id": settings_id}
    rows = connection.execute(sa.text(NIGHTS_ENDED_IN_TRAINING), parameters)
    return [row.run_id for row in rows]


def newest_night(
    connection: sa.Connection,
    states: Collection[str],
    *,
    of_newest_origin: bool = False,
) -> dict[str, Any] | None:
    """The newest nightly run in one of some states.

    With `of_newest_origin`, the last night of the newest origin, even if one of an earlier
    origin ran after it. Nights that seem to begin in the future (the clock was ahead) are left out.
    """
    statement = sa.select(runs).where(
        runs.c.step == "nightly", runs.c.state.in_(states)
    )
    if of_newest_origin:
        statement = statement.where(runs.c.started_at <= NOW)
        statement = statement.order_by(runs.c.origin_on.desc().nulls_last())
    statement = statement.order_by(runs.c.run_id.desc()).limit(1)
    row = connection.execute(statement).mappings().first()
    return None if row is None else dict(row)


@dataclass(frozen=True)
class RecordedNights:
    """The span of origins that have had a nightly run; None without one.

    Attributes:
      newest_completed_origin: Newest origin of the nights that are done or skipped. A night does
        not count if a later run of any command has a start more than a minute earlier: the clock
        was ahead at that night.
      first_origin: Earliest origin of all nightly runs, whatever their state.
      last_began_at: Start of the last nightly run, by the clock at that time.
    """

    newest_completed_origin: date | None
    first_origin: date | None
    last_began_at: datetime | None


def recorded_nights(connection: sa.Connection) -> RecordedNights:
    """Reads the span of origins that have had a nightly run."""
    return RecordedNights(*connection.execute(sa.text(RECORDED_NIGHTS)).one())
