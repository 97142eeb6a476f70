"""Finds partial days: a file of the day is missing, or was loaded before the day was over.

A file exported at 04:30 also has the first hours of the new day. Such a day is partial: it is
neither counted nor a zero until the depot's feed has delivered data after the day was over. The
feed is judged by the busiest depots of the files that first brought the depot's orders of the
last week. The day is whole if

- a file loaded after the day has orders of the day; or
- the depot has orders of a later day; or
- more than half of the feed's busiest depots have orders of the day or of a later one from
  files loaded after the day; or
- the depot's file was loaded at a later time of day than the last orders of nearly all of its
  days in the four weeks before, or of all the same weekdays: the day was exported in its evening.

If each file brings only the orders since the previous file, a missing file leaves a gap: the rest
of one day, and often the beginning of another. A gap lies between a file loaded before its day
was over and the depot's next file, if the next file was loaded at least a day and a half later and
none of the feed's busiest depots has orders of the day from a later file. In a zone further west
the day's end is in the file after a missing one, and proves nothing. The first day is cut,
whatever has come since, if `MIN_CUT_ORDERS` orders usually come after the time of its file; the
next day is cut if as many usually come before its first order. The day is then cut for the file's
other depots, too, whose orders may be too few to show it. A late file cuts its last day by the
same rule: it begins on an earlier day, its last order is of that day's morning, and it was loaded
after that day and at least `LATE_HOURS` after that order. A counted day is checked again only if
its number of orders has changed.

Only the orders of other depots show that a depot's hours are empty rather than missing. So if
files are usually loaded within their day, for example hourly, the last rule uses the latest file
of the feed's busiest depots; if the depot's files have no other depot, the day is whole if its
last file came no earlier in the day than the last files of nearly all days before, or of all the
same weekdays.
"""

from datetime import date, datetime

import sqlalchemy as sa

from pipelines.store import temporary

USUAL_DAYS = 28
"""Number of days before a day that give the usual times of its last order and its file."""
USUAL_SHARE = 0.9
"""Share of these days whose last order has come by the usual time."""
FEED_DAYS = 7
"""Number of days before a day whose files belong to the day's feed."""
LATE_HOURS = 18
"""Minimum time from a late file's last order to its load."""
GAP_HOURS = 36
"""Minimum time between the loads of two files of a depot, if a daily file between is missing."""
MAX_GAP_DAYS = 7
"""Maximum days from a day to the next one with orders, if either is to be checked for a cut."""
MIN_CUT_ORDERS = 5
"""Minimum usual orders in the empty hours of a cut day; of five, none come once in 150 days."""
MAX_LIVE_DAYS = 3
"""Maximum days from a day to the load of its first file, if files come every night."""

# The newest day of each depot, if its last file was loaded before the day was over.
UNFINISHED = """
select s.depot_id, d.timezone, s.before_on as service_on, f.loaded_at, day.ends_at
from spans_without_orders s
join files f on f.file_id = s.last_file_id
join depots d using (depot_id)
cross join lateral (
    select (s.before_on + 1)::timestamp at time zone d.timezone as ends_at
) day
where s.next_on is null and s.before_on >= :frozen
  and f.loaded_at < day.ends_at and day.ends_at <= :now
"""
# Unfinished days whose file was not loaded after the usual time of the last order.
UNSETTLED = f"""
with days_before as (
    select u.depot_id, c.last_time, (f.loaded_at at time zone u.timezone)::time as load_time,
           (u.service_on - c.service_on) % 7 = 0 as is_same_weekday,
           f.loaded_at < (c.service_on + 1)::timestamp at time zone u.timezone
               as is_within_day
    from unfinished u
    join order_counts c on c.depot_id = u.depot_id
     and c.service_on between u.service_on - {USUAL_DAYS} and u.service_on - 1
    join files f on f.file_id = c.last_file_id
    where c.service_on >= (select min(service_on) - {USUAL_DAYS} from unfinished)
), usual as (
    select depot_id, avg(is_within_day::integer) >= {USUAL_SHARE} as is_within_day,
           least(percentile_disc({USUAL_SHARE}) within group (order by last_time),
                 max(last_time) filter (where is_same_weekday)) as last_time,
           least(percentile_disc(1 - {USUAL_SHARE}) within group (order by load_time),
                 min(load_time) filter (where is_same_weekday)) as load_time
    from days_before
    group by depot_id
)
select u.depot_id, u.service_on, u.ends_at, us.is_within_day, day.usual_end,
       u.loaded_at >= (u.service_on + us.load_time) at time zone u.timezone as is_usual_load
from unfinished u
left join usual us using (depot_id)
cross join lateral (
    select (u.service_on + us.last_time) at time zone u.timezone as usual_end
) day
where coalesce(u.loaded_at <= day.usual_end, true)
"""
# Days whose orders are not counted, or were counted with another number; only of live files.
UNCOUNTED = f"""
with without_version as (
    -- Takes a third of the time of an anti-join, for which the planner expects too few rows.
    select depot_id, service_on, orders from order_counts where service_on >= :frozen
    except
    (select depot_id, service_on, orders from demand_versions
     where superseded_at is null and orders is not null
     union all
     -- A daily count takes precedence: the day's orders do not change it.
     select c.depot_id, c.service_on, c.orders
     from order_counts c join daily_counts n using (depot_id, service_on)
     where n.orders is not null)
)
select depot_id, service_on
from without_version join order_counts c using (depot_id, service_on)
join files f using (file_id)
where service_on >= (f.loaded_at at time zone 'UTC')::date - {MAX_LIVE_DAYS}
"""
# Pairs of successive days with orders, between which a file is missing.
GAPS = f"""
with before as (
    select depot_id, service_on from uncounted
    union
    select u.depot_id, p.service_on
    from uncounted u
    cross join lateral (
        select c.service_on
        from generate_series(1, {MAX_GAP_DAYS}) as back
        join order_counts c
          on c.depot_id = u.depot_id and c.service_on = u.service_on - back
        order by back limit 1
    ) p
)
select b.depot_id, d.timezone, b.service_on, c.last_file_id, n.service_on as next_on,
       n.file_id as next_file_id, n.first_hour,
       extract(epoch from (f.loaded_at at time zone d.timezone) - b.service_on) / 3600
           as loaded_hour
from before b
join order_counts c using (depot_id, service_on)
join depots d using (depot_id)
join files f on f.file_id = c.last_file_id
cross join lateral (
    select c.service_on, c.file_id,
           (select min(hour) - 1 from unnest(c.by_hour) with ordinality as h (n, hour)
            where n > 0) as first_hour
    from generate_series(1, {MAX_GAP_DAYS}) as ahead
    join order_counts c
      on c.depot_id = b.depot_id and c.service_on = b.service_on + ahead
    order by ahead limit 1
) n
join files g on g.file_id = n.file_id
where f.loaded_at < (b.service_on + 1)::timestamp at time zone d.timezone
  and g.loaded_at > f.loaded_at + interval '{GAP_HOURS} hours'
  and not exists (
      select from order_counts own
      join loaded_files using (file_id)
      join order_counts theirs
        on theirs.depot_id = any(busiest) and theirs.service_on = b.service_on
      join depots t on t.depot_id = theirs.depot_id
      where own.depot_id = b.depot_id
        and own.service_on between b.service_on - {FEED_DAYS} and b.service_on
        and theirs.last_file_id > f.file_id
        -- Where the day goes on for longer, its end is in the file after the missing one.
        and (theirs.file_id > f.file_id and theirs.file_id < n.file_id
             or (b.service_on + 1)::timestamp at time zone t.timezone
                <= f.loaded_at + interval '1 day')
  )
"""

# Days of which a late file has only the first hours; the file with the rest may be late, too.
LATE_ENDS = f"""
with ending as (
    select u.depot_id, d.timezone, u.service_on, c.last_file_id
    from uncounted u
    join order_counts c using (depot_id, service_on)
    join depots d using (depot_id)
), ends as (
    select file.file_id, d.timezone, max(o.service_on + o.last_time) as until,
           min(o.service_on) as first_on
    from order_counts o
    join depots d using (depot_id)
    cross join lateral (values (o.file_id), (o.last_file_id)) as file (file_id)
    where o.service_on >= (select min(service_on) - 1 from ending)
      and file.file_id in (select last_file_id from ending)
    group by file.file_id, d.timezone
)
select e.depot_id, timezone, e.service_on, e.last_file_id,
       extract(hour from until) as last_hour
from ending e
join files f on f.file_id = e.last_file_id
join ends using (file_id, timezone)
where until < e.service_on + time '12:00'
  -- A file of whole days may end in a morning, too, if all depots close early.
  and first_on < e.service_on
  and f.loaded_at >= (e.service_on + 1)::timestamp at time zone timezone
  and f.loaded_at > until at time zone timezone + interval '{LATE_HOURS} hours'
"""


def _usual_orders(day: str, hours: str) -> str:
    """SQL for a day's usual orders in some hours: the lower mean over all days or its weekday."""
    return f"""(
    select least(avg(n), avg(n) filter (where ({day} - u.service_on) % 7 = 0))
    from order_counts u
    cross join lateral (
        select coalesce(sum(n), 0) as n
        from unnest(u.by_hour) with ordinality as h (n, hour) where {hours}
    ) part
    where u.depot_id = g.depot_id and u.service_on < g.service_on
      and u.service_on >= {day} - {USUAL_DAYS})"""


CUT = f"""
with cut as (
    select depot_id, timezone, service_on, last_file_id as file_id from gaps g
    where {_usual_orders("g.service_on", "hour - 1 > g.loaded_hour")} >= {MIN_CUT_ORDERS}
    union
    select depot_id, timezone, service_on, last_file_id from late_ends g
    where {_usual_orders("g.service_on", "hour - 1 > g.last_hour")} >= {MIN_CUT_ORDERS}
    union
    select depot_id, timezone, next_on, next_file_id from gaps g
    where {_usual_orders("g.next_on", "hour - 1 < g.first_hour")} >= {MIN_CUT_ORDERS}
)
select depot_id, service_on from cut
union
select c.depot_id, c.service_on
from order_counts c
join depots d using (depot_id)
join cut on cut.service_on = c.service_on and cut.timezone = d.timezone
        and cut.file_id in (c.file_id, c.last_file_id)
"""
PARTIAL = f"""
with busiest as (
    select distinct u.depot_id, busy_depot
    from unsettled u
    join order_counts c on c.depot_id = u.depot_id
     and c.service_on between u.service_on - {FEED_DAYS} and u.service_on
    join loaded_files theirs using (file_id)
    cross join lateral unnest(theirs.busiest) as busy_depot
    where c.service_on >= (select min(service_on) - {FEED_DAYS} from unsettled)
), heard as (
    select s.depot_id as busy_depot, s.before_on as service_on, f.loaded_at
    from spans_without_orders s join files f on f.file_id = s.last_file_id
    where s.next_on is null and s.before_on is not null
), feed as (
    select u.depot_id, avg((h.loaded_at >= u.ends_at)::integer) as share_after,
           max(h.loaded_at) as last_at
    from unsettled u
    join busiest using (depot_id)
    cross join lateral (
        select case when h.service_on >= u.service_on then h.loaded_at
               else '-infinity' end as loaded_at
        from heard h where h.busy_depot = busiest.busy_depot
    ) h
    group by u.depot_id
)
select u.depot_id, u.service_on
from unsettled u
left join feed f using (depot_id)
where coalesce(f.share_after <= 0.5, true)
  and not coalesce(u.is_within_day and case when f.depot_id is null then u.is_usual_load
                   else f.last_at > u.usual_end end, false)
union
select depot_id, service_on from cut_days
"""


def find(connection: sa.Connection, now: datetime, frozen: date) -> None:
    """Fills a temporary table `partial_days` (depot_id, service_on) from `order_counts`.

    `observed_zeros` creates the tables `loaded_files` and `spans_without_orders`. Days not over at
    their depot at `now` and days before `frozen` are left out, unless a missing file cut them.
    """
    parameters = {"now": now, "frozen": frozen}
    for table, statement in (
        ("unfinished", UNFINISHED),
        ("unsettled", UNSETTLED),
        ("uncounted", UNCOUNTED),
        ("gaps", GAPS),
        ("late_ends", LATE_ENDS),
        ("cut_days", CUT),
        ("partial_days", PARTIAL),
    ):
        temporary.create(connection, table, statement, parameters)
