"""Statements for live accuracy, by day over the fleet and by its parts.

Hindcasts never enter.
"""

from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from pipelines.schema.counted_scores import (
    COUNTED_BY_CITY,
    COUNTED_BY_DEPOT,
    COUNTED_FORECASTS,
)

COUNTED = f"""
with period as (
    select min(target_on) as first_on from (
        select distinct target_on from score_totals
        where is_live = :live and target_on is not null
        order by target_on desc limit :days
    ) newest
), counted as ({COUNTED_FORECASTS})"""
BY_CITY = f"{COUNTED}, shown as ({COUNTED_BY_CITY})"
BY_DEPOT = f"{COUNTED}, shown as ({COUNTED_BY_DEPOT})"

NEWEST_DAYS = f"""
{BY_CITY}
select target_on, sum(n)::bigint, sum(n_in_interval)::bigint,
       coalesce(sum(n) filter (where has_baselines and is_nonzero), 0)::bigint,
       coalesce(sum(ape_sum) filter (where has_baselines), 0), sum(naive_ape_sum)
from shown
group by target_on
order by target_on
"""
BY_PART = """
{totals}
select {part} as part, sum(n)::bigint, sum(n_in_interval)::bigint,
       coalesce(sum(n) filter (where has_baselines and is_nonzero), 0)::bigint,
       coalesce(sum(ape_sum) filter (where has_baselines), 0),
       sum(naive_ape_sum), sum(median_ape_sum),
       sum(actual_sum), sum(error_sum), sum(abs_error_sum)
from shown
group by part
order by part
"""
PARTS = {
    "depot": BY_PART.format(totals=BY_DEPOT, part="depot_id"),
    "city": BY_PART.format(totals=BY_CITY, part="city"),
    "horizon": BY_PART.format(totals=BY_CITY, part="target_on - origin_on"),
    "model": BY_PART.format(totals=BY_CITY, part="model_version"),
}
WORSE_DEPOTS = f"""
{BY_DEPOT}
select depot_id from shown
where has_baselines
group by depot_id
having sum(n) >= :min_forecasts and sum(abs_error_sum) > :margin * sum(naive_abs_error_sum)
order by depot_id
"""
# Over the depot-days that the baselines forecast as well.
WHOLE_FLEET = f"""
{BY_CITY}
select m.model, sum(n)::bigint as n,
       sum(m.ape_sum) / nullif(sum(n) filter (where is_nonzero), 0)::float8 as mape,
       sum(m.abs_error_sum) / nullif(sum(actual_sum), 0) as wape,
       sum(m.error_sum) / nullif(sum(actual_sum), 0) as bias,
       (sum(n_in_interval) / sum(n))::float8 as coverage
from shown
cross join lateral (
    values ('shown', shown.ape_sum, shown.abs_error_sum, shown.error_sum),
           ('seasonal_naive', naive_ape_sum, naive_abs_error_sum, naive_error_sum),
           ('median4', median_ape_sum, median_abs_error_sum, median_error_sum)
) as m (model, ape_sum, abs_error_sum, error_sum)
where has_baselines
group by m.model
"""


@dataclass(frozen=True)
class DayScores:
    """One target day over all depots and horizons, as sums.

    Args:
      target_on: The day.
      n: Forecasts scored.
      n_in_interval: Of these, actuals between p10 and p90.
      n_comparable: Of these, with an actual above 0 and a seasonal naive.
      ape_sum: Sum of |forecast - actual| / actual over those comparable.
      naive_ape_sum: The same of the seasonal naive.
    """

    target_on: date
    n: int
    n_in_interval: int
    n_comparable: int
    ape_sum: float
    naive_ape_sum: float


@dataclass(frozen=True)
class PartScores:
    """One part of the fleet over the newest days, as sums.

    Args:
      part: A depot, a city, a day ahead or a model.
      n: Forecasts scored.
      n_in_interval: Of these, actuals between p10 and p90.
      n_comparable: Of these, with an actual above 0 and both baselines.
      ape_sum: Sum of |forecast - actual| / actual over those comparable.
      naive_ape_sum: The same of the seasonal naive.
      median_ape_sum: The same of the median of the last four same weekdays.
      actual_sum: Sum of actuals over those scored.
      error_sum: Sum of forecast - actual over those scored.
      abs_error_sum: Sum of |forecast - actual| over those scored.
    """

    part: str | int
    n: int
    n_in_interval: int
    n_comparable: int
    ape_sum: float
    naive_ape_sum: float
    median_ape_sum: float
    actual_sum: float
    error_sum: float
    abs_error_sum: float


def newest_days(connection: sa.Connection, days: int) -> list[DayScores]:
    """The newest days with live scores, oldest first."""
    rows = connection.execute(sa.text(NEWEST_DAYS), {"live": True, "days": days})
    return [DayScores(*row) for row in rows]


def by_part(connection: sa.Connection, part: str, days: int) -> list[PartScores]:
    """The newest days with live scores, by one of `PARTS`, in its order."""
    rows = connection.execute(sa.text(PARTS[part]), {"live": True, "days": days})
    return [PartScores(*row) for row in rows]


def worse_depots(
    connection: sa.Connection, days: int, min_forecasts: int, margin: float
) -> list[str]:
    """Depots whose errors over the newest days were larger than the seasonal naive's.

    Args:
      connection: For one short transaction.
      days: Newest days with live scores.
      min_forecasts: Fewest forecasts by which a depot is compared.
      margin: Factor on the seasonal naive's errors.
    """
    parameters = {"days": days, "min_forecasts": min_forecasts, "margin": margin}
    return list(connection.scalars(sa.text(WORSE_DEPOTS), {"live": True, **parameters}))


def whole_fleet(connection: sa.Connection, days: int) -> list[dict[str, Any]]:
    """Accuracy of the forecasts shown and of both baselines over the fleet, as fractions.

    Returns:
      model ('shown', 'seasonal_naive', 'median4'), n (forecasts), mape, wape, bias, coverage
      (of the interval shown, on every row); None where undefined.
    """
    rows = connection.execute(sa.text(WHOLE_FLEET), {"live": True, "days": days})
    return [dict(row) for row in rows.mappings()]
