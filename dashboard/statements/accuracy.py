"""What is asked of the scores."""

from dashboard.statements.shared import IS_GATED, SPECIAL_OF

SCORE_KINDS = """
select exists (select from scores where is_live) as has_live,
       exists (select from scores where not is_live) as has_hindcasts
"""

# Two models may have forecast from one origin; the one made last counts, because a
# forecast is made by the champion of its hour.
COUNTED = """
with asked as (
    select max(target_on) as last_on from scores where is_live = :live
), made as (
    select distinct f.origin_on, f.model_version, f.made_at
    from forecasts f, asked
    where f.is_live = :live and f.target_on > asked.last_on - cast(:days_back as integer)
), counts as (
    select distinct on (origin_on) origin_on, model_version from made
    order by origin_on, made_at desc
), counted as (
    select s.*, d.city, d.name, s.actual between s.p10 and s.p90 as is_inside,
           s.seasonal_naive is not null and s.median4 is not null as is_common
    from scores s
    join counts using (origin_on, model_version)
    join depots d using (depot_id)
    join asked on s.target_on > asked.last_on - cast(:days_back as integer)
    where s.is_live = :live
)
"""

# The forecast is compared with the baselines over the rows that all three have; `all_`
# figures are of every row.
ACCURACY = f"""{COUNTED}, said as (
    select c.target_on, c.city, c.model_version, c.actual, c.is_inside, c.is_common,
           c.target_on - c.origin_on as horizon,
           extract(isodow from c.target_on)::integer as weekday, f.forecaster, f.forecast
    from counted c
    cross join lateral (values ('forecast', c.p50),
                               ('seasonal naive', c.seasonal_naive),
                               ('median of 4', c.median4)) as f (forecaster, forecast)
)
select case grouping(target_on, city, model_version, horizon, weekday)
            when 15 then 'day' when 23 then 'city' when 27 then 'model'
            when 29 then 'horizon' when 30 then 'weekday' else 'all' end as grain,
       target_on as day_on, city, model_version, horizon, weekday, forecaster,
       avg(abs(forecast - actual) / actual) filter (where is_common and actual > 0)
         as mape,
       sum(abs(forecast - actual)) filter (where is_common)
         / nullif(sum(actual) filter (where is_common), 0) as wape,
       sum(forecast - actual) filter (where is_common)
         / nullif(sum(actual) filter (where is_common), 0) as bias,
       avg(cast(is_inside as integer))
         filter (where is_common and forecaster = 'forecast') as coverage,
       count(*) filter (where is_common and actual > 0) as counted,
       avg(abs(forecast - actual) / actual)
         filter (where forecaster = 'forecast' and actual > 0) as all_mape,
       count(*) filter (where actual > 0) as all_counted
from said
group by grouping sets ((forecaster), (forecaster, target_on), (forecaster, city),
                        (forecaster, model_version), (forecaster, horizon),
                        (forecaster, weekday))
order by grain, target_on, city, model_version, horizon, weekday, forecaster
"""  # noqa: S608 - of our own words

DEPOT_ACCURACY = f"""{COUNTED}, by_depot as (
    select depot_id, name, city,
           avg(abs(p50 - actual) / actual) as mape,
           avg(abs(seasonal_naive - actual) / actual) as naive_mape,
           sum(p50 - actual) / nullif(sum(actual), 0) as bias,
           avg(cast(is_inside as integer)) as coverage, count(*) as counted,
           count(*) over () as n_depots
    from counted
    where is_common and actual > 0
    group by depot_id, name, city
    order by mape desc, name, depot_id
    limit :most
)
select *, {IS_GATED.format(depot="by_depot.depot_id")} as is_gated from by_depot
order by mape desc, name, depot_id
"""  # noqa: S608 - of our own words

# Of each depot's day the forecast that was made last; days far off by chance alone are
# told as well as those on which something was on.
WORST_DAYS = f"""{COUNTED}, latest as (
    select distinct on (depot_id, target_on) * from counted
    order by depot_id, target_on, origin_on desc
), worst as (
    select * from latest order by abs(p50 - actual) desc, target_on desc, depot_id
    limit :most
)
select w.depot_id, w.name, w.city, w.target_on, w.actual, w.p10, w.p50, w.p90, f.basis,
       {SPECIAL_OF.format(day="w.target_on")}
from worst w
join depots d using (depot_id)
left join forecasts f using (depot_id, origin_on, target_on, model_version)
order by abs(w.p50 - w.actual) desc, w.target_on desc, w.depot_id
"""  # noqa: S608 - of our own words

# The last word of planners on each day that is known now, beside what the forecast and
# the seasonal naive said when it was spoken. A lock of the forecast's own number is none.
VALUE_OF_OVERRIDES = """
with final as (
    select distinct on (depot_id, target_on) * from overrides
    order by depot_id, target_on, override_id desc
), known as (
    select o.reason, o.orders, o.p50, s.seasonal_naive, v.orders::float8 as actual
    from final o
    join demand_versions v
      on v.depot_id = o.depot_id and v.service_on = o.target_on
     and v.superseded_at is null and v.orders > 0
    left join scores s
      on (s.depot_id, s.origin_on, s.target_on, s.model_version)
       = (o.depot_id, o.origin_on, o.target_on, o.model_version)
    where o.orders is not null and o.orders <> o.p50
)
select reason, count(*) as counted,
       avg(abs(seasonal_naive - actual) / actual) as naive_mape,
       avg(abs(p50 - actual) / actual) as forecast_mape,
       avg(abs(orders - actual) / actual) as override_mape
from known
group by grouping sets ((), (reason))
having count(*) > 0
order by grouping(reason) desc, counted desc, reason
limit :most
"""
