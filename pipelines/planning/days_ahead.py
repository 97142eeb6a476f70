"""Queries for the plan: published forecast, depots, cities, events, settings and decisions."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import pandas as pd
import sqlalchemy as sa

from pipelines.planning.tables import select
from pipelines.schema.closures import is_closed
from pipelines.schema.depot_freshness import DEPOT_FRESHNESS
from pipelines.schema.fragments import (
    CLOSURES,
    DAYS,
    DEPOT_NAMES,
    IS_FOR_DEPOT,
    PUBLISHED_BEFORE,
)
from pipelines.schema.planned_orders import PLANNED_PARTS

FORTNIGHT = timedelta(days=14)
FLEET_DAYS = 21
BUSY_DAY_WINDOW = timedelta(weeks=8)
"""Period from which a busy day's orders are estimated."""


@dataclass(frozen=True)
class Shown:
    """The published forecast, and the day up to which demand is known.

    Attributes:
      origin: Its origin.
      until: Its last day.
      model: Version of the model that made it.
      last_on: Newest day with known demand of any depot.
      now: Current time; a day that is over by then in its depot's zone is not a day ahead.
    """

    origin: date
    until: date
    model: str
    last_on: date
    now: datetime


MIN_REVISION = 0.5
"""Orders per day by which a forecast must differ from the previous one to count as changed."""


def week_before(depot: str, counts: str) -> str:
    """SQL for the orders a week before the forecast `f`; null if unknown, 0 if closed without orders.

    Args:
      depot: Alias of a row of `depots`.
      counts: Alias of the depot's row of `demand_versions` a week before.
    """
    # Before its first orders, a depot has not been closed: it had not begun.
    has_begun = (
        f"exists (select from demand_versions e where e.depot_id = {depot}.depot_id "
        "and e.service_on < f.target_on - 7 and e.superseded_at is null and e.orders > 0)"
    )
    closed = f"{is_closed('(f.target_on - 7)', depot)} and {has_begun}"
    return f"coalesce({counts}.orders, case when {closed} then 0 end)"


TODAY = "(cast(:now as timestamptz) at time zone d.timezone)::date"
"""SQL for the running day at a depot `d`."""


def is_ahead(today: str) -> str:
    """SQL that is true if the day of the forecast `f` is not over, or the whole forecast is over.

    A forecast that is over keeps all its days, so that loaded history can be looked at.
    """
    return f"(f.target_on >= {today} or {today} > :until)"


FLEET_WEEK = f"""
with closures as ({CLOSURES}), before as ({PUBLISHED_BEFORE.format(day=":origin")}), names as ({DEPOT_NAMES}), active as (
    select d.*, names.name as display_name, fresh.last_on, fresh.is_late, fresh.is_silent,
           {TODAY} as today
    from depots d join names using (depot_id)
    join ({DEPOT_FRESHNESS}) fresh using (depot_id)
    where d.closed_on is null or d.closed_on > :origin
), previous as (
    select depot_id, target_on, point
    from forecasts join before using (origin_on, model_version)
    where target_on > :origin and made_at <= published_at
), week as (
    select a.depot_id, a.display_name as name, a.city, a.vans, a.last_on, a.is_late, a.is_silent,
           f.origin_on, f.target_on, f.p10, f.p50, f.p90, f.point, f.basis, f.model_p10, f.model_p50,
           f.model_p90, f.model_point, f.part, f.model_part, f.city_p10, f.city_p90, f.override_id,
           f.is_set, f.override_reason, f.made_by, f.made_at, f.overruled_by,
           {week_before("a", "b")} as week_before, y.orders as year_before,
           previous.point as point_before, (select origin_on from before) as before_on
    from active a
    join ({PLANNED_PARTS}) f
      on f.depot_id = a.depot_id and f.target_on <= :until and {is_ahead("a.today")}
    left join demand_versions b
      on b.depot_id = f.depot_id and b.service_on = f.target_on - 7
     and b.superseded_at is null
    left join demand_versions y
      on y.depot_id = f.depot_id and y.service_on = f.target_on - 364
     and y.superseded_at is null
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


def fleet_week(connection: sa.Connection, shown: Shown) -> pd.DataFrame:
    """The days ahead of every depot, by city and name.

    Days that are over in the depot's zone are left out, unless the whole forecast is over.

    Returns:
      One row per depot and day: depot_id, name, city, vans, last_on (newest known
      demand), is_late (newer demand is overdue), is_silent (open, but no demand for a fortnight),
      origin_on, target_on, point (planned: the planner's number where there is one, else the model's),
      p10, p50, p90 (scaled to a planner's number; vans are planned from these), basis ('model',
      'cold_start', 'closed'), model_p10, model_p50, model_p90, model_point (the model's own), part
      and model_part (the depot's part of the planned total and of the model's total), city_p10 and
      city_p90 (80 % band of the model's total for the city), week_before (orders seven days
      earlier; 0 if closed without orders, NaN if not known or before the depot's first orders),
      year_before (orders 52 weeks earlier, if known), change (of the depot's planned orders
      against week_before, summed over its days; a
      fraction), point_before (the previous forecast of the day, as published), before_on (its
      origin), revised (change of the model's orders against point_before, summed over the days; a
      fraction, 0 below half an order a day); for the day's newest override: override_id (NaN
      without one), is_set (whether its number is planned), override_reason, made_by and made_at
      (None unless is_set),
      overruled_by (author of an override that a closure has replaced, else None).
    """
    return select(
        connection,
        FLEET_WEEK,
        numbers=[
            "vans", "p10", "p50", "p90", "point", "model_p10", "model_p50", "model_p90",
            "model_point", "part", "model_part", "city_p10", "city_p90", "override_id", "week_before",
            "year_before", "change", "point_before", "revised",
        ],
        days=["last_on", "origin_on", "target_on", "before_on"],
        as_of=max(shown.last_on, shown.origin),
        since=min(shown.last_on, shown.origin) - FORTNIGHT,
        origin=shown.origin,
        model=shown.model,
        until=shown.until,
        now=shown.now,
    )  # fmt: skip


def city_bands(week: pd.DataFrame) -> pd.DataFrame:
    """The model's 80 % band of each city's total on each day of `fleet_week`.

    Returns:
      city, target_on, p10, p90.
    """
    bands = week.groupby(["city", "target_on"], as_index=False)
    return bands.agg(p10=("city_p10", "first"), p90=("city_p90", "first"))


# Holidays and events by day and city; closures are in the forecasts.
FLEET_EVENTS = f"""
with days as ({DAYS}), open_depots as (
    select * from depots d where (closed_on is null or closed_on > :origin) and exists (
        select from forecasts f
        where (f.depot_id, f.origin_on, f.model_version) = (d.depot_id, :origin, :model))
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


def fleet_events(
    connection: sa.Connection, shown: Shown, n_days: int = FLEET_DAYS
) -> pd.DataFrame:
    """Holidays and events of the last `n_days` days up to the origin, and of the days ahead.

    Returns:
      day_on, what (name of the holiday or kind of event), is_holiday, city, depots (number of
      the city's depots that have it). Closures are left out.
    """
    return select(
        connection,
        FLEET_EVENTS,
        days=["day_on"],
        since=shown.origin - timedelta(days=n_days - 1),
        until=shown.until,
        origin=shown.origin,
        model=shown.model,
    )


# Known demand of a day with its last live forecast. A depot that was forecast and open has a
# row even without a count; a closed depot only with one.
FORECAST_OF_DAY = f"""
with closures as ({CLOSURES}), names as ({DEPOT_NAMES}), newest_scores as materialized (
    select distinct on (s.depot_id) s.*
    from scores s join live_forecasts using (origin_on, model_version)
    where s.target_on = :day and s.is_live
    order by s.depot_id, s.origin_on desc
), levels as materialized (
    -- The median of its city's total over the sum of the medians of the city's depots.
    select f.depot_id, f.origin_on, f.model_version,
           t.p50 / nullif(sum(f.p50) over (partition by t.city, t.origin_on, t.model_version), 0)
               as level
    from (select distinct origin_on, model_version from newest_scores) made
    join forecasts f using (origin_on, model_version)
    join forecast_totals t using (city, origin_on, target_on, model_version)
    where f.target_on = :day and f.is_live
), last_scores as (
    select s.depot_id, s.p10, s.point, s.p90, coalesce(level, 1) * s.p50 as part
    from newest_scores s left join levels using (depot_id, origin_on, model_version)
), expected as (
    select f.depot_id
    from forecasts f join ({PUBLISHED_BEFORE.format(day=":day")}) using (origin_on, model_version)
    join depots d using (depot_id)
    where f.target_on = :day and not {is_closed("f.target_on", "d")}
), counted as (
    select depot_id, orders from demand_versions
    where service_on = :day and superseded_at is null and orders is not null
)
select depot_id, n.name, n.city, v.orders as actual, s.p10, s.point, s.p90, s.part,
       o.orders as planner_orders, e.depot_id is not null as is_expected
from counted v full join expected e using (depot_id) join names n using (depot_id)
left join last_scores s using (depot_id)
left join (
    select distinct on (depot_id) depot_id, orders from overrides
    where target_on = :day order by depot_id, override_id desc
) o using (depot_id)
order by abs(s.point - v.orders) desc nulls last, depot_id
"""


def last_day(connection: sa.Connection, shown: Shown) -> pd.DataFrame:
    """Actuals of the newest known day with their last live forecast, largest error first.

    Returns:
      depot_id, name, city, actual (orders; NaN where not known yet), p10, point, p90
      (orders; NaN where the depot had no live forecast), part (its part of the total forecast),
      planner_orders (of the day's last override; NaN without one), is_expected (whether the
      depot was forecast and open).
    """
    return select(
        connection,
        FORECAST_OF_DAY,
        numbers=["actual", "p10", "point", "p90", "part", "planner_orders"],
        day=shown.last_on,
        since=shown.last_on,
    )


# Hourly shares of a city's orders: its depots' shares, weighted by the model's medians.
CITY_SHARES = """
select d.city, s.target_on, hours.number - 1 as hour,
       sum(f.p50 * hours.share) / nullif(sum(f.p50), 0) as share,
       max(s.city_concentration) as concentration
from hour_shares s join depots d using (depot_id)
join forecasts f on f.depot_id = s.depot_id and f.target_on = s.target_on
 and f.origin_on = :origin and f.model_version = :model
cross join unnest(s.share) with ordinality as hours (share, number)
where s.origin_on = :origin
group by d.city, s.target_on, hours.number
order by d.city, s.target_on, hours.number
"""


def city_shares(connection: sa.Connection, shown: Shown) -> pd.DataFrame:
    """Share of each hour in the orders of each city's days ahead.

    Returns:
      24 rows for each city and day, none where orders have no times: city, target_on, hour,
      share (NaN on a closed day), concentration (`DayShares.city_concentration`).
    """
    return select(
        connection,
        CITY_SHARES,
        numbers=["share"],
        days=["target_on"],
        origin=shown.origin,
        model=shown.model,
    )


CITY_SETTINGS = """
select distinct on (city) settings_id, city, vans, orders_per_van, service_level,
       drivers_per_van, shifts, made_by, made_at
from city_settings
order by city, settings_id desc
"""


def city_settings(connection: sa.Connection, _: Shown) -> pd.DataFrame:
    """The newest saved settings of each city that has any.

    Returns:
      settings_id, city, vans and orders_per_van (NaN where they stay estimated),
      service_level (fraction), drivers_per_van,
      shifts, made_by, made_at.
    """
    return select(connection, CITY_SETTINGS)


# After an undo, the previous decision is in force again, with its author and time.
VAN_DECISIONS = """
select distinct on (v.city, v.target_on)
       max(v.decision_id) over (partition by v.city, v.target_on) as decision_id,
       v.city, v.target_on, coalesce(v.kind, '') as kind, v.extra, v.off_road,
       v.note, v.made_by, v.made_at
from van_decisions v left join van_decisions later on later.undoes = v.decision_id
where v.target_on > :origin
order by v.city, v.target_on, coalesce(v.undoes, later.undoes) is null desc,
         v.decision_id desc
"""


def van_decisions(connection: sa.Connection, shown: Shown) -> pd.DataFrame:
    """The van decision in force for each city and day ahead that has ever had one.

    Returns:
      decision_id (of the day's newest row, which may be an undo), city, target_on, kind ('' if
      none, or taken back), extra, off_road, note, made_by, made_at.
    """
    return select(connection, VAN_DECISIONS, origin=shown.origin)


# Orders of a city on a busy day: nine days out of ten had no more.
BUSY_DAY_ORDERS = """
with days as (
    select d.city, v.service_on, sum(v.orders)::float8 as orders
    from demand_versions v join depots d using (depot_id)
    where v.superseded_at is null and v.orders is not null
      and v.service_on between :since and :until
      and (d.closed_on is null or d.closed_on > :origin)
    group by d.city, v.service_on
)
select city, percentile_cont(0.9) within group (order by orders) as orders
from days group by city order by city
"""


def busy_day_orders(connection: sa.Connection, shown: Shown) -> pd.DataFrame:
    """Orders of each city on a busy day: the 90th percentile of the last eight weeks' days.

    Returns:
      city, orders (per day).
    """
    return select(
        connection,
        BUSY_DAY_ORDERS,
        numbers=["orders"],
        since=max(shown.last_on, shown.origin) - BUSY_DAY_WINDOW + timedelta(days=1),
        until=max(shown.last_on, shown.origin),
        origin=shown.origin,
    )
