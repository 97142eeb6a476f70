"""How far off the live forecasts were, day by day over the fleet."""

from dataclasses import dataclass
from datetime import date

import sqlalchemy as sa


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


# Of several models that forecast from one origin, the last was the one shown.
NEWEST_DAYS = """
with days as (
    select distinct target_on from scores where is_live
    order by target_on desc limit :days
), shown as (
    select distinct on (s.target_on, s.depot_id, s.origin_on) s.*
    from scores s
    join forecasts f using (depot_id, origin_on, target_on, model_version)
    where s.is_live and s.target_on in (select target_on from days)
    order by s.target_on, s.depot_id, s.origin_on, f.made_at desc
), weighed as (
    select *, actual > 0 and seasonal_naive is not null as compared from shown
)
select target_on, count(*) as scored,
       count(*) filter (where actual between p10 and p90) as inside,
       count(*) filter (where compared) as compared,
       coalesce(sum(abs(p50 - actual) / nullif(actual, 0)) filter (where compared), 0)
           as error,
       coalesce(sum(abs(seasonal_naive - actual) / nullif(actual, 0))
                filter (where compared), 0) as naive_error
from weighed
group by target_on
order by target_on
"""


def newest_days(connection: sa.Connection, days: int) -> list[DayScores]:
    """The newest days with live scores, oldest first; hindcasts never enter."""
    found = connection.execute(sa.text(NEWEST_DAYS), {"days": days})
    return [DayScores(*row) for row in found]
