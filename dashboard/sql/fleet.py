"""SQL of the whole fleet."""

from dashboard.sql.shared import CLOSURES, DEPOT_NAMES
from pipelines.schema.active_depots import ACTIVE_ZONES
from pipelines.schema.closures import is_closed
from pipelines.schema.feed_freshness import FEED_FRESHNESS

# `shown` is the newest origin's forecast: the champion's, or the newest made there. Its
# own `made_at` is when its night began.
FRESHNESS = f"""
select (select count(*) from depots) as depots,
       (select jsonb_object_agg(timezone, depots) from ({ACTIVE_ZONES}) active) as zones,
       (select max(service_on) from demand_versions
        where superseded_at is null and orders is not null) as last_on,
       champion.version as champion,
       shown.origin_on, shown.model_version,
       coalesce(made_by.finished_at, shown.made_at) as made_at,
       (select max(target_on) from forecasts f
        where (f.depot_id, f.origin_on, f.model_version)
            = (shown.depot_id, shown.origin_on, shown.model_version)) as until_on,
       model.trained_through, model.filename, model.sha256,
       (select max(greatest(started_at, finished_at)) from runs) as worked_at,
       (select max(override_id) from overrides) as last_override,
       made_by.metrics -> 'late_cities' as late_cities,
       (select metrics -> 'alarms' from runs where step = 'accuracy' and state = 'done'
        order by run_id desc limit 1) as alarms
from (select 1) as always
left join models champion on champion.role = 'champion'
left join lateral (
    select depot_id, origin_on, model_version, made_at, run_id from forecasts
    where origin_on = (select max(origin_on) from forecasts)
    order by model_version is not distinct from champion.version desc, made_at desc
    limit 1
) shown on true
left join models model on model.version = shown.model_version
left join runs made_by on made_by.run_id = shown.run_id
"""  # noqa: S608 - of our own words

DEPOTS = """
select depot_id,
       name || ' · ' || city || case when name = depot_id then ''
                                     else ' · ' || depot_id end as label
from depots
order by city, name, depot_id
"""

# A depot is missing on a day on which it was open, since its first count, without one.
DAILY_TOTALS = f"""
with closures as ({CLOSURES}), scope as (
    select d.*, begun.first_on
    from depots d
    left join lateral (
        select min(service_on) as first_on from demand_versions v
        where v.depot_id = d.depot_id and superseded_at is null and orders is not null
    ) begun on true
    where :city = '' or d.city = :city
), days as (
    select cast(:since as date) + n as day_on
    from generate_series(0, cast(:until as date) - cast(:since as date)) as n
), past as (
    select g.day_on, sum(v.orders)::float8 as actual,
           count(*) filter (where v.orders is null and g.day_on >= s.first_on
                                  and not {is_closed("g.day_on", "s")}) as missing
    from days g cross join scope s
    left join demand_versions v
      on v.depot_id = s.depot_id and v.service_on = g.day_on
     and v.superseded_at is null
    where g.day_on <= :origin
    group by g.day_on
), ahead as (
    select target_on as day_on, sum(p50) as p50
    from forecasts join scope using (depot_id)
    where origin_on = :origin and model_version = :model and target_on <= :until
    group by target_on
)
select day_on, actual, ahead.p50, t.p10, t.p90, coalesce(missing, 0) as missing
from days left join past using (day_on) left join ahead using (day_on)
left join forecast_totals t
  on t.city = :city and t.target_on = day_on and t.origin_on = :origin
 and t.model_version = :model
order by day_on
"""  # noqa: S608 - of our own words

MIN_REVISION = 0.5
"""Orders a day by which a forecast must differ from the one before to have changed."""

# Days that are shut in one of the two weeks are not compared. The forecast before is the
# one of the last origin before, made last there.
FLEET_WEEK = f"""
with closures as ({CLOSURES}), before as (
    select max(origin_on) as origin_on from forecasts where origin_on < :origin
), called as ({DEPOT_NAMES}), place as (
    select d.*, called.name as called, fresh.last_on, fresh.is_late, fresh.is_silent
    from depots d join called using (depot_id)
    join ({FEED_FRESHNESS}) fresh using (depot_id)
    where d.closed_on is null or d.closed_on > :origin
), said as (
    select distinct on (depot_id, target_on) depot_id, target_on, origin_on, p50
    from forecasts join before using (origin_on)
    where target_on > :origin
    order by depot_id, target_on, made_at desc
), week as (
    select p.depot_id, p.called as name, p.city, p.vans, p.last_on, p.is_late, p.is_silent,
           f.target_on, f.p10, f.p50, f.p90, f.basis,
           case when f.basis <> 'closed' and not {is_closed("(f.target_on - 7)", "p")}
                then b.orders end as week_before,
           said.p50 as p50_before, (select origin_on from before) as before_on
    from place p
    join forecasts f on f.depot_id = p.depot_id and f.origin_on = :origin
     and f.model_version = :model and f.target_on <= :until
    left join demand_versions b
      on b.depot_id = f.depot_id and b.service_on = f.target_on - 7
     and b.superseded_at is null
    left join said on said.depot_id = f.depot_id and said.target_on = f.target_on
), measured as (
    select *, sum(p50) filter (where week_before is not null) over depot
              / nullif(sum(week_before) over depot, 0) - 1 as change,
           case when abs(sum(p50 - p50_before) over depot)
                     < {MIN_REVISION} * count(p50_before) over depot then 0
                else sum(p50) filter (where p50_before is not null) over depot
                     / nullif(sum(p50_before) over depot, 0) - 1 end as revised
    from week window depot as (partition by depot_id)
)
select * from measured order by city, name, depot_id, target_on
"""  # noqa: S608 - of our own words
