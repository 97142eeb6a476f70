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
      scored: Forecasts scored.
      inside: Of these, actuals between p10 and p90.
      compared: Of these, with an actual above 0 and a seasonal naive.
      error: Sum of |forecast - actual| / actual over those compared.
      naive_error: The same of the seasonal naive.
    """

    target_on: date
    scored: int
    inside: int
    compared: int
    error: float
    naive_error: float


@dataclass(frozen=True)
class PartScores:
    """One part of the fleet over the newest days, as sums.

    Args:
      part: A depot, a city, a horizon day or a model.
      scored: Forecasts scored.
      inside: Of these, actuals between p10 and p90.
      compared: Of these, with an actual above 0 and both baselines.
      error: Sum of |forecast - actual| / actual over those compared.
      naive_error: The same of the seasonal naive.
      median_error: The same of the median of the last four same weekdays.
      volume: Sum of actuals over those scored.
      gap: Sum of forecast - actual over those scored.
      miss: Sum of |forecast - actual| over those scored.
    """

    part: str | int
    scored: int
    inside: int
    compared: int
    error: float
    naive_error: float
    median_error: float
    volume: float
    gap: float
    miss: float


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
select target_on, sum(scored)::bigint, sum(inside)::bigint, sum(beside_naive)::bigint,
       sum(beside_naive_error), sum(beside_naive_naive_error)
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
select {part} as part, sum(scored)::bigint, sum(inside)::bigint, sum(compared)::bigint,
       sum(compared_error), sum(naive_error), sum(median_error),
       sum(volume), sum(gap), sum(miss)
from shown
group by part
order by part
"""
WORSE_DEPOTS = f"""
{DEPOT_TOTALS}
select depot_id from shown
group by depot_id
having sum(with_naive) >= :least
   and sum(with_naive_miss) > :margin * sum(with_naive_naive_miss)
order by depot_id
"""


# Both baselines over the same depot-days; what is shown is named so, whoever made it.
WHOLE_FLEET = f"""
{TOTALS}
select m.model, sum(common)::bigint as scored,
       sum(m.error) / nullif(sum(compared), 0)::float8 as mape,
       sum(m.miss) / nullif(sum(common_volume), 0) as wape,
       sum(m.gap) / nullif(sum(common_volume), 0) as bias,
       (sum(common_inside) / sum(common))::float8 as coverage
from shown
cross join lateral (
    values ('shown', compared_error, common_miss, common_gap),
           ('seasonal_naive', naive_error, naive_miss, naive_gap),
           ('median4', median_error, median_miss, median_gap)
) as m (model, error, miss, gap)
group by m.model
having sum(common) > 0
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
      model ('shown', 'seasonal_naive', 'median4'), scored, mape, wape, bias, coverage
      (of the band shown, on every row); None where undefined.
    """
    found = connection.execute(sa.text(WHOLE_FLEET), {"days": days}).mappings()
    return [dict(row) for row in found]
