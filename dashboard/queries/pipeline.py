"""Queries of the pipeline: runs, files and missing days."""

from dataclasses import dataclass
from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from pipelines.schema.closures import CLOSURES as ALL_CLOSURES
from pipelines.schema.closures import is_closed
from pipelines.schema.depot_freshness import DEPOT_FRESHNESS, WAITED_UNTIL
from pipelines.schema.fragments import CLOSURES, COUNTS, DAYS, DEPOT_NAMES, FIRST_COUNT
from pipelines.schema.ledger import RUN_STATE

CALENDAR_DAYS, REFUSED_DAYS = 28, 14
MAX_RUNS, MAX_FILES, MAX_REASONS, MAX_DEPOTS = 14, 25, 50, 60


# What was late on a night's origin, as it is known now.
FRESH_ON_ORIGIN = DEPOT_FRESHNESS.replace(":as_of", "runs.origin_on")
# The newest nightly runs and the newest other runs, each with its steps.
RUNS = f"""
with closures as ({ALL_CLOSURES}), nights as (
    select run_id from runs where parent_id is null and step = 'nightly'
    order by run_id desc limit :row_limit
), others as (
    select run_id from runs where parent_id is null and step <> 'nightly'
    order by run_id desc limit :row_limit
), parents as (
    select run_id from nights union all select run_id from others
)
select runs.run_id, parent_id, step, origin_on, {RUN_STATE} as state, started_at,
       finished_at, metrics, error,
       extract(epoch from coalesce(finished_at, clock_timestamp()) - started_at)
         ::float8 as seconds,
       case when step = 'nightly' and metrics ? 'late_depots' then (
           select max(counted_at) filter (where counted_at > runs.finished_at)
           from ({FRESH_ON_ORIGIN}) fresh
           left join lateral (
               select min(recorded_at) as counted_at from demand_versions v
               where (v.depot_id, v.service_on) = (fresh.depot_id, fresh.due_on)
                 and v.orders is not null
           ) first_count on true
           where city in (
               select jsonb_object_keys(made.metrics -> 'late_cities') from runs made
               where made.parent_id = runs.run_id and made.step = 'forecast')
           having not bool_or(is_late)
       ) end as late_came_at
from runs join parents p on p.run_id = coalesce(parent_id, runs.run_id)
order by coalesce(parent_id, runs.run_id) desc, runs.run_id
"""


@st.cache_data(ttl=2, max_entries=1, show_spinner=False)
def runs() -> pd.DataFrame:
    """The newest 14 nightly runs and 14 other runs with their steps; refreshed every 2 s.

    Returns:
      run_id, parent_id (NaN for a parent), step, origin_on, state ('running', 'done',
      'failed', 'skipped'), started_at, finished_at, metrics (a dict), error, seconds (so far,
      if running), late_came_at (when the last of a night's late depots was counted; NaT
      before): parents newest first, each followed by its steps.
    """
    return read(
        RUNS, numbers=["parent_id", "seconds"], days=["origin_on"], row_limit=MAX_RUNS
    )


# The newest run or step that is running, with the last log line of its training.
IN_PROGRESS = f"""
select step, coalesce(((fields ->> 'fit' = 'production')::integer
       + (fields ->> 'epoch')::float8 / (fields ->> 'most')::float8) / 2, 0) as trained
from runs
left join lateral (
    select fields from run_lines l
    where l.run_id = runs.run_id and l.event = 'fit' order by line_id desc limit 1
) line on true
where runs.state = 'running' and {RUN_STATE} = 'running'
order by runs.run_id desc limit 1
"""


@dataclass(frozen=True)
class RunInProgress:
    """A run in progress: its step, and the completed share of its training, from 0 to 1."""

    step: str
    trained: float


@st.cache_data(ttl=2, max_entries=1, show_spinner=False)
def run_in_progress() -> RunInProgress | None:
    """The newest run or step at work; None if none is. Refreshed every 2 s."""
    rows = read(IN_PROGRESS, numbers=["trained"])
    return None if rows.empty else RunInProgress(*rows.iloc[0])


# A refused file leaves only its log line. It is listed until a later load logs another
# state, or, in the inbox, until a nightly run no longer finds it.
FILES = """
with loaded as (
    select path, kind, accepted, unchanged, rejected, ignored_columns,
           loaded_at as came_at, null as refused_because
    from files where withdrawn_at is null order by file_id desc limit :row_limit
), last_lines as (
    select distinct on (l.fields ->> 'path')
           l.fields, l.written_at, r.run_id, r.parent_id
    from runs r join run_lines l using (run_id)
    where r.step = 'ingest' and l.event = 'file'
      and r.started_at > clock_timestamp() - make_interval(days => :refused_days)
    order by l.fields ->> 'path', l.line_id desc
), refused as (
    select fields ->> 'path', '', null::bigint, null::bigint, null::bigint, '{}'::text[],
           written_at, fields ->> 'reason'
    from last_lines
    where fields ->> 'state' = 'refused'
      and (parent_id is null
           or run_id >= coalesce((select max(run_id) from runs
                                  where step = 'ingest' and parent_id is not null
                                    and state = 'done'), 0))
    order by written_at desc limit :row_limit
)
select * from loaded union all select * from refused order by came_at desc
"""


@st.cache_data(max_entries=4, show_spinner=False)
def files(freshness: Freshness) -> pd.DataFrame:
    """The newest 25 loaded files and 25 refused ones, newest first.

    Returns:
      path, kind, accepted, unchanged, rejected (rows; NaN where refused),
      ignored_columns (a list), came_at, refused_because (None where loaded). Refused files
      are those of the last 14 days that were neither fixed nor removed since.
    """
    return read(
        FILES,
        numbers=["accepted", "unchanged", "rejected"],
        row_limit=MAX_FILES,
        refused_days=REFUSED_DAYS,
    )


# By file and reason, with the first row of each.
REJECTED = """
select f.path, q.reason, count(*) as n_rows, min(q.line) as first_line,
       (array_agg(q.column_name order by q.quarantine_id))[1] as column_name,
       (array_agg(q.value order by q.quarantine_id))[1] as value
from quarantine q join files f using (file_id)
where q.replayed_at is null
group by f.file_id, f.path, q.reason
order by f.file_id desc, n_rows desc, q.reason
limit :row_limit
"""


@st.cache_data(max_entries=4, show_spinner=False)
def rejected_rows(freshness: Freshness) -> pd.DataFrame:
    """Rows in quarantine, not replayed, by file and reason; newest file first, 50 at most.

    Returns:
      path, reason, n_rows, first_line, column_name and value (of the first row).
    """
    return read(REJECTED, numbers=["first_line"], row_limit=MAX_REASONS)


# A closed day without orders is closed, even with a count of 0. A day is missing if the depot
# was open, had its first count before, and has no count of the day although it is due.
CALENDAR = f"""
with closures as ({CLOSURES}), names as ({DEPOT_NAMES}), days as ({DAYS}), scope as (
    select d.*, names.name as display_name, first_count.first_on, last_count.last_on
    from depots d join names using (depot_id)
    {FIRST_COUNT}
    left join lateral (
        select max(service_on) as last_on from demand_versions v
        where v.depot_id = d.depot_id and superseded_at is null and orders is not null
    ) last_count on true
    where d.closed_on is null or d.closed_on > :since
), counts as materialized ({COUNTS}), states as (
    select d.depot_id, d.display_name as name, d.city, d.last_on, g.day_on,
           case when {is_closed("g.day_on")} and coalesce(v.orders, 0) = 0 then 'closed'
                when v.orders is not null then 'counted'
                when d.first_on is null or g.day_on < d.first_on then 'before'
                when day_on >= (({WAITED_UNTIL}) at time zone d.timezone)::date then 'due'
                else 'missing' end as state
    from scope d cross join days g
    left join counts v on v.depot_id = d.depot_id and v.service_on = g.day_on
)
select depot_id, name, city, last_on, array_agg(state order by day_on) as states,
       count(*) filter (where state = 'missing') as missing,
       sum(bool_or(state = 'missing')::int) over () as n_missing
from states
group by depot_id, name, city, last_on
order by missing desc, last_on nulls first, city, name, depot_id
limit :row_limit
"""


@st.cache_data(max_entries=4, show_spinner=False)
def calendar(freshness: Freshness) -> pd.DataFrame:
    """State of the last 28 days of each depot; depots with most missing days first.

    Returns:
      depot_id, name, city, last_on (newest count), states (a list of 28, oldest day first:
      'counted', 'closed', 'before' the first count, 'due' while the count is not due yet,
      'missing'), missing (number of days), n_missing (number of all depots with missing days;
      at most 60 depots are returned).
    """
    return read(
        CALENDAR,
        days=["last_on"],
        since=freshness.newest - timedelta(days=CALENDAR_DAYS - 1),
        until=freshness.newest,
        row_limit=MAX_DEPOTS,
    )
