"""How far off the live forecasts were: by day over the fleet, and by its parts.

Hindcasts never enter.
"""

from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from pipelines.schema.counted_forecasts import counted_forecasts
from pipelines.store.score_totals import DEPOT_COLUMNS, OF_DEPOTS

EARLY = """where s.is_live and s.origin_on between (select first_origin_on from early)
                                      and (select first_on - 2 from asked)
      and s.target_on >= (select first_on from asked)"""


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
      part: A depot, a city, a horizon day or a model.
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


SINCE = "(select min(target_on) from days)"
COUNTS = f"""
with days as (
    select distinct target_on from score_totals where is_live
    order by target_on desc limit :days
), counts as (
    {counted_forecasts("true", SINCE)}
)"""
TOTALS = f"""
{COUNTS}, shown as (
    select t.*, t.target_on - t.origin_on as horizon
    from score_totals t join counts using (origin_on, city, model_version)
    where t.is_live and t.target_on >= {SINCE}
)
"""
NEWEST_DAYS = f"""
{TOTALS}
select target_on, sum(n)::bigint, sum(n_in_interval)::bigint,
       sum(n_with_naive_nonzero)::bigint,
       sum(with_naive_ape_sum), sum(with_naive_naive_ape_sum)
from shown
group by target_on
order by target_on
"""
# The same of each depot: origins whose days ahead all lie within the days come from the
# sums; of those before them the days that do are summed here.
DEPOT_TOTALS = f"""
{COUNTS}, asked as (
    select min(target_on) as first_on from days
), early as (
    select min(origin_on) as first_origin_on from counts
), shown as (
    select every.*
    from (
        select {DEPOT_COLUMNS} from depot_score_totals
        where is_live and origin_on >= (select first_on - 1 from asked)
        union all
        {OF_DEPOTS.format(where=EARLY)}
    ) every
    join depots using (depot_id)
    join counts using (origin_on, city, model_version)
)
"""


OF_PARTS = {
    "depot": (DEPOT_TOTALS, "depot_id"),
    "city": (TOTALS, "city"),
    "horizon": (TOTALS, "horizon"),
    "model": (TOTALS, "model_version"),
}
PARTS = tuple(OF_PARTS)
BY_PART = """
{totals}
select {part} as part, sum(n)::bigint, sum(n_in_interval)::bigint,
       sum(n_comparable_nonzero)::bigint,
       sum(comparable_ape_sum), sum(naive_ape_sum), sum(median_ape_sum),
       sum(actual_sum), sum(error_sum), sum(abs_error_sum)
from shown
group by part
order by part
"""
WORSE_DEPOTS = f"""
{DEPOT_TOTALS}
select depot_id from shown
group by depot_id
having sum(n_with_naive) >= :least
   and sum(with_naive_abs_error_sum)
       > :margin * sum(with_naive_naive_abs_error_sum)
order by depot_id
"""


# Both baselines over the same depot-days; what is shown is named so, whoever made it.
WHOLE_FLEET = f"""
{TOTALS}
select m.model, sum(n_comparable)::bigint as n,
       sum(m.ape_sum) / nullif(sum(n_comparable_nonzero), 0)::float8 as mape,
       sum(m.abs_error_sum) / nullif(sum(comparable_actual_sum), 0) as wape,
       sum(m.error_sum) / nullif(sum(comparable_actual_sum), 0) as bias,
       (sum(n_comparable_in_interval) / sum(n_comparable))::float8 as coverage
from shown
cross join lateral (
    values ('shown', comparable_ape_sum, comparable_abs_error_sum, comparable_error_sum),
           ('seasonal_naive', naive_ape_sum, naive_abs_error_sum, naive_error_sum),
           ('median4', median_ape_sum, median_abs_error_sum, median_error_sum)
) as m (model, ape_sum, abs_error_sum, error_sum)
group by m.model
having sum(n_comparable) > 0
"""


def newest_days(connection: sa.Connection, days: int) -> list[DayScores]:
    """The newest days with live scores, oldest first."""
    found = connection.execute(sa.text(NEWEST_DAYS), {"days": days})
    return [DayScores(*row) for row in found]


def by_part(connection: sa.Connection, part: str, days: int) -> list[PartScores]:
    """The newest days with live scores, by one of `PARTS`, in its order."""
    totals, column = OF_PARTS[part]
    statement = BY_PART.format(totals=totals, part=column)
    found = connection.execute(sa.text(statement), {"days": days})
    return [PartScores(*row) for row in found]


def worse_depots(
    connection: sa.Connection, days: int, least: int, margin: float
) -> list[str]:
    """Depots whose misses over the newest days were larger than the seasonal naive's.

    Args:
      connection: For one short transaction.
      days: Newest days with live scores.
      least: Forecasts a depot is judged on at least.
      margin: Times the seasonal naive's misses.
    """
    asked = {"days": days, "least": least, "margin": margin}
    return list(connection.scalars(sa.text(WORSE_DEPOTS), asked))


def whole_fleet(connection: sa.Connection, days: int) -> list[dict[str, Any]]:
    """How far off what was shown and both baselines were, as fractions.

    Returns:
      model ('shown', 'seasonal_naive', 'median4'), n (forecasts), mape, wape, bias, coverage
      (of the band shown, on every row); None where undefined.
    """
    found = connection.execute(sa.text(WHOLE_FLEET), {"days": days}).mappings()
    return [dict(row) for row in found]
