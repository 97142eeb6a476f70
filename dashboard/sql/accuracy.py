"""SQL of forecast scores."""

from dashboard.sql.shared import DEPOT_NAMES, IS_FALLBACK, SPECIAL_OF
from pipelines.schema.counted_forecasts import counted_forecasts

SCORE_KINDS = """
select exists (select from score_totals where is_live) as has_live,
       exists (select from score_totals where not is_live) as has_hindcasts
"""

COUNTS = f"""
with asked as (
    select max(target_on) - cast(:days_back as integer) as last_out
    from score_totals where is_live = :live
), counts as (
    {counted_forecasts(":live", "(select last_out + 1 from asked)")}
)
"""  # noqa: S608 - of our own words

# The forecast is compared with the baselines over the rows that all three have; `all_`
# figures are of every row.
ACCURACY = f"""{COUNTS}, said as (
    select t.*, t.target_on - t.origin_on as horizon,
           extract(isodow from t.target_on)::integer as weekday,
           f.*
    from score_totals t
    join counts using (origin_on, city, model_version)
    join asked on t.target_on > asked.last_out
    cross join lateral (
        values ('forecast', comparable_ape_sum, comparable_abs_error_sum,
                comparable_error_sum, true),
               ('seasonal naive', naive_ape_sum, naive_abs_error_sum,
                naive_error_sum, false),
               ('median of 4', median_ape_sum, median_abs_error_sum,
                median_error_sum, false)
    ) as f (forecaster, forecaster_ape_sum, forecaster_abs_error_sum,
            forecaster_error_sum, is_own)
    where t.is_live = :live
)
select case grouping(target_on, city, model_version, horizon, weekday)
            when 15 then 'day' when 23 then 'city' when 27 then 'model'
            when 29 then 'horizon' when 30 then 'weekday' else 'all' end as grain,
       target_on as day_on, city, model_version, horizon, weekday, forecaster,
       sum(forecaster_ape_sum)
         / nullif(sum(n_comparable_nonzero), 0)::float8 as mape,
       sum(forecaster_abs_error_sum) / nullif(sum(comparable_actual_sum), 0) as wape,
       sum(forecaster_error_sum) / nullif(sum(comparable_actual_sum), 0) as bias,
       sum(n_comparable_in_interval) filter (where is_own)
         / nullif(sum(n_comparable), 0) as coverage,
       sum(n_comparable_nonzero)::bigint as counted,
       sum(ape_sum) filter (where is_own)
         / nullif(sum(n_nonzero), 0)::float8 as all_mape,
       sum(n_nonzero)::bigint as all_counted
from said
group by grouping sets ((forecaster), (forecaster, target_on), (forecaster, city),
                        (forecaster, model_version), (forecaster, horizon),
                        (forecaster, weekday))
order by grain, target_on, city, model_version, horizon, weekday, forecaster
"""  # noqa: S608 - of our own words

# Origins whose days ahead all lie within the weeks come from the sums; of those before
# them the days that do.
DEPOT_ACCURACY = f"""{COUNTS}, said as (
    select t.depot_id, t.n_comparable_nonzero, t.n_comparable_nonzero_in_interval,
           t.comparable_nonzero_actual_sum, t.comparable_nonzero_error_sum,
           t.comparable_ape_sum, t.naive_ape_sum
    from depot_score_totals t join depots using (depot_id)
    join counts using (origin_on, city, model_version)
    where t.is_live = :live and t.origin_on >= (select last_out from asked)
    union all
    select s.depot_id, 1, cast(s.actual between s.p10 and s.p90 as integer), s.actual,
           s.p50 - s.actual, abs(s.p50 - s.actual) / s.actual,
           abs(s.seasonal_naive - s.actual) / s.actual
    from scores s join depots using (depot_id)
    join counts using (origin_on, city, model_version)
    where s.is_live = :live
      and s.origin_on between (select min(origin_on) from counts)
                          and (select last_out - 1 from asked)
      and s.target_on > (select last_out from asked)
      and s.actual > 0 and s.seasonal_naive is not null and s.median4 is not null
), summed as (
    select depot_id,
           sum(comparable_ape_sum) / sum(n_comparable_nonzero)::float8 as mape,
           sum(naive_ape_sum) / sum(n_comparable_nonzero)::float8 as naive_mape,
           sum(comparable_nonzero_error_sum)
             / sum(comparable_nonzero_actual_sum) as bias,
           sum(n_comparable_nonzero_in_interval)
             / sum(n_comparable_nonzero) as coverage,
           sum(n_comparable_nonzero)::bigint as counted, count(*) over () as n_depots
    from said
    group by depot_id
    having sum(n_comparable_nonzero) > 0
), called as ({DEPOT_NAMES}), by_depot as (
    select summed.*, name, city from summed join called using (depot_id)
    order by mape desc, name, depot_id
    limit :row_limit
)
select *, {IS_FALLBACK.format(depot="by_depot.depot_id")} as is_fallback from by_depot
order by mape desc, name, depot_id
"""  # noqa: S608 - of our own words

# Of each depot's day the forecast that was made last; days far off by chance alone are
# told as well as those on which something was on. Each day's worst come from an index.
LARGEST_ERRORS = f"""{COUNTS}, days as (
    select distinct t.target_on
    from score_totals t join asked on t.target_on > asked.last_out
    where t.is_live = :live
), worst as (
    select of_day.* from days cross join lateral (
        select s.* from scores s join depots d using (depot_id)
        where s.is_live = :live and s.target_on = days.target_on
          and (s.origin_on, d.city, s.model_version) in (select * from counts)
          and not exists (
              select from scores l
              where l.depot_id = s.depot_id and l.origin_on > s.origin_on
                and l.origin_on < s.target_on and l.target_on = s.target_on
                and l.is_live = :live
                and (l.origin_on, d.city, l.model_version) in (select * from counts))
        order by abs(s.p50 - s.actual) desc limit :row_limit
    ) of_day
    order by abs(p50 - actual) desc, target_on desc, depot_id
    limit :row_limit
), called as ({DEPOT_NAMES})
select w.depot_id, c.name, d.city, w.target_on, w.actual, w.p10, w.p50, w.p90, f.basis,
       {SPECIAL_OF.format(day="w.target_on")}
from worst w
join depots d using (depot_id)
join called c using (depot_id)
left join forecasts f using (depot_id, origin_on, target_on, model_version)
order by abs(w.p50 - w.actual) desc, w.target_on desc, w.depot_id
"""  # noqa: S608 - of our own words

# The last word of planners on each day that is known now, beside what the forecast and
# the seasonal naive said when it was spoken. A lock of the forecast's own number is none.
OVERRIDE_ACCURACY = """
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
limit :row_limit
"""
