"""SQL for how fresh each depot's counts are on a day: the only definition of a late depot.

The pages, the ledger, the bands and the metrics use it.
"""

from pipelines.schema.active_depots import ACTIVE_DAYS, NEWEST_COUNT
from pipelines.schema.closures import CLOSURES, is_closed

WAITED_FOR_DAYS = 14
"""Days without a count after which a depot is silent: counts are no longer expected of it."""

LAST_DAY, LAST_ACTIVE_DAY = WAITED_FOR_DAYS - 1, ACTIVE_DAYS - 1

# A day is due once it has ended by this time: the last recount if counts reach the day, else now.
WAITED_UNTIL = f"""
    case when day_on <= ({NEWEST_COUNT})
         then coalesce((select started_at from runs
                        where state = 'done' and jsonb_exists(metrics, 'new')
                        order by run_id desc limit 1),
                       clock_timestamp())
         else clock_timestamp() end
"""
DEPOT_FRESHNESS = f"""
    select d.depot_id, d.city, seen.last_on, due.due_on, due.missing,
           coalesce(seen.last_on < due.due_on
                    and seen.last_on >= cast(:as_of as date) - {WAITED_FOR_DAYS}, false)
               as is_late,
           due.due_on is not null
               and coalesce(seen.last_on < cast(:as_of as date) - {WAITED_FOR_DAYS}, true)
               as is_silent
    from depots d
    left join lateral (
        select max(v.service_on) as last_on from demand_versions v
        where v.depot_id = d.depot_id and v.superseded_at is null
          and v.orders is not null and v.service_on <= :as_of
    ) seen on true
    left join lateral (
        select max(day_on) as due_on,
               count(*) filter (where day_on > seen.last_on) as missing
        from (select cast(:as_of as date) - n as day_on
              from generate_series(0, {LAST_DAY}) as n) recent
        where (seen.last_on is not null or d.opened_on is not null)
          and day_on < (({WAITED_UNTIL}) at time zone d.timezone)::date
          and not {is_closed("day_on")}
    ) due on true
"""
"""One row for each depot on the day `:as_of`; the statement needs the CTE `closures`.

- `last_on`: the depot's newest day with a count; null if it has none.
- `due_on`: its newest open day whose count is due: the day is over in its time zone, and was over
  before the last recount if any depot has a count of that day or a later one. Null if the depot
  was closed for a fortnight, or has neither a count nor an opening day.
- `missing`: number of its due open days after `last_on`; 0 if it has no count.
- `is_late`: its `due_on` has no count yet, and it had a count in the fortnight before.
- `is_silent`: it was open, but has had no count for a fortnight, or none since its opening day.
"""
NEWEST_OPEN_DAY = f"""
with closures as ({CLOSURES})
select coalesce(
    (select cast(:as_of as date) where exists (
        select from demand_versions
        where service_on = :as_of and superseded_at is null and orders is not null)),
    (select max(day_on)
     from (select cast(:as_of as date) - n as day_on
           from generate_series(0, {LAST_ACTIVE_DAY}) n) recent
     where exists (select from depots d
                   where not {is_closed("day_on")}
                     and exists (select from demand_versions v where v.depot_id = d.depot_id
                                 and v.superseded_at is null and v.orders is not null
                                 and v.service_on > least(day_on, ({NEWEST_COUNT}))
                                                    - {WAITED_FOR_DAYS})))) as day_on
"""
"""`:as_of` if it has a count; else the newest day of the four weeks up to it on which a depot was
open of which counts were expected: it had one in the fortnight before, or before the fleet's newest
count. Null if there is none."""
