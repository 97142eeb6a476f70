"""SQL for the planned orders of depot-days and of totals.

A depot-day is planned with the planner's number if there is one, else with the point; a total
with its median, in which planners' numbers replace the model's.
"""

# A closure overrules an override that was made before the day was closed. The planner and the
# reason of an override are returned only while its number applies; `overruled_by` is the
# planner of an overruled override.
PLANNED_FORECASTS = """
    select f.depot_id, f.origin_on, f.target_on, f.model_version, f.city, f.basis,
           case when coalesce(o.number, f.point) = f.point then f.p10
                when f.p50 > 0 then f.p10 * o.number / f.p50 else o.number end as p10,
           case when coalesce(o.number, f.point) = f.point then f.p50
                else o.number end as p50,
           case when coalesce(o.number, f.point) = f.point then f.p90
                when f.p50 > 0 then f.p90 * o.number / f.p50 else o.number end as p90,
           coalesce(o.number, f.point) as point,
           f.p10 as model_p10, f.p50 as model_p50, f.p90 as model_p90,
           f.point as model_point, o.override_id,
           o.number is not null as is_set,
           case when o.number is not null then o.reason end as override_reason,
           case when o.number is not null then o.made_by end as made_by,
           case when o.number is not null then o.made_at end as made_at,
           case when o.number is null and o.orders is not null then o.made_by end
               as overruled_by
    from forecasts f
    join depots d on d.depot_id = f.depot_id and (
        d.closed_on is null or d.closed_on > f.origin_on or not exists (
            select from forecasts own
            where (own.depot_id, own.origin_on, own.model_version)
                  = (f.depot_id, f.origin_on, f.model_version) and own.basis <> 'closed'))
    left join lateral (
        select override_id, orders, reason, made_by, made_at,
               case when f.basis = 'closed' and point > 0 then null else orders end as number
        from overrides
        where depot_id = f.depot_id and target_on = f.target_on
        order by override_id desc limit 1
    ) o on true
    where f.origin_on = :origin and f.model_version = :model
"""
"""Forecasts of `:origin` by `:model`, except forecasts of an open depot that, as known now, had
closed for good by the origin. `point` is the planned number, which is shown. Vans are
planned from p10, p50 and p90: a planner's number becomes the median and scales the interval.
model_p10, model_p50, model_p90 and model_point are the model's numbers; the other columns are of
the day's newest override."""

PLANNED_PARTS = f"""
    select planned.*, model_part,
           case when planned.point = model_point then model_part else planned.point end as part,
           sum(model_part) over (partition by planned.target_on) as fleet_p50
    from (
        select planned.*,
               case when is_whole then t.p10 else sum_p10 end as city_p10,
               case when is_whole then t.p50 else sum_p50 end as city_p50,
               case when is_whole then t.p90 else sum_p90 end as city_p90,
               case when all_open = w.depots then w.p10 else all_p10 end as fleet_p10,
               case when all_open = w.depots then w.p90 else all_p90 end as fleet_p90
        from (
            select planned.*, d.city as city_now,
                   count(*) filter (where basis <> 'closed') over of_city as n_open,
                   bool_and(planned.city = d.city or basis = 'closed') over of_city
                       as has_none_new,
                   sum(model_p10) over of_city as sum_p10,
                   sum(model_p50) over of_city as sum_p50,
                   sum(model_p90) over of_city as sum_p90,
                   count(*) filter (where basis <> 'closed') over of_all as all_open,
                   sum(model_p10) over of_all as all_p10,
                   sum(model_p90) over of_all as all_p90
            from ({PLANNED_FORECASTS}) planned join depots d using (depot_id)
            window of_city as (partition by planned.target_on, d.city),
                   of_all as (partition by planned.target_on)
        ) planned
        left join forecast_totals t
          on (t.city, t.origin_on, t.target_on, t.model_version)
           = (city_now, planned.origin_on, planned.target_on, planned.model_version)
        left join forecast_totals w
          on (w.city, w.origin_on, w.target_on, w.model_version)
           = ('', planned.origin_on, planned.target_on, planned.model_version)
        cross join lateral (select t.depots = n_open and has_none_new as is_whole) whole
    ) planned
    cross join lateral (
        select coalesce(city_p50 / nullif(sum_p50, 0), 1) * model_p50 as model_part
    ) model
"""
"""`PLANNED_FORECASTS` with `part`, the depot's part of the planned total; `model_part`, its part of
the model's total; and the quantiles of the model's totals of its city and of the fleet: city_p10,
city_p50, city_p90, fleet_p10, fleet_p50, fleet_p90. Model parts add up to city_p50, and over all
cities to fleet_p50; a planner's number is added unscaled. Once a depot has left, joined or closed in a city, the city's quantiles
are sums over its depots until the next forecast; so are the fleet's, once a depot has closed.

Windows, not joins with sums: Postgres' statistics lack a new origin, so it would expect one row on
each side of such a join and take hours at 10,000 depots."""
