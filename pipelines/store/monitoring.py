"""Statements of a monitoring snapshot; none waits for a lock."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from pipelines.schema.active_depots import ACTIVE_ZONES
from pipelines.schema.ledger import RUN_STATE

# The newest run of each step in each state; a night without work hides none before it.
NEWEST_RUNS = f"""
select distinct on (step, state)
       run_id, step, {RUN_STATE} as state, origin_on, started_at, finished_at, metrics,
       error
from runs
order by step, state, run_id desc
"""

# A member of a role that may not connect may not ask for the size either.
TALLIES = f"""
select (select version from models where role = 'champion') as champion,
       (select promoted_at from models where role = 'champion') as promoted_at,
       (select trained_through from models where role = 'champion') as trained_through,
       (select max(origin_on) from forecasts) as origin_on,
       (select max(service_on) from demand_versions
        where superseded_at is null and orders is not null) as newest_on,
       (select jsonb_object_agg(timezone, depots) from ({ACTIVE_ZONES}) active) as zones,
       (select count(*) from depots) as depots,
       (select max(loaded_at) from files) as file_at,
       (select count(*) from notices where next_attempt_at is not null) as notices_waiting,
       (select count(*) from notices
        where next_attempt_at is null and sent_at is null) as notices_lost,
       case when has_database_privilege(current_database(), 'connect')
            then pg_database_size(current_database()) end as database_bytes,
       (select count(*) from pg_stat_activity
        where datname = current_database()) as sessions
"""

BACKFILLS = """
select b.state, count(distinct b.backfill_id) as plans,
       count(*) filter (where s.state = 'waiting') as waiting,
       count(*) filter (where s.state = 'failed') as failed
from backfills b left join backfill_slots s using (backfill_id)
where b.state in ('running', 'paused', 'failed')
group by b.state
"""

# Programs that a month of nights compiled, and found compiled before.
COMPILING = """
select sum((metrics ->> 'cache_hits')::bigint)::bigint as hits,
       sum((metrics ->> 'cache_misses')::bigint)::bigint as misses,
       count(*) filter (where (metrics ->> 'cache_misses')::bigint > 0) as cold
from runs
where step = 'train' and state = 'done' and started_at >= :since
"""

ROWS = """
select (select count(*) from quarantine
        where replayed_at is null and dismissed_at is null) as quarantined,
       count(*) as files, coalesce(sum(accepted), 0)::bigint as accepted,
       coalesce(sum(rejected), 0)::bigint as rejected
from files
"""


def newest_runs(connection: sa.Connection) -> list[dict[str, Any]]:
    """The newest run of each step in each state."""
    found = connection.execute(sa.text(NEWEST_RUNS)).mappings()
    return [dict(row) for row in found]


def tallies(connection: sa.Connection) -> dict[str, Any]:
    """One row of counts and timestamps."""
    return dict(connection.execute(sa.text(TALLIES)).mappings().one())


def open_backfills(connection: sa.Connection) -> dict[str, dict[str, int]]:
    """Backfills that are not at an end, by their state: plans, waiting, failed slots."""
    found = connection.execute(sa.text(BACKFILLS)).mappings()
    return {row["state"]: {**row} for row in found}


def compiling(
    connection: sa.Connection, since: datetime
) -> tuple[int, int, int] | None:
    """Hits and misses of the compile cache since a moment; None where not counted.

    The third is how many trainings missed anything.
    """
    hits, misses, cold = connection.execute(sa.text(COMPILING), {"since": since}).one()
    return None if hits is None or misses is None else (hits, misses, cold)


def rows_and_files(connection: sa.Connection) -> dict[str, int]:
    """Totals of accepted, rejected and quarantined rows, and of files."""
    return dict(connection.execute(sa.text(ROWS)).mappings().one())
