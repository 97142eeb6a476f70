"""Statements for monitoring; none waits for a lock.

In the statements for metrics a text column is a label and every other column is a metric,
named after the column. Null means unknown: the metric is then absent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import sqlalchemy as sa

from pipelines.schema import runs
from pipelines.schema.ledger import RUN_STATE
from pipelines.store import runs as runs_store

Value = float | Decimal | datetime | date

# The newest run of each step in each state; a skipped night does not hide an earlier one. What
# fails by hand, or in a night before the newest, is no failed step.
STEPS = f"""
with newest_runs as (
    select distinct on (step, state)
           step, {RUN_STATE} as state, run_id, parent_id, started_at, finished_at
    from runs
    order by step, state, run_id desc
), ended as (
    select distinct on (step) step, state, run_id, parent_id
    from newest_runs where state in ('done', 'failed')
    order by step, run_id desc
)
select step,
       (select (state = 'failed' and (
                    step in ('nightly', 'backup')
                    or parent_id = (select run_id from ended where step = 'nightly')))::int
        from ended where ended.step = newest_runs.step) as step_failed,
       max(finished_at) filter (where state = 'done') as step_success_timestamp_seconds,
       extract(epoch from max(finished_at - started_at) filter (where state = 'done'))
           as step_seconds,
       max(started_at) filter (where state = 'running')
           as step_start_timestamp_seconds
from newest_runs
group by step
"""

# A load by hand says nothing of the inbox.
NEWEST_METRICS = """
select distinct on (step) step, metrics
from runs where state = 'done' and (step in ('accuracy', 'train', 'forecast')
                                    or (step = 'ingest' and parent_id is not null))
order by step, run_id desc
"""
TRAINING_METRICS = (
    "compilations",
    "cache_hits",
    "cache_misses",
    "compile_seconds",
    "first_step_seconds",
    "step_seconds",
    "device_memory_peak_bytes",
    "device_memory_limit_bytes",
    "host_memory_peak_bytes",
)
FORECAST_METRICS = ("inference_seconds", "inference_host_memory_peak_bytes")

# Trainings since :since that compiled a program, and the hit ratio of the compile cache.
COMPILE_CACHE = """
select count(*) filter (where (metrics ->> 'cache_misses')::bigint > 0)
           as training_cold_trainings,
       sum((metrics ->> 'cache_hits')::float8)
           / nullif(sum((metrics ->> 'cache_hits')::float8
                        + (metrics ->> 'cache_misses')::float8), 0)
           as training_cache_hit_ratio
from runs
where step = 'train' and state = 'done' and started_at >= :since
  and metrics ? 'cache_hits' and metrics ? 'cache_misses'
having count(*) > 0
"""

# A role that may not connect to the database may not ask for its size either.
OVERVIEW = """
select (select count(*) from depots) as depots,
       (select greatest(:open_on - origin_on, 0) * 86400 from shown_forecast)
           as forecast_lag_seconds,
       (select greatest(:open_on - max(service_on), 0) * 86400 from demand_versions
        where superseded_at is null and orders is not null
        having max(service_on) is not null) as data_lag_seconds,
       (select trained_through from models where role = 'champion')
           as champion_trained_through_timestamp_seconds,
       case when has_database_privilege(current_database(), 'connect')
            then pg_database_size(current_database()) end as database_bytes,
       (select count(*) from pg_stat_activity
        where datname = current_database()) as database_sessions
"""

CHAMPION = "select version, 1 as champion_info from models where role = 'champion'"

ROWS = """
select count(*) as files_loaded_total,
       coalesce(sum(accepted), 0) as rows_accepted_total,
       coalesce(sum(rejected), 0) as rows_rejected_total,
       (select count(*) from quarantine where replayed_at is null) as rows_quarantined
from files
"""


class Sample(NamedTuple):
    """One value of a metric; the name has no prefix, timestamps are seconds since 1970."""

    name: str
    value: float
    labels: Mapping[str, str]


@dataclass(frozen=True)
class EndedNight:
    """A nightly run that has ended; `error` is empty if it succeeded.

    A run that is done has an error if its forecast was not published to other systems.
    `origin_on` is None if the run failed before its origin was known.
    """

    run_id: int
    origin_on: date | None
    ended_at: datetime
    error: str = ""


@dataclass(frozen=True)
class MorningMessage:
    """The message of a nightly run to planners: one line per city, no lines without news."""

    origin_on: date
    written_at: datetime
    lines: tuple[str, ...]


def sample(name: str, value: Value, **labels: str) -> Sample:
    """Returns a sample; a timestamp becomes seconds since 1970, a date its midnight in UTC."""
    if isinstance(value, datetime):
        value = value.timestamp()
    elif isinstance(value, date):
        value = datetime.combine(value, time(), UTC).timestamp()
    return Sample(name, float(value), labels)


def read_samples(
    connection: sa.Connection, statement: str, **parameters: Any
) -> Iterator[Sample]:
    """Yields the metrics that one of the statements above selects."""
    typed = sa.text(statement).bindparams(**parameters)
    for row in connection.execute(typed).mappings():
        labels = {name: value for name, value in row.items() if isinstance(value, str)}
        for name, value in row.items():
            if value is not None and name not in labels:
                yield sample(name, value, **labels)


def run_samples(connection: sa.Connection) -> Iterator[Sample]:
    """Yields metrics of the newest done run of each step; only alarms and refusals default to 0."""
    recorded = {
        row.step: row.metrics for row in connection.execute(sa.text(NEWEST_METRICS))
    }
    train, forecast = recorded.get("train", {}), recorded.get("forecast", {})
    values = {f"training_{name}": train.get(name) for name in TRAINING_METRICS}
    values |= {name: forecast.get(name) for name in FORECAST_METRICS}
    if (accuracy := recorded.get("accuracy")) is not None:
        values["worse_than_naive_streak"] = accuracy.get("worse_days")
        values["accuracy_alarms"] = len(accuracy.get("alarms") or ())
    if (ingest := recorded.get("ingest")) is not None:
        values["files_refused"] = ingest.get("refused") or 0
    for name, value in values.items():
        if value is not None:
            yield sample(name, value)


def newest_night(connection: sa.Connection, state: str) -> EndedNight | None:
    """The newest nightly run in a final state: `failed`, or `done`, then of the newest origin."""
    row = runs_store.newest_night(connection, [state], of_newest_origin=state == "done")
    if row is None:
        return None
    error = row["error"] or row["metrics"].get("unpublished") or ""
    return EndedNight(row["run_id"], row["origin_on"], row["finished_at"], error)


def newest_message(connection: sa.Connection) -> MorningMessage | None:
    """The morning message of the newest night that wrote one."""
    newest = (
        sa.select(runs.c.origin_on, runs.c.finished_at, runs.c.metrics)
        .where(runs.c.step == runs_store.MESSAGE, runs.c.state == "done")
        .order_by(runs.c.run_id.desc())
        .limit(1)
    )
    row = connection.execute(newest).one_or_none()
    if row is None:
        return None
    return MorningMessage(row.origin_on, row.finished_at, tuple(row.metrics["lines"]))


def first_night_at(connection: sa.Connection) -> datetime | None:
    """Start of the first nightly run."""
    first = sa.select(sa.func.min(runs.c.started_at)).where(
        runs.c.step == "nightly", runs.c.state != "skipped"
    )
    return connection.scalar(first)


def forecast_ready_at(
    connection: sa.Connection, since: date, origin: date
) -> datetime | None:
    """Time at which the forecast of `origin` was first stored; None if it is not there.

    As long as no night of `origin` has begun, one of any origin from `since` on counts too.
    """
    of_origin = runs.c.origin_on == origin
    has_begun = sa.exists().where(runs.c.step == "nightly", of_origin)
    first = sa.select(sa.func.min(runs.c.finished_at)).where(
        runs.c.step == "forecast",
        runs.c.state == "done",
        of_origin | (~has_begun & runs.c.origin_on.between(since, origin)),
    )
    return connection.scalar(first)
