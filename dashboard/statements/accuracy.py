"""What is asked of the scores."""

SCORE_KINDS = """
select exists (select from scores where is_live) as has_live,
       exists (select from scores where not is_live) as has_hindcasts
"""

# Two models may have forecast from one origin; the one made last counts, because a
# forecast is made by the champion of its hour. The forecast is compared with the
# baselines over the rows that all three have; `all_` figures are of every row.
ACCURACY = """
with asked as (
    select max(target_on) as last_on from scores where is_live = :live
), made as (
    select distinct f.origin_on, f.model_version, f.made_at
    from forecasts f, asked
    where f.is_live = :live and f.target_on > asked.last_on - cast(:days_back as integer)
), counts as (
    select distinct on (origin_on) origin_on, model_version from made
    order by origin_on, made_at desc
), said as (
    select s.target_on, d.city, s.model_version, s.actual,
           s.actual between s.p10 and s.p90 as is_inside, f.forecaster, f.forecast,
           s.seasonal_naive is not null and s.median4 is not null as is_common
    from scores s
    join counts using (origin_on, model_version)
    join depots d using (depot_id)
    join asked on s.target_on > asked.last_on - cast(:days_back as integer)
    cross join lateral (values ('forecast', s.p50),
                               ('seasonal naive', s.seasonal_naive),
                               ('median of 4', s.median4)) as f (forecaster, forecast)
    where s.is_live = :live
)
select case grouping(target_on, city, model_version)
            when 3 then 'day' when 5 then 'city' when 6 then 'model' else 'all' end
         as grain,
       target_on as day_on, city, model_version, forecaster,
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
                        (forecaster, model_version))
order by grain, target_on, city, model_version, forecaster
"""
