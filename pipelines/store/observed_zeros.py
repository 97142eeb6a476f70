"""Separates days with zero orders from days that were not observed.

A depot's feed is the file that has its orders of its last day with orders. A day without orders
is a 0 if

- the feed has another depot's orders of the day; or
- another file has the day's orders of one of the feed's busiest depots, and either this file has
  more than half as many depots as the feed, or that depot is also among the busiest in the file
  with this depot's next orders: orders of the day would have come with that depot's. For a depot
  that seldom lacks orders, or not on that weekday, this rule waits until one more day is over; or
- the feed has only this depot, and days without orders are usual for it: it has few orders, also
  on that weekday, and its next ones are loaded, or it rested on that weekday of both weeks before.

Depots of another time zone count only with a file that was loaded after the day's end here. Every
other day without orders is not observed, nor is one after the depot's files turn to daily counts.
Partial days (`partial_days`) prove nothing. The rules look at earlier days, so later files seldom
change a result.
"""

from datetime import date, datetime

import sqlalchemy as sa

from pipelines.store import partial_days, temporary

MIN_STEADY_ORDERS = 5
"""Minimum daily orders of a steady depot; with five expected, a 0 occurs twice a year (Poisson)."""
MAX_GAP_DAYS = 14
"""Maximum days between two days with orders; a longer gap means a missing file, not zeros."""
MAX_REST_DAYS = 3
"""Maximum usual rest in days: a weekend and an adjacent bank holiday."""
N_BUSIEST = 4
"""Number of busiest depots per file; they seldom lack orders, so theirs prove a loaded day."""

# Spans of days without orders: after a depot's day with orders, or from its opening to the first.
SPANS_WITHOUT_ORDERS = """
with local as (
    select depot_id, timezone, opened_on, closed_on,
           least(:today, (:now at time zone timezone)::date) as today
    from depots
), counted as (
    select depot_id, service_on, orders, file_id, last_file_id,
           lead(service_on) over own as next_on, lead(orders) over own as next_orders,
           lead(file_id) over own as next_file_id,
           first_value(service_on) over own as first_on
    from order_counts
    window own as (partition by depot_id order by service_on)
)
select c.depot_id, c.file_id, c.last_file_id, c.service_on as before_on,
       c.orders as before_orders, c.next_on, c.next_orders, c.next_file_id, c.first_on,
       l.today, l.timezone, c.service_on + 1 as from_on,
       least(coalesce(c.next_on, l.today) - 1, l.closed_on - 1) as until_on
from counted c join local l using (depot_id)
where c.next_on is distinct from c.service_on + 1
union all
select c.depot_id, c.file_id, null, null, null, null, null, null, c.first_on, l.today,
       l.timezone, l.opened_on, c.service_on - 1
from counted c join local l using (depot_id)
where c.service_on = c.first_on and l.opened_on < c.service_on
"""
# Each file with several depots: its number of depots, and the busiest of them.
LOADED_FILES = f"""
select file_id, depots,
       (array_agg(depot_id order by orders desc, depot_id))[1 : {N_BUSIEST}]
           as busiest
from (
    select file_id, depot_id, sum(orders) as orders,
           count(*) over (partition by file_id) as depots
    from order_counts
    where file_id in (select file_id from order_counts group by file_id
                      having min(depot_id) <> max(depot_id))
    group by file_id, depot_id
) by_depot
group by file_id, depots
"""
# Daily counts of two days in a row end a span: in such files a missing row is not a 0. A single
# count is a correction.
DAYS_WITHOUT_ORDERS = """
select g.*, day::date as day_on
from spans_without_orders g
cross join lateral (
    select min(n.service_on) as daily_on
    from daily_counts n join daily_counts next
      on next.depot_id = n.depot_id and next.service_on = n.service_on + 1
    where n.depot_id = g.depot_id and n.service_on between g.from_on and g.until_on
) own
cross join lateral generate_series(greatest(g.from_on, :frozen)::timestamp,
                                   least(g.until_on, own.daily_on - 1),
                                   interval '1 day') as day
"""
DAY_END = "(s.day_on + 1)::timestamp at time zone s.timezone"
# Whether the depot has few orders on the same weekdays of the four weeks before, or none.
IS_QUIET_WEEKDAY = f"""(
    select coalesce(avg(c.orders), 0) < {MIN_STEADY_ORDERS}
    from generate_series(1, 4) as week
    join order_counts c on c.depot_id = s.depot_id and c.service_on = s.day_on - 7 * week)"""


def _gap_days(day: str) -> str:
    """SQL for the days from the last orders before a day to the next; null if that is no rest."""
    return f"""(
    select min(c.service_on) filter (where c.service_on > {day})
           - max(c.service_on) filter (where c.service_on < {day})
    from generate_series(-{MAX_REST_DAYS}, {MAX_REST_DAYS}) as n
    join order_counts c on c.depot_id = s.depot_id and c.service_on = {day} + n)"""


# In another time zone, the same day may be over, or its file loaded, hours before this one.
ZERO_DAYS = f"""
with whole_counts as not materialized (
    select c.*, d.timezone
    from order_counts c join depots d using (depot_id)
    left join partial_days p using (depot_id, service_on)
    where p.depot_id is null
)
select s.depot_id, s.day_on
from days_without_orders s
join (select distinct file_id, service_on, timezone
      from whole_counts join loaded_files using (file_id)) f
  on f.file_id = s.file_id and f.service_on = s.day_on
left join files own on own.file_id = s.file_id
where f.timezone = s.timezone or own.loaded_at >= {DAY_END}
union
select s.depot_id, s.day_on
from days_without_orders s
join loaded_files own using (file_id)
cross join lateral unnest(own.busiest) as busy_depot
join whole_counts w on w.depot_id = busy_depot and w.service_on = s.day_on
left join loaded_files theirs on theirs.file_id = w.file_id
left join loaded_files later on later.file_id = s.next_file_id
left join order_counts before
  on before.depot_id = s.depot_id and before.service_on = s.day_on - 7
where busy_depot <> s.depot_id
  and (w.timezone = s.timezone or exists (
      select from order_counts c join files on files.file_id = c.last_file_id
      where c.depot_id = busy_depot and c.service_on in (s.day_on, s.day_on + 1)
        and files.loaded_at >= {DAY_END}))
  and (theirs.depots * 2 > own.depots or busy_depot = any(later.busiest))
  and (s.day_on < s.today - 1 or (s.before_orders < {MIN_STEADY_ORDERS} and {IS_QUIET_WEEKDAY})
       or (before.depot_id is null and s.first_on <= s.day_on - 7))
union
select s.depot_id, s.day_on
from days_without_orders s
left join loaded_files own using (file_id)
left join order_counts a on a.depot_id = s.depot_id and a.service_on = s.day_on - 7
left join order_counts b on b.depot_id = s.depot_id and b.service_on = s.day_on - 14
left join partial_days p on p.depot_id = s.depot_id and p.service_on = s.before_on
left join partial_days q on q.depot_id = s.depot_id and q.service_on = s.next_on
where own.file_id is null
  and ((s.next_on - s.before_on <= {MAX_GAP_DAYS}
        and (p.depot_id is null and s.before_orders < {MIN_STEADY_ORDERS}
             or q.depot_id is null and s.next_orders < {MIN_STEADY_ORDERS}
                and s.next_on < s.today)
        and {IS_QUIET_WEEKDAY})
    or (s.day_on - s.before_on <= {MAX_REST_DAYS} and s.first_on <= s.day_on - 14
        and a.depot_id is null and b.depot_id is null
        and {_gap_days("(s.day_on - 7)")} <= {MAX_REST_DAYS} + 1
        and {_gap_days("(s.day_on - 14)")} <= {MAX_REST_DAYS} + 1))
"""


def find(connection: sa.Connection, today: date, now: datetime, frozen: date) -> None:
    """Fills two temporary tables from `order_counts`: `zero_days` and `partial_days`.

    `zero_days` has depot_id and day_on, from `frozen` on; `COUNT_NOW` leaves out days that are
    not over by `today` or at their depot. For the other table see `partial_days`.
    """
    parameters = {"today": today, "now": now, "frozen": frozen}
    temporary.create(connection, "loaded_files", LOADED_FILES, parameters)
    # `partial_days` looks up the files of each gap.
    connection.execute(sa.text("create index on loaded_files (file_id)"))
    temporary.create(
        connection, "spans_without_orders", SPANS_WITHOUT_ORDERS, parameters
    )
    partial_days.find(connection, now, frozen)
    temporary.create(connection, "days_without_orders", DAYS_WITHOUT_ORDERS, parameters)
    temporary.create(connection, "zero_days", ZERO_DAYS, parameters)
