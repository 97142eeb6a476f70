"""Queries of live accuracy, by day and by segment. Hindcasts are excluded."""

from dataclasses import dataclass
from datetime import date
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from pipelines.schema.published_scores import (
    PUBLISHED_BY_CITY,
    PUBLISHED_BY_DEPOT,
    PUBLISHED_FORECASTS,
)

PUBLISHED = f"""
with period as (
    select min(target_on) as first_on from (
        select distinct target_on from score_totals
        where is_live = :live and target_on is not null
        order by target_on desc limit :days
    ) newest
), published as ({PUBLISHED_FORECASTS})"""
BY_CITY = f"{PUBLISHED}, published_scores as ({PUBLISHED_BY_CITY})"
BY_DEPOT = f"{PUBLISHED}, published_scores as ({PUBLISHED_BY_DEPOT})"

BY_SEGMENT = """
{totals}
select {segment} as segment,
       sum(n)::bigint as n, sum(n_in_interval)::bigint as n_in_interval,
       coalesce(sum(n) filter (where has_baselines and is_nonzero), 0)::bigint
         as n_comparable,
       coalesce(sum(ape_sum) filter (where has_baselines), 0) as ape_sum,
       sum(naive_ape_sum) as naive_ape_sum, sum(median_ape_sum) as median_ape_sum,
       sum(actual_sum) as actual_sum, sum(error_sum) as error_sum,
       sum(abs_error_sum) as abs_error_sum
from published_scores
group by segment
order by segment
"""
SEGMENTS = {
    "depot": BY_SEGMENT.format(totals=BY_DEPOT, segment="depot_id"),
    "city": BY_SEGMENT.format(totals=BY_CITY, segment="city"),
    "horizon": BY_SEGMENT.format(totals=BY_CITY, segment="target_on - origin_on"),
    "model": BY_SEGMENT.format(totals=BY_CITY, segment="model_version"),
}
NEWEST_DAYS = BY_SEGMENT.format(totals=BY_CITY, segment="target_on")
# Only depot-days that the naive forecasts cover as well.
FLEET_SCORES = f"""
{BY_CITY}
select m.model, sum(n)::bigint as n,
       sum(m.ape_sum) / nullif(sum(n) filter (where is_nonzero), 0)::float8 as mape,
       sum(m.abs_error_sum) / nullif(sum(actual_sum), 0) as wape,
       sum(m.error_sum) / nullif(sum(actual_sum), 0) as bias,
       (sum(n_in_interval) / sum(n))::float8 as coverage
from published_scores s
cross join lateral (
    values ('shown', s.ape_sum, s.abs_error_sum, s.error_sum),
           ('seasonal_naive', naive_ape_sum, naive_abs_error_sum, naive_error_sum),
           ('median4', median_ape_sum, median_abs_error_sum, median_error_sum)
) as m (model, ape_sum, abs_error_sum, error_sum)
where has_baselines
group by m.model
"""


Segment = TypeVar("Segment")


@dataclass(frozen=True)
class SegmentScores(Generic[Segment]):
    """One segment of the fleet over the newest days, as sums.

    Args:
      segment: A target day, a depot, a city, a number of days ahead or a model version.
      n: Forecasts scored.
      n_in_interval: Of these, actuals between p10 and p90.
      n_comparable: Of these, with an actual above 0 and both naive forecasts.
      ape_sum: Sum of |forecast - actual| / actual over those comparable.
      naive_ape_sum: The same of the seasonal naive.
      median_ape_sum: The same of the median of the last four same weekdays.
      actual_sum: Sum of actuals over those scored.
      error_sum: Sum of forecast - actual over those scored.
      abs_error_sum: Sum of |forecast - actual| over those scored.
    """

    segment: Segment
    n: int
    n_in_interval: int
    n_comparable: int
    ape_sum: float
    naive_ape_sum: float
    median_ape_sum: float
    actual_sum: float
    error_sum: float
    abs_error_sum: float


@dataclass(frozen=True)
class FleetScores:
    """Accuracy of one forecaster over the fleet; fractions, None where undefined.

    Args:
      model: 'shown' for the published forecasts, 'seasonal_naive' or 'median4'.
      n: Forecasts scored that both naive forecasts cover as well.
      mape: Mean of |forecast - actual| / actual where the actual is above 0.
      wape: Sum of |forecast - actual| / sum of actuals.
      bias: Sum of forecast - actual / sum of actuals.
      coverage: Share of actuals in the published interval, on every row.
    """

    model: str
    n: int
    mape: float | None
    wape: float | None
    bias: float | None
    coverage: float


def newest_days(connection: sa.Connection, days: int) -> list[SegmentScores[date]]:
    """The newest days with live scores, oldest first."""
    return _segment_scores(connection, NEWEST_DAYS, days)


def by_segment(
    connection: sa.Connection, segment: str, days: int
) -> list[SegmentScores[str | int]]:
    """The newest days with live scores, by one of `SEGMENTS`, in the order of the segments."""
    return _segment_scores(connection, SEGMENTS[segment], days)


def _segment_scores(
    connection: sa.Connection, statement: str, days: int
) -> list[SegmentScores[Any]]:
    rows = connection.execute(sa.text(statement), {"live": True, "days": days})
    return [SegmentScores(**row) for row in rows.mappings()]


def fleet_scores(connection: sa.Connection, days: int) -> list[FleetScores]:
    """Accuracy of the published forecasts and of both naive forecasts over the fleet."""
    rows = connection.execute(sa.text(FLEET_SCORES), {"live": True, "days": days})
    return [FleetScores(**row) for row in rows.mappings()]
