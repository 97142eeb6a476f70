"""Queries of forecast scores."""

from dataclasses import dataclass
from datetime import date

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from pipelines.schema.fragments import DEPOT_NAMES, SAME_SIDE_OF, SPECIAL_OF
from pipelines.schema.published_scores import (
    PUBLISHED_BY_CITY,
    PUBLISHED_BY_DEPOT,
    PUBLISHED_FORECASTS,
    SCORE_MEASURES,
)

SCORED_DAYS = 56
"""Days in the default period of scores."""
MAX_DAYS = 15


@dataclass(frozen=True)
class ScoreFilter:
    """The filter of the scores that are shown.

    Attributes:
      live: Whether scores are of live forecasts; else of hindcasts.
      city: Name of the only city; '' for all.
      depot: depot_id of the only depot; '' for all.
      days_back: Number of days, up to `day_on` or the newest scored day.
      day_on: The single day of `accuracy` and `largest_errors`, with days_back 1; None for the
        newest.
    """

    live: bool
    city: str = ""
    depot: str = ""
    days_back: int = SCORED_DAYS
    day_on: date | None = None


# An index yields the first and the last day.
SCORED = """
select kind.is_live, first_on, last_on
from (values (true), (false)) as kind (is_live)
cross join lateral (
    select min(target_on) as first_on, max(target_on) as last_on
    from score_totals s where s.is_live = kind.is_live
) days
where last_on is not null
"""


@st.cache_data(max_entries=4, show_spinner=False)
def scored_days(freshness: Freshness) -> dict[bool, tuple[date, date]]:
    """First and last day with scores of live forecasts (True) and of hindcasts, if there are any."""
    rows = read(SCORED).to_dict("records")
    return {row["is_live"]: (row["first_on"], row["last_on"]) for row in rows}


PUBLISHED = f"""
with period as (
    select last_on - cast(:days_back as integer) + 1 as first_on, last_on
    from (select coalesce(cast(:day_on as date), max(target_on)) as last_on
          from score_totals where is_live = :live) newest
), published as ({PUBLISHED_FORECASTS})
"""

PUBLISHED_OF_DEPOT = f"""
    select m.* from (
        {SCORE_MEASURES}
        where s.depot_id = :depot and s.is_live = :live
          and s.target_on >= (select first_on from period)
    ) m join published using (origin_on, city, model_version)
"""


def _accuracy(measures: str) -> str:
    """SQL for the scores at every grain.

    The forecast and both naive forecasts are scored over the rows that all three cover.
    """
    return f"""{PUBLISHED}, published_scores as (
    select t.*, t.target_on - t.origin_on as horizon,
           date_trunc('week', t.target_on)::date as week_on, f.*
    from (select * from ({measures}) every where (:city = '' or city = :city)) t
    join period on t.target_on <= last_on
    cross join lateral (
        values ('forecast', ape_sum, abs_error_sum, error_sum, true),
               ('seasonal naive', naive_ape_sum, naive_abs_error_sum, naive_error_sum,
                false),
               ('median of 4', median_ape_sum, median_abs_error_sum, median_error_sum,
                false)
    ) as f (forecaster, forecaster_ape_sum, forecaster_abs_error_sum,
            forecaster_error_sum, is_own)
)
select case grouping(target_on, city, model_version, horizon, week_on)
            when 15 then 'day' when 23 then 'city' when 27 then 'model'
            when 29 then 'horizon' when 30 then 'week' else 'all' end as grain,
       coalesce(target_on, week_on) as day_on, city, model_version, horizon, forecaster,
       sum(forecaster_ape_sum) filter (where has_naive)
         / nullif(sum(n) filter (where has_naive and is_nonzero), 0)::float8
         as mape,
       sum(forecaster_abs_error_sum) filter (where has_naive)
         / nullif(sum(actual_sum) filter (where has_naive), 0) as wape,
       sum(forecaster_error_sum) filter (where has_naive)
         / nullif(sum(actual_sum) filter (where has_naive), 0) as bias,
       sum(n_in_interval) filter (where is_own and has_naive)::float8
         / nullif(sum(n) filter (where has_naive), 0) as coverage,
       coalesce(sum(n) filter (where has_naive and is_nonzero), 0)::bigint
         as counted, count(distinct target_on) filter (where has_naive) as n_days
from published_scores
group by grouping sets ((forecaster), (forecaster, target_on), (forecaster, city),
                        (forecaster, model_version), (forecaster, horizon),
                        (forecaster, week_on))
order by grain, day_on, city, model_version, horizon, forecaster
"""


ACCURACY = _accuracy(PUBLISHED_BY_CITY)
ACCURACY_OF_DEPOT = _accuracy(PUBLISHED_OF_DEPOT)


@st.cache_data(max_entries=64, show_spinner=False)
def accuracy(scope: ScoreFilter, freshness: Freshness) -> pd.DataFrame:
    """Scores of forecasts and naive forecasts.

    Returns:
      One row per grain ('all', 'day', 'week', 'city', 'model', 'horizon'), value of its column
      (day_on, for a week its Monday; city, model_version, or horizon in days) and forecaster
      ('forecast', 'seasonal naive', 'median of 4'): mape, wape, bias (forecast - actual, as a
      share of volume) and coverage (of the forecast only), NaN where undefined; counted
      (forecasts in the MAPE); n_days (days that were forecast). All are over forecasts that both naive forecasts cover as well.
    """
    return read(
        ACCURACY_OF_DEPOT if scope.depot else ACCURACY,
        numbers=["mape", "wape", "bias", "coverage"],
        days=["day_on"],
        **vars(scope),
    )


def _band_coverage(measures: str) -> str:
    """SQL for the coverage of 80 % bands of depots, cities and the fleet, by kind of day.

    A total is scored only if every depot in it has an actual. A day has one kind for all depots
    of a city; for the fleet, the kind among its cities that comes last in `KINDS_OF_DAYS`.
    """
    return f"""{PUBLISHED}, special as (
    select distinct e.city, day::date as day_on
    from (select coalesce(e.city, d.city) as city, starts_on, ends_on
          from events e left join (select distinct city from depots) d on e.city is null
          where e.depot_id is null and e.kind <> 'closed'
            and e.ends_on >= (select first_on - 1 from period)) e
    cross join generate_series(greatest(e.starts_on, (select first_on - 1 from period))::timestamp,
                               least(e.ends_on, (select last_on + 1 from period)),
                               interval '1 day') as day
    union
    select d.city, h.day_on
    from (select distinct city, country, subdivision from depots) d
    join public_holidays h
      on h.country = d.country and h.subdivision in ('', coalesce(d.subdivision, ''))
    where h.day_on >= (select first_on - 1 from period)
), of_day as (
    select origin_on, target_on, city, model_version, sum(n) as n,
           sum(n_in_interval) as inside, sum(actual_sum) as actual
    from ({measures}) every where (:city = '' or city = :city)
    group by origin_on, target_on, city, model_version
), kinds as (
    select o.*, case
               when exists (select from special s
                            where (s.city, s.day_on) = (o.city, o.target_on)) then 2
               when exists (select from special s where s.city = o.city
                            and s.day_on in (o.target_on - 1, o.target_on + 1)) then 1
               else 0 end as kind
    from of_day o
), fleet as (
    select origin_on, target_on, model_version, sum(n) as n, sum(actual) as actual,
           max(kind) as kind
    from kinds where :city = '' group by origin_on, target_on, model_version
), covered as (
    select 'depots' as level, kind, inside, n from kinds
    union all
    select 'cities', kind, (k.actual between t.p10 and t.p90)::int, 1
    from kinds k join forecast_totals t using (city, origin_on, target_on, model_version)
    where k.n = t.depots and :depot = ''
    union all
    select 'fleet', kind, (f.actual between t.p10 and t.p90)::int, 1
    from fleet f join forecast_totals t using (origin_on, target_on, model_version)
    where t.city = '' and f.n = t.depots and :depot = ''
)
select level, kind, sum(inside)::float8 / sum(n)::float8 as coverage, sum(n)::bigint as counted
from covered group by level, kind order by level, kind
"""


BAND_COVERAGE = _band_coverage(PUBLISHED_BY_CITY)
BAND_COVERAGE_OF_DEPOT = _band_coverage(PUBLISHED_OF_DEPOT)
KINDS_OF_DAYS = (
    "ordinary days",
    "days next to a holiday or event",
    "holidays and events",
)


@st.cache_data(max_entries=16, show_spinner=False)
def band_coverage(scope: ScoreFilter, freshness: Freshness) -> pd.DataFrame:
    """Share of actuals within their 80 % bands, by kind of day.

    Returns:
      level ('depots', 'cities', 'fleet'), kind (one of `KINDS_OF_DAYS`), coverage (fraction),
      counted (number of bands: one per depot, city or fleet, per origin and day).
    """
    rows = read(
        BAND_COVERAGE_OF_DEPOT if scope.depot else BAND_COVERAGE,
        numbers=["coverage"],
        **vars(scope),
    )
    return rows.assign(kind=[KINDS_OF_DAYS[kind] for kind in rows["kind"]])


DEPOT_ACCURACY = f"""{PUBLISHED}, names as ({DEPOT_NAMES}), summed as (
    select depot_id, sum(ape_sum) as ape_sum, sum(naive_ape_sum) as naive_ape_sum,
           sum(error_sum) / nullif(sum(actual_sum), 0) as bias,
           sum(n_in_interval)::float8 / sum(n) as coverage,
           sum(n) filter (where is_nonzero)::bigint as counted
    from ({PUBLISHED_BY_DEPOT}) published_scores
    where has_naive
    group by depot_id
)
select depot_id, name, city, ape_sum / counted as mape, naive_ape_sum / counted as naive_mape,
       bias, coverage, counted
from summed join names using (depot_id)
where counted > 0 and (:city = '' or city = :city)
order by mape desc, name, depot_id
"""


@st.cache_data(max_entries=16, show_spinner=False)
def depot_accuracy(scope: ScoreFilter, freshness: Freshness) -> pd.DataFrame:
    """Scores of every depot, furthest off first; the depot of `scope` is ignored.

    Returns:
      depot_id, name, city, mape, naive_mape, bias, coverage (fractions), counted (as in
      `accuracy`).
    """
    return read(
        DEPOT_ACCURACY,
        numbers=["mape", "naive_mape", "bias", "coverage"],
        **vars(scope),
    )


# The latest forecast of each depot-day, with the day's last override. Large errors are listed
# whether or not the day had an event. An index yields the largest errors of each day.
LARGEST_ERRORS = f"""{PUBLISHED}, days as (
    select distinct target_on from score_totals
    where is_live = :live and target_on between (select first_on from period)
                                            and (select last_on from period)
), worst as (
    select of_day.* from days cross join lateral (
        select s.* from scores s join depots d using (depot_id)
        where s.is_live = :live and s.target_on = days.target_on
          and (s.origin_on, d.city, s.model_version) in (select * from published)
          and (:city = '' or d.city = :city) and (:depot = '' or s.depot_id = :depot)
          and not exists (
              select from scores later
              where later.depot_id = s.depot_id and later.origin_on > s.origin_on
                and later.origin_on < s.target_on and later.target_on = s.target_on
                and later.is_live = :live
                and (later.origin_on, d.city, later.model_version)
                    in (select * from published))
        order by abs(s.point - s.actual) desc limit cast(:row_limit as integer)
    ) of_day
    order by abs(point - actual) desc, target_on desc, depot_id
    limit cast(:row_limit as integer)
), names as ({DEPOT_NAMES})
select w.depot_id, names.name, d.city, w.target_on, w.actual, w.p10, w.point, w.p90,
       f.basis, o.orders as override_orders, o.reason as override_reason, o.made_by,
       {SAME_SIDE_OF.format(score="w")},
       {SPECIAL_OF.format(day="w.target_on")}
from worst w
join depots d using (depot_id)
join names using (depot_id)
left join forecasts f using (depot_id, origin_on, target_on, model_version)
left join lateral (
    select orders, reason, made_by from overrides
    where depot_id = w.depot_id and target_on = w.target_on
    order by override_id desc limit 1
) o on o.orders is not null
order by abs(w.point - w.actual) desc, w.target_on desc, w.depot_id
"""


@st.cache_data(max_entries=64, show_spinner=False)
def largest_errors(scope: ScoreFilter, freshness: Freshness) -> pd.DataFrame:
    """The 15 depot-days with the largest absolute errors, largest first; for one day, all depots.

    Returns:
      depot_id, name, city, target_on, actual, p10, point, p90 (of the day's last forecast),
      basis, events and holidays (lists, as in `depot_days`); of the day's last override, missing
      without one: override_orders (the planner's number), override_reason and made_by;
      same_side (how many of the 7 days before had a one-day-ahead error in the same direction).
    """
    return read(
        LARGEST_ERRORS,
        numbers=["actual", "p10", "point", "p90", "override_orders"],
        days=["target_on"],
        row_limit=None if scope.days_back == 1 else MAX_DAYS,
        **vars(scope),
    )


# The last override of each scored depot-day, with the forecast it replaced and the seasonal naive
# of the same origin. Overrides equal to the forecast are left out.
OVERRIDE_ACCURACY = f"""{PUBLISHED}, final as (
    select distinct on (depot_id, target_on) * from overrides
    order by depot_id, target_on, override_id desc
), known as (
    select o.orders, o.point, s.actual
    from final o
    join (select s.*, d.city from scores s join depots d using (depot_id)) s
      on (s.depot_id, s.origin_on, s.target_on, s.model_version)
       = (o.depot_id, o.origin_on, o.target_on, o.model_version)
    where o.orders is not null and o.orders <> o.point
      and s.actual > 0 and s.seasonal_naive is not null and s.is_live = :live
      and s.target_on >= (select first_on from period)
      and (:depot = '' or s.depot_id = :depot) and (:city = '' or s.city = :city)
)
select count(*) as counted, avg(abs(point - actual) / actual) as forecast_mape,
       avg(abs(orders - actual) / actual) as override_mape
from known having count(*) > 0
"""


@st.cache_data(max_entries=64, show_spinner=False)
def override_accuracy(scope: ScoreFilter, freshness: Freshness) -> pd.DataFrame:
    """MAPE of overrides and of the forecast on overridden days that the seasonal naive covers.

    Returns:
      One row with counted (depot-days), forecast_mape and override_mape (fractions); none before
      the first.
    """
    return read(
        OVERRIDE_ACCURACY, numbers=["forecast_mape", "override_mape"], **vars(scope)
    )
