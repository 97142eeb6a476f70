"""SQL of one depot and its peers."""

from dashboard.sql.shared import (
    CLOSURES,
    DAYS,
    IS_FALLBACK,
    IS_FOR_DEPOT,
    SPECIAL_OF,
    published_before,
)
from pipelines.schema.closures import is_closed
from pipelines.schema.depot_freshness import DEPOT_FRESHNESS
from pipelines.schema.planned_orders import PLANNED_FORECASTS
from pipelines.schema.signals import SIGNAL_COLUMNS

# The forecast from an earlier origin that was shown last. Its data are those of the start of
# its run.
PREVIOUS_FORECAST = f"""
    select p.origin_on, p.model_version, coalesce(r.started_at, p.published_at) as data_at
    from ({published_before(":origin")}) p left join runs r using (run_id)
"""

DEPOT_STATUS = f"""
with closures as ({CLOSURES}), before as ({PREVIOUS_FORECAST})
select f.last_on, f.due_on, f.is_late or f.is_silent as is_late,
       {IS_FALLBACK.format(depot="d.depot_id")} as is_fallback,
       b.origin_on as before_on, b.model_version as before_model,
       (select count(*) from demand_versions v
        where v.depot_id = d.depot_id and v.version > 1 and v.recorded_at > b.data_at)
         as corrected,
       array(select distinct e.kind from event_versions e
             where greatest(e.known_at, e.superseded_at) > b.data_at
               and e.ends_on > :origin and e.starts_on <= :until
               and {IS_FOR_DEPOT}
             order by e.kind) as new_events
from depots d join ({DEPOT_FRESHNESS}) f using (depot_id) left join before b on true
where d.depot_id = :depot
"""

DEPOT_DAYS = f"""
with closures as ({CLOSURES}), days as ({DAYS}), before as ({PREVIOUS_FORECAST})
select g.day_on, v.orders as actual, f.p10, f.point, f.p90, f.basis,
       f.model_point, p.point as point_before, f.override_id,
       coalesce(f.is_set, false) as is_set,
       f.override_reason, f.made_by, f.overruled_by,
       coalesce(f.basis = 'closed', {is_closed("g.day_on", "d")}) as is_closed,
       {SPECIAL_OF.format(day="g.day_on")}
from days g join depots d on d.depot_id = :depot
left join demand_versions v
  on v.depot_id = :depot and v.service_on = g.day_on and v.superseded_at is null
left join ({PLANNED_FORECASTS} and f.depot_id = :depot) f on f.target_on = g.day_on
left join before b on true
left join forecasts p
  on p.depot_id = :depot and p.target_on = g.day_on and p.origin_on = b.origin_on
 and p.model_version = b.model_version
order by g.day_on
"""

EVENTS_AHEAD = f"""
with here as (
    select * from depots where depot_id = :depot
), special as (
    select e.kind as what, false as is_holiday, e.starts_on, e.ends_on,
           case when e.depot_id is not null then 'this depot'
                when e.city is not null then 'all of ' || e.city
                else 'everywhere' end as scope
    from events e, here d
    where {IS_FOR_DEPOT}
    union all
    select distinct h.name, true, h.day_on, h.day_on, 'public holiday'
    from public_holidays h, here
    where h.country = here.country
      and h.subdivision in ('', coalesce(here.subdivision, ''))
)
select what, is_holiday, starts_on, ends_on, scope from special
where ends_on >= :first and starts_on <= :until
order by starts_on, what, scope
"""

# The last forecast of each day: live where there is any live, else hindcast.
PAST_FORECASTS = """
with kind as (
    select coalesce(bool_or(is_live), false) as is_live from scores
    where depot_id = :depot
), latest as (
    select distinct on (s.target_on)
           s.target_on, s.origin_on, s.actual, s.p10, s.point, s.p90, s.is_live,
           s.model_version
    from scores s
    join forecasts f using (depot_id, origin_on, target_on, model_version)
    join kind on kind.is_live = s.is_live
    where s.depot_id = :depot
      and (not s.is_live or (s.origin_on, s.model_version)
                            in (select origin_on, model_version from live_forecasts))
    order by s.target_on desc, s.origin_on desc, f.made_at desc
    limit :days_back
)
select * from latest order by target_on
"""

# The depots whose days influence a forecast: those of its city, or the whole fleet where
# none of its city was counted on or before :mature_by (`cold_start`).
PEER_DEPOTS_CTE = """
with here as (
    select city from depots where depot_id = :depot
), known as (
    select exists (
        select from depots c join here using (city) join demand_versions v using (depot_id)
        where v.superseded_at is null and v.orders is not null
          and v.service_on between :first and :mature_by) as is_mature
), peers as (
    select d.* from depots d, here, known where d.city = here.city or not known.is_mature
)
"""

PEER_DEPOTS = f"""{PEER_DEPOTS_CTE}
select depot_id, city, country, subdivision, opened_on, closed_on, closed_weekdays
from peers order by depot_id
"""

PEER_DEMAND = f"""{PEER_DEPOTS_CTE}
select v.depot_id, v.service_on, v.orders
from demand_versions v join peers using (depot_id)
where v.superseded_at is null and v.service_on between :first and :through
"""

PEER_HOLIDAYS = f"""{PEER_DEPOTS_CTE}
select country, subdivision, day_on, name from public_holidays
where country in (select country from peers)
"""

PEER_SIGNALS = f"""{PEER_DEPOTS_CTE}
select {SIGNAL_COLUMNS}
from signal_versions
where superseded_at is null and not withdrawn and day_on >= :first
  and (depot_id in (select depot_id from peers) or city in (select city from peers))
"""

ALL_EVENTS = """
select kind, starts_on, ends_on, city, depot_id, value, known_from from events
order by event_id
"""
