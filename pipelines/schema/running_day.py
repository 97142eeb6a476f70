"""SQL for the day that is running at each depot, for the command line and the pages."""

from pipelines.schema.planned_orders import PLANNED_PARTS

# A source counts as heard until the time of its newest order of the day. A depot is left out if
# its source has no order of the day yet, or if the depot itself had no order for a week. Where no
# two depots of a source had a day's newest file in common in that week, each depot has files of its
# own, which tell nothing of others.
RUNNING_DAY = f"""
with clocks as (
    select d.*, (cast(:now as timestamptz) at time zone d.timezone) as local_now from depots d
), week as (
    select c.depot_id, c.service_on, c.last_file_id, f.source
    from order_counts c join files f on f.file_id = c.last_file_id
    where c.service_on >= cast(:now as timestamptz)::date - 8
), seen as (
    select distinct on (depot_id) depot_id, source from week order by depot_id, service_on desc
), shared as (
    select source from week group by source
    having count(*) > count(distinct (service_on, last_file_id))
), running as (
    select k.*, source, case when shared.source is null then k.depot_id else '' end as feed,
           k.local_now::date as target_on, c.by_hour, c.last_time
    from clocks k join seen using (depot_id) left join shared using (source)
    left join order_counts c
      on c.depot_id = k.depot_id and c.service_on = k.local_now::date
), heard as (
    select timezone, source, feed,
           extract(epoch from least(max(last_time), max(local_now::time)))::float8 / 3600
               as until_hour
    from running where by_hour is not null group by timezone, source, feed
)
select r.depot_id, r.name, r.city, r.target_on, h.until_hour,
       coalesce(r.by_hour, array_fill(0, array[24])) as by_hour, s.share,
       s.concentration, s.city_concentration, f.part, f.model_part, f.point, f.p10, f.p50, f.p90,
       f.city_p10, f.city_p50, f.city_p90, f.fleet_p10, f.fleet_p50, f.fleet_p90
from running r join heard h using (timezone, source, feed)
join hour_shares s on s.depot_id = r.depot_id and s.target_on = r.target_on
join ({PLANNED_PARTS}) f on f.depot_id = r.depot_id and f.target_on = r.target_on
order by r.city, r.depot_id
"""
"""Depots whose source has delivered orders of the running day, with the forecast of `:origin` by
`:model` and the bands of its totals: see `forecaster.hours.today`."""
