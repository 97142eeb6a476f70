"""Days whose orders were loaded before they were over, and of which no file has come since.

A file taken at 04:30 also has the first hours of the new day. Such a day is partial: its
orders do not count, and are no zero either, until the depot's feed has spoken after the day
was over. It has if

- a file that came after the day has orders of the day; or
- the depot has orders of a later day; or
- a file that came after the day has orders of the day or of a later one of the file's
  busiest depots, and has more than half as many depots; or
- the file came later in the day than the last order of nearly all of the depot's days in
  the four weeks before, as where a day is exported in its evening.
"""

from datetime import date, datetime

import sqlalchemy as sa

USUAL_DAYS = 28
"""Days before a day that say when its last order usually comes."""
USUAL_SHARE = 0.9
"""Share of these days whose last order has come by the time of the load."""

# The newest days of depots, if their last file came before they were over.
UNFINISHED = """
create temporary table unfinished on commit drop as
select c.depot_id, c.service_on, c.last_file_id, day.ends_at,
       case when f.loaded_at >= day.starts_at
            then (f.loaded_at at time zone d.timezone)::time end as loaded_at_time
from files f
join order_counts c on c.last_file_id = f.file_id
join depots d using (depot_id)
cross join lateral (
    select c.service_on::timestamp at time zone d.timezone as starts_at,
           (c.service_on + 1)::timestamp at time zone d.timezone as ends_at
) day
-- The first condition alone is quick, and true of hardly any of them.
where c.service_on >= (f.loaded_at at time zone 'UTC')::date - 1
  and f.loaded_at < day.ends_at and day.ends_at <= :now and c.service_on >= :frozen
  and not exists (
      select from order_counts later
      where later.depot_id = c.depot_id and later.service_on > c.service_on)
"""
PARTIAL = f"""
create temporary table partial_days on commit drop as
with usual as (
    select u.depot_id,
           percentile_disc({USUAL_SHARE}) within group (order by c.last_time) as last_time
    from unfinished u
    join order_counts c on c.depot_id = u.depot_id
     and c.service_on between u.service_on - {USUAL_DAYS} and u.service_on - 1
    group by u.depot_id
)
select u.depot_id, u.service_on
from unfinished u
left join usual using (depot_id)
where coalesce(usual.last_time > u.loaded_at_time, true)
  and not exists (
      select from loaded_files own
      cross join lateral unnest(own.busiest) as busy_depot
      join order_counts c on c.depot_id = busy_depot and c.service_on >= u.service_on
      join files f on f.file_id = c.last_file_id
      join loaded_files theirs on theirs.file_id = c.last_file_id
      where own.file_id = u.last_file_id and f.loaded_at >= u.ends_at
        and theirs.depots * 2 > own.depots)
"""


def find(connection: sa.Connection, now: datetime, frozen: date) -> None:
    """Fills a temporary table `partial_days` (depot_id, service_on) from `order_counts`.

    The table `loaded_files` is made by `observed_zeros`. No day that is not over at its depot at
    `now`, or before `frozen`, is in it.
    """
    parameters = {"now": now, "frozen": frozen}
    for table, statement in (("unfinished", UNFINISHED), ("partial_days", PARTIAL)):
        connection.execute(sa.text(statement), parameters)
        # Each is joined next, and may have any size.
        connection.execute(sa.text(f"analyze {table}"))
    connection.execute(sa.text("drop table unfinished"))
