"""SQL of the whole fleet: freshness, totals, the days ahead, models, overrides."""

from dashboard.sql.shared import (
    CLOSURES,
    COUNTS,
    DAYS,
    DEPOT_NAMES,
    FIRST_COUNT,
    IS_FOR_DEPOT,
    published_before,
)
from pipelines.schema.active_depots import ACTIVE_ZONES
from pipelines.schema.closures import is_closed
from pipelines.schema.depot_freshness import DEPOT_FRESHNESS
from pipelines.schema.planned_orders import (
    PLANNED_PARTS,
    TOTAL_LEVELS,
)
from pipelines.schema.rollback import ROLLBACK_TARGET

FRESHNESS = f"""
select (select count(*) from depots) as depots,
       (select jsonb_object_agg(timezone, depots) from ({ACTIVE_ZONES}) active) as zones,
       (select max(service_on) from demand_versions
        where superseded_at is null and orders is not null) as last_on,
       champion.version as champion,
       shown.origin_on, shown.model_version,
       coalesce(made_by.finished_at, shown.published_at) as made_at,
       (select max(f.target_on) from forecasts f
        join (select * from forecasts
              where (origin_on, model_version) = (shown.origin_on, shown.model_version)
              limit 1) depot using (depot_id, origin_on, model_version)) as until_on,
       model.trained_through, model.filename, model.sha256,
       (select max(greatest(started_at, finished_at)) from runs) as worked_at,
       (select max(override_id) from overrides) as last_override,
       (select max(settings_id) from city_settings) as last_settings,
       pg_is_in_recovery() as is_replica,
       made_by.metrics -> 'late_cities' as late_cities,
       (select metrics -> 'alarms' from runs where step = 'accuracy' and state = 'done'
        order by run_id desc limit 1) as alarms,
       exists (select from demo_fleet) as is_demo
from (select 1) as always
left join models champion on champion.role = 'champion'
left join shown_forecast shown on true
left join models model on model.version = shown.model_version
left join runs made_by on made_by.run_id = shown.run_id
"""

DEPOTS = """
select depot_id, city,
       name || ' · ' || city || case when name = depot_id then ''
                                     else ' · ' || depot_id end as label
from depots
order by city, name, depot_id
"""

# A depot is missing on a day on which it was open, since its first count, without one. The
# band is null where the total was not forecast.
DAILY_TOTALS = f"""
with closures as ({CLOSURES}), scope as (
    select d.*, first_count.first_on
    from depots d
    {FIRST_COUNT}
    where :city = '' or d.city = :city
), days as ({DAYS}), counts as materialized ({COUNTS}), past as (
    select g.day_on, sum(v.orders)::float8 as actual,
           count(*) filter (where v.orders is null and g.day_on >= s.first_on
                                  and not {is_closed("g.day_on", "s")}) as missing
    from days g cross join scope s
    left join counts v on v.depot_id = s.depot_id and v.service_on = g.day_on
    where g.day_on <= :origin
    group by g.day_on
), ahead as (
    select target_on as day_on, sum(part) as point, sum(model_part) as model_point,
           coalesce(sum(part) / nullif(sum(model_part), 0), 1) as ratio
    from ({PLANNED_PARTS}) planned join scope using (depot_id)
    where target_on <= :until
    group by target_on
)
select day_on, actual, ahead.point, ratio * t.p10 as p10, ratio * t.p90 as p90,
       ahead.model_point, coalesce(missing, 0) as missing
from days left join past using (day_on) left join ahead using (day_on)
left join forecast_totals t
  on t.city = :city and t.target_on = day_on and t.origin_on = :origin
 and t.model_version = :model
order by day_on
"""

# Holidays and events by day and city; closures are in the forecasts.
FLEET_EVENTS = f"""
with days as ({DAYS}), open_depots as (
    select * from depots where closed_on is null or closed_on > :origin
), special as (
    select g.day_on, e.kind as what, false as is_holiday, d.city, d.depot_id
    from days g join events e on g.day_on between e.starts_on and e.ends_on
    join open_depots d on {IS_FOR_DEPOT}
    where e.kind <> 'closed'
    union
    select h.day_on, h.name, true, d.city, d.depot_id
    from days g join public_holidays h using (day_on)
    join open_depots d
      on h.country = d.country and h.subdivision in ('', coalesce(d.subdivision, ''))
)
select day_on, what, is_holiday, city, count(*) as depots
from special group by day_on, what, is_holiday, city
order by day_on, is_holiday desc, what, city
"""

# A day's known demand beside its last live forecast; of a closed day only what came. A
# depot that was forecast and open is expected, also without a count.
FORECAST_OF_DAY = f"""
with closures as ({CLOSURES}), names as ({DEPOT_NAMES}), last_scores as (
    select distinct on (s.depot_id) s.depot_id, s.point,
           coalesce(level, 1) * s.p50 as part
    from scores s join live_forecasts using (origin_on, model_version)
    join depots d using (depot_id)
    left join ({TOTAL_LEVELS}) total
      on (total.city, total.origin_on, total.target_on, total.model_version)
       = (d.city, s.origin_on, s.target_on, s.model_version)
    where s.target_on = :day
    order by s.depot_id, s.origin_on desc
), expected as (
    select f.depot_id
    from forecasts f join ({published_before(":day")}) using (origin_on, model_version)
    join depots d using (depot_id)
    where f.target_on = :day and not {is_closed("f.target_on", "d")}
), counted as (
    select depot_id, orders from demand_versions
    where service_on = :day and superseded_at is null and orders is not null
)
select depot_id, n.name, n.city, v.orders as actual, s.point, s.part,
       e.depot_id is not null as is_expected
from counted v full join expected e using (depot_id) join names n using (depot_id)
left join last_scores s using (depot_id)
order by abs(s.point - v.orders) desc nulls last, depot_id
"""

MIN_REVISION = 0.5
"""Orders per day by which a forecast must differ from the previous one to count as changed."""

# Days closed in either week are not compared.
FLEET_WEEK = f"""
with closures as ({CLOSURES}), before as ({published_before(":origin")}), names as ({DEPOT_NAMES}), active as (
    select d.*, names.name as display_name, fresh.last_on, fresh.is_late, fresh.is_silent
    from depots d join names using (depot_id)
    join ({DEPOT_FRESHNESS}) fresh using (depot_id)
    where d.closed_on is null or d.closed_on > :origin
), previous as (
    select depot_id, target_on, point
    from forecasts join before using (origin_on, model_version)
    where target_on > :origin
), week as (
    select a.depot_id, a.display_name as name, a.city, a.vans, a.last_on, a.is_late, a.is_silent,
           f.target_on, f.p10, f.p50, f.p90, f.point, f.basis, f.model_p10, f.model_p50,
           f.model_p90, f.model_point, f.part, f.model_part, f.override_id,
           f.is_set, f.override_reason, f.made_by, f.overruled_by,
           case when f.basis <> 'closed' and not {is_closed("(f.target_on - 7)", "a")}
                then b.orders end as week_before,
           previous.point as point_before, (select origin_on from before) as before_on
    from active a
    join ({PLANNED_PARTS}) f on f.depot_id = a.depot_id and f.target_on <= :until
    left join demand_versions b
      on b.depot_id = f.depot_id and b.service_on = f.target_on - 7
     and b.superseded_at is null
    left join previous
      on previous.depot_id = f.depot_id and previous.target_on = f.target_on
), compared as (
    select *, sum(point) filter (where week_before is not null) over depot
              / nullif(sum(week_before) over depot, 0) - 1 as change,
           case when abs(sum(model_point - point_before) over depot)
                     < {MIN_REVISION} * count(point_before) over depot then 0
                else sum(model_point) filter (where point_before is not null) over depot
                     / nullif(sum(point_before) over depot, 0) - 1 end as revised
    from week window depot as (partition by depot_id)
)
select * from compared order by city, name, depot_id, target_on
"""

# Evaluation models are shown with the model that they evaluate.
MODELS = f"""
select version, role, trained_through, created_at, promoted_at, pruned_at,
       decision_reason, scores, ({ROLLBACK_TARGET}) as rollback_target
from models
where role <> 'evaluation'
order by (role = 'champion') desc, created_at desc, version desc
limit :row_limit
"""

CITY_BANDS = """
select city, target_on, p10, p90 from forecast_totals
where city <> '' and origin_on = :origin and model_version = :model
order by city, target_on
"""

CITY_SETTINGS = """
select distinct on (city) settings_id, city, vans, orders_per_van, service_level,
       drivers_per_van, made_by, made_at
from city_settings
order by city, settings_id desc
"""

# Orders of a city on a busy day: nine days of ten had no more.
BUSY_DAY_ORDERS = """
with days as (
    select d.city, v.service_on, sum(v.orders)::float8 as orders
    from demand_versions v join depots d using (depot_id)
    where v.superseded_at is null and v.orders is not null
      and v.service_on between :since and :until
    group by d.city, v.service_on
)
select city, percentile_cont(0.9) within group (order by orders) as orders
from days group by city order by city
"""

OVERRIDE_HISTORY = f"""
with names as ({DEPOT_NAMES})
select o.override_id, o.depot_id, n.name, o.target_on, o.orders, o.undoes, o.point,
       o.reason, o.made_by, o.made_at
from overrides o join names n using (depot_id)
where :city = '' or n.city = :city
order by o.override_id desc
limit :row_limit
"""

# What a planner changed last in a city, together, of the days ahead; none of days that somebody
# changed since.
NEWEST_CHANGE = f"""
with names as ({DEPOT_NAMES})
select o.override_id, o.depot_id, n.name, o.target_on, o.orders, o.undoes, o.made_at
from overrides o join names n using (depot_id)
where (o.made_by, o.made_at) = (
    select made_by, made_at from overrides join names using (depot_id)
    where made_by = :planner and city = :city
    order by override_id desc limit 1)
  and n.city = :city and o.target_on > :origin
  and not exists (
    select from overrides later
    where (later.depot_id, later.target_on) = (o.depot_id, o.target_on)
      and later.override_id > o.override_id)
order by o.override_id
"""
