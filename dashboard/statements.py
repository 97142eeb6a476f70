"""The text of every SELECT the dashboard makes; `queries` says what each returns."""

# `shown` is the newest origin's forecast: the champion's, or the newest made there.
FRESHNESS = """
select (select count(*) from depots) as depots,
       (select max(service_on) from demand_versions
        where superseded_at is null and orders is not null) as last_on,
       champion.version as champion,
       shown.origin_on, shown.model_version, shown.made_at, model.trained_through,
       (select max(finished_at) from runs) as worked_at
from (select 1) as always
left join models champion on champion.role = 'champion'
left join lateral (
    select origin_on, model_version, made_at from forecasts
    where origin_on = (select max(origin_on) from forecasts)
    order by model_version is not distinct from champion.version desc, made_at desc
    limit 1
) shown on true
left join models model on model.version = shown.model_version
"""

DEPOTS = """
select depot_id, name, city, vans, is_complete,
       name || ' · ' || city || case when name = depot_id then ''
                                     else ' · ' || depot_id end as label
from depots
order by city, name, depot_id
"""

# A total is whole when every city that ever reports in these days reported that day.
DAILY_TOTALS = """
with scope as (
    select depot_id, city from depots where :city = '' or city = :city
), actual as (
    select service_on as day_on, sum(orders)::float8 as actual,
           count(distinct city) filter (where orders is not null) as cities
    from demand_versions join scope using (depot_id)
    where superseded_at is null and service_on between :first and :origin
    group by service_on
), ahead as (
    select target_on as day_on, sum(p50) as p50
    from forecasts join scope using (depot_id)
    where origin_on = :origin and model_version = :model and target_on <= :until
    group by target_on
)
select day_on, actual, p50,
       coalesce(cities = max(cities) over (), true) as is_whole
from actual full join ahead using (day_on)
order by day_on
"""

# A depot is late when it has no count for the last day on which it was open and its
# fleet has counts. One that has not been open for two weeks cannot be late.
FLEET_WEEK = """
with place as (
    select d.depot_id, d.name, d.city, d.vans, seen.last_on,
           due.due_on is not null
           and coalesce(seen.last_on < due.due_on, true) as is_late
    from depots d
    left join lateral (
        select max(service_on) as last_on from demand_versions v
        where v.depot_id = d.depot_id and superseded_at is null and orders is not null
    ) seen on true
    left join lateral (
        select max(day_on) as due_on
        from (select cast(:last_on as date) - n as day_on
              from generate_series(0, 13) as n) recent
        where extract(isodow from day_on) <> all (d.closed_weekdays)
          and day_on >= coalesce(d.opened_on, day_on)
          and not exists (
              select from events e
              where e.kind = 'closed' and day_on between e.starts_on and e.ends_on
                and (e.depot_id = d.depot_id or e.city = d.city
                     or (e.depot_id is null and e.city is null)))
    ) due on true
    where d.closed_on is null or d.closed_on > :origin
), week as (
    select p.*, f.target_on, f.p10, f.p50, f.p90, f.basis,
           case when f.basis <> 'closed' then b.orders end as week_before
    from place p
    join forecasts f on f.depot_id = p.depot_id and f.origin_on = :origin
     and f.model_version = :model and f.target_on <= :until
    left join demand_versions b
      on b.depot_id = f.depot_id and b.service_on = f.target_on - 7
     and b.superseded_at is null
), measured as (
    select *, sum(p50) filter (where week_before is not null) over depot
              / nullif(sum(week_before) over depot, 0) - 1 as change
    from week window depot as (partition by depot_id)
)
select depot_id, name, city, vans, last_on, is_late, target_on, p10, p50, p90, basis,
       week_before, change
from measured
order by city, is_late desc, abs(change) desc nulls last, name, depot_id, target_on
"""

# What is special about a day at a depot, as one row per day and thing.
SPECIAL_DAYS = """
    select e.kind as what, e.starts_on, e.ends_on,
           case when e.depot_id is not null then 'this depot'
                when e.city is not null then 'all of ' || e.city
                else 'everywhere' end as scope
    from events e, here
    where e.depot_id = here.depot_id or e.city = here.city
       or (e.depot_id is null and e.city is null)
    union all
    select distinct h.name, h.day_on, h.day_on, 'public holiday'
    from public_holidays h, here
    where h.country = here.country
      and h.subdivision in ('', coalesce(here.subdivision, ''))
"""

DEPOT_DAYS = f"""
with here as (
    select * from depots where depot_id = :depot
), special as ({SPECIAL_DAYS}), days as (
    select cast(:first as date) + n as day_on
    from generate_series(0, cast(:until as date) - cast(:first as date)) as n
)
select g.day_on, v.orders as actual, f.p10, f.p50, f.p90, f.basis,
       extract(isodow from g.day_on) = any (here.closed_weekdays)
         or coalesce(here.closed_on <= g.day_on, false)
         or coalesce(here.opened_on > g.day_on, false) as is_closed,
       (select string_agg(distinct what, ', ' order by what) from special s
        where g.day_on between s.starts_on and s.ends_on) as note
from days g cross join here
left join demand_versions v
  on v.depot_id = :depot and v.service_on = g.day_on and v.superseded_at is null
left join forecasts f
  on f.depot_id = :depot and f.target_on = g.day_on and f.origin_on = :origin
 and f.model_version = :model
order by g.day_on
"""

EVENTS_AHEAD = f"""
with here as (
    select * from depots where depot_id = :depot
), special as ({SPECIAL_DAYS})
select what, starts_on, ends_on, scope from special
where ends_on >= :first and starts_on <= :until
order by starts_on, what, scope
"""

# For each day the last thing said before it; live where there is any live, else hindcast.
PAST_FORECASTS = """
with kind as (
    select coalesce(bool_or(is_live), false) as is_live from scores
    where depot_id = :depot
), said as (
    select distinct on (s.target_on)
           s.target_on, s.origin_on, s.actual, s.p10, s.p50, s.p90, s.is_live,
           s.model_version
    from scores s
    join forecasts f using (depot_id, origin_on, target_on, model_version)
    join kind on kind.is_live = s.is_live
    where s.depot_id = :depot
    order by s.target_on desc, s.origin_on desc, f.made_at desc
    limit :days_back
)
select * from said order by target_on
"""

SCORE_KINDS = """
select is_live, count(distinct target_on) as days, max(target_on) as last_on
from scores group by is_live order by is_live desc
"""

# Two models may have forecast from one origin; the one made later was the one shown.
ACCURACY = """
with asked as (
    select max(target_on) as last_on from scores where is_live = :live
), made as (
    select distinct f.origin_on, f.model_version, f.made_at
    from forecasts f, asked
    where f.is_live = :live and f.target_on > asked.last_on - cast(:days_back as integer)
), shown as (
    select distinct on (origin_on) origin_on, model_version from made
    order by origin_on, made_at desc
), said as (
    select s.target_on, d.city, s.model_version, s.actual,
           s.actual between s.p10 and s.p90 as is_inside, f.forecaster, f.forecast
    from scores s
    join shown using (origin_on, model_version)
    join depots d using (depot_id)
    join asked on s.target_on > asked.last_on - cast(:days_back as integer)
    cross join lateral (values ('forecast', s.p50),
                               ('seasonal naive', s.seasonal_naive),
                               ('median of 4', s.median4)) as f (forecaster, forecast)
    where s.is_live = :live and f.forecast is not null
)
select case grouping(target_on, city, model_version)
            when 3 then 'day' when 5 then 'city' when 6 then 'model' else 'all' end
         as grain,
       target_on as day_on, city, model_version, forecaster,
       avg(abs(forecast - actual) / actual) filter (where actual > 0) as mape,
       sum(abs(forecast - actual)) / nullif(sum(actual), 0) as wape,
       sum(forecast - actual) / nullif(sum(actual), 0) as bias,
       avg(cast(is_inside as integer)) filter (where forecaster = 'forecast')
         as coverage,
       count(*) filter (where actual > 0) as counted
from said
group by grouping sets ((forecaster), (forecaster, target_on), (forecaster, city),
                        (forecaster, model_version))
order by grain, target_on, city, model_version, forecaster
"""

MODEL_FILE = "select filename, sha256 from models where version = :version"

CITY_DEPOTS = """
select c.depot_id, c.city, c.country, c.subdivision, c.opened_on, c.closed_on,
       c.closed_weekdays
from depots c join depots d on d.city = c.city
where d.depot_id = :depot order by c.depot_id
"""

CITY_DEMAND = """
select v.depot_id, v.service_on, v.orders
from demand_versions v
join depots c using (depot_id) join depots d on d.city = c.city
where d.depot_id = :depot and v.superseded_at is null
  and v.service_on between :first and :through
"""

ALL_EVENTS = """
select kind, starts_on, ends_on, city, depot_id, value, known_from from events
order by event_id
"""

CITY_HOLIDAYS = """
select h.country, h.subdivision, h.day_on, h.name
from public_holidays h join depots d on d.country = h.country
where d.depot_id = :depot
"""
