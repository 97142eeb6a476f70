"""Statements that count orders and daily counts into versions of daily demand."""

from dataclasses import dataclass
from datetime import date, datetime

import sqlalchemy as sa

from pipelines.schema.active_depots import ACTIVE_ZONES, NEWEST_COUNT
from pipelines.schema.closures import CLOSURES, is_closed
from pipelines.schema.reader_views import EVERY_DAY
from pipelines.store import (
    load_timestamps,
    observed_zeros,
    order_counts,
    score_totals,
    temporary,
)
from pipelines.store.order_retention import frozen_before
from pipelines.store.versions import append_changes

# Two recounts at once would both supersede the same version.
DEMAND_LOCK = 0x4445_4D41  # "DEMA"

# The current count of each depot-day that is over at its depot. A daily count from a file takes
# precedence over the counted orders, unless it is partial: loaded before its day was over.
# `observed_zeros` creates the tables `zero_days` and `partial_days`.
COUNT_NOW = """
with local as (
    select depot_id, least(:today, (:now at time zone timezone)::date) as today
    from depots
), from_orders as (
    select depot_id, service_on, orders
    from order_counts left join partial_days p using (depot_id, service_on)
    where service_on >= :frozen and p.depot_id is null
    union all
    select depot_id, day_on, 0 from zero_days
), loaded as (
    select file_id, loaded_at, (loaded_at at time zone 'UTC')::date as loaded_on from files
), from_files as (
    select n.depot_id, n.service_on, n.orders
    from daily_counts n
    join depots d using (depot_id)
    left join loaded l using (file_id)
    -- The first condition is quick, and holds for nearly all rows.
    where n.service_on < l.loaded_on - 1 or l.loaded_at is null
       or l.loaded_at >= (n.service_on + 1)::timestamp at time zone d.timezone
)
select depot_id, service_on,
       case when n.depot_id is not null then n.orders else f.orders end as orders
from from_orders f
full join from_files n using (depot_id, service_on)
join local using (depot_id)
where service_on < local.today and service_on >= :frozen
"""

# Depot-days that are new, or differ from their newest version. A day without any source becomes
# not observed; so does a day that is not over but was counted while the clock was ahead. A first
# count is known from 04:00 on the next local morning, before the nightly run at 04:30, whenever it
# was loaded; a correction is known from its arrival.
FIND_CHANGES = """
select depot_id, service_on, n.orders, coalesce(v.version, 0) as before,
       case when v.version is null
            then (service_on + 1 + time '04:00') at time zone d.timezone
            else :now end as known_at
from demand_now n
full join (
    select v.* from demand_versions v join depots d using (depot_id)
    cross join lateral (select (:now at time zone d.timezone)::date as today) local
    where v.superseded_at is null and v.service_on >= :frozen
      and (v.service_on < least(:today, local.today)
           or v.service_on >= local.today and v.orders is not null)
) v using (depot_id, service_on)
join depots d using (depot_id)
where v.version is null or n.orders is distinct from v.orders
"""

# Days that lie too far back keep their count.
DROP_OLD_CHANGES = """
delete from changes
where before > 0
  and service_on < (select max(service_on) from demand_now) - cast(:look_back as integer)
"""
KEY = ("depot_id", "service_on")

# Before the first forecast there is nothing to score.
MARK_SCORES = """
insert into scores_due (target_on)
select distinct service_on from changes
where service_on >= (select min(target_on) from forecasts)
"""

# Deletes scores whose actual is gone; scores whose actual only differs are renewed at night.
DROP_SCORES = """
with dropped as (
    delete from scores s using changes c
    where s.depot_id = c.depot_id and s.target_on = c.service_on and c.orders is null
    returning s.origin_on
)
select distinct origin_on from dropped
"""

COUNT_CHANGES = """
select count(*) filter (where before = 0), count(*) filter (where before > 0),
       count(*) filter (where before > 0 and orders is null)
from changes
"""

COUNT_PARTIAL = """
select count(*) from partial_days p join depots d using (depot_id)
where p.service_on >= :frozen
  and p.service_on < least(:today, (:now at time zone d.timezone)::date)
  and not exists (select from demand_now n
                  where n.depot_id = p.depot_id and n.service_on = p.service_on)
"""

# Orders on days on which the depot was known to be closed.
ON_CLOSED_DAYS = f"""
with closures as ({CLOSURES})
select count(*) as days, coalesce(sum(v.orders), 0)::bigint as orders,
       max(v.service_on) as last_on
from demand_versions v join depots d using (depot_id)
where v.superseded_at is null and v.orders > 0 and v.service_on >= :since
  and {is_closed("v.service_on")}
"""


@dataclass(frozen=True)
class ClosedDayOrders:
    """Orders on days known to be closed; `days` counts depot-days, `last_on` is None if 0."""

    days: int
    orders: int
    last_on: date | None


FIRST_DAY = """
select min(service_on) from demand_versions where superseded_at is null and orders is not null
"""
UNKNOWN_DAYS = f"""
select service_on, count(*) as depots
from ({EVERY_DAY.format(condition="service_on >= :since")}) d join depots using (depot_id)
where not is_observed and not is_closed and service_on <= ({NEWEST_COUNT})
  and service_on < (clock_timestamp() at time zone timezone)::date
  and exists (select from demand_versions known where known.depot_id = d.depot_id
              and known.superseded_at is null and known.orders is not null)
group by service_on order by service_on
"""


@dataclass(frozen=True)
class DemandChange:
    """The result of a recount.

    Args:
      new: Depot-days counted for the first time.
      corrected: Depot-days whose earlier count differed.
      left_old: Depot-days whose count differs, but that lie too far back to be corrected.
      partial: Depot-days that are over now, but were not when their orders were loaded.
    """

    new: int
    corrected: int
    left_old: int = 0
    partial: int = 0


def recount(
    connection: sa.Connection,
    today: date,
    now: datetime,
    look_back_days: int | None = None,
) -> DemandChange:
    """Counts every depot-day before `today`, and appends a version if the count differs.

    Frozen days, whose orders may have been dropped, never change. `today` is the first day that
    is not over for the fleet; a day that is not over at a depot is not counted there either.
    Corrections reach back `look_back_days` from the newest day (None: all), and are known at `now`.
    """
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(DEMAND_LOCK)))
    frozen = frozen_before(connection)
    order_counts.count_changed_days(connection, frozen)
    days = {"today": today, "now": now, "frozen": frozen or date.min}
    observed_zeros.find(connection, today, now, frozen or date.min)
    temporary.create(connection, "demand_now", COUNT_NOW, days)
    temporary.create(connection, "changes", FIND_CHANGES, days)
    left_old = 0
    if look_back_days is not None:
        left = connection.execute(
            sa.text(DROP_OLD_CHANGES), {"look_back": look_back_days}
        )
        left_old = left.rowcount
    partial = connection.scalar(sa.text(COUNT_PARTIAL), days) or 0
    new, corrected, gone = connection.execute(sa.text(COUNT_CHANGES)).one()
    if new or corrected:
        load_timestamps.block_new_runs(connection)
        connection.execute(sa.text(MARK_SCORES))
        stored = (*KEY, "orders", "known_at")
        append_changes(connection, "demand_versions", KEY, stored, now)
        if gone:
            _drop_scores(connection)
    return DemandChange(new, corrected, left_old, partial)


def _drop_scores(connection: sa.Connection) -> None:
    score_totals.lock(connection)
    for origin in connection.scalars(sa.text(DROP_SCORES)).all():
        score_totals.renew(connection, origin)


def unknown_days(connection: sa.Connection, since: date) -> dict[date, int]:
    """Number of started, open depots whose orders are not known, by day, up to the newest day.

    A depot counts from its first day, not before `since`, that has or had a count.
    """
    rows = connection.execute(sa.text(UNKNOWN_DAYS), {"since": since})
    return {row.service_on: row.depots for row in rows}


def zones(connection: sa.Connection) -> dict[str, int]:
    """Number of active depots by time zone; see `schema.active_depots`."""
    rows = connection.execute(sa.text(ACTIVE_ZONES))
    return {row.timezone: row.depots for row in rows}


def first_day(connection: sa.Connection) -> date | None:
    """The earliest day on which any depot has known demand."""
    return connection.scalar(sa.text(FIRST_DAY))


def last_day(connection: sa.Connection) -> date | None:
    """The newest day on which any depot has known demand."""
    return connection.scalar(sa.text(NEWEST_COUNT))


def on_closed_days(connection: sa.Connection, since: date) -> ClosedDayOrders:
    """Orders on closed days from `since` on; none of them is scored."""
    row = connection.execute(sa.text(ON_CLOSED_DAYS), {"since": since}).one()
    return ClosedDayOrders(*row)
