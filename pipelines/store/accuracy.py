"""Queries of live accuracy, by day and by segment. Hindcasts are excluded."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from pipelines.schema.published_scores import (
    PUBLISHED_BY_CITY,
    PUBLISHED_FORECASTS,
    SCORE_MEASURES,
)

# If :days is null, the period has every scored day from :first to :last.
PUBLISHED = f"""
with period as (
    select min(target_on) as first_on, max(target_on) as last_on from (
        select distinct target_on from score_totals
        where is_live = :live and target_on is not null
          and target_on >= coalesce(cast(:first as date), '-infinity')
          and target_on <= coalesce(cast(:last as date), 'infinity')
        order by target_on desc limit :days
    ) newest
), published as ({PUBLISHED_FORECASTS})"""
BY_CITY = f"""{PUBLISHED}, published_scores as (
    select * from ({PUBLISHED_BY_CITY}) t
    where target_on <= (select last_on from period))"""
BY_DEPOT = f"""{PUBLISHED}, published_scores as (
    select * from ({SCORE_MEASURES}
        where s.is_live = :live
          and s.target_on between (select first_on from period)
                              and (select last_on from period)) s
    join published using (origin_on, city, model_version))"""

SEGMENTS = {
    "depot": "depot_id",
    "city": "city",
    "horizon": "target_on - origin_on",
    "model": "model_version",
    "day": "target_on",
}
"""SQL expression of each segment by which scores can be added up."""
BY_SEGMENTS = """
{totals}
select {columns}
       sum(n)::bigint as n, sum(n_in_interval)::bigint as n_in_interval,
       coalesce(sum(n) filter (where has_naive and is_nonzero), 0)::bigint
         as n_comparable,
       coalesce(sum(ape_sum) filter (where has_naive), 0) as ape_sum,
       sum(naive_ape_sum) as naive_ape_sum, sum(median_ape_sum) as median_ape_sum,
       sum(actual_sum) as actual_sum, sum(error_sum) as error_sum,
       sum(abs_error_sum) as abs_error_sum
from published_scores
group by ({names})
having count(*) > 0
{order}
"""
# Only depot-days with naive forecasts; the coverage is of all.
FLEET_SCORES = f"""
{BY_CITY}
select m.model, sum(n)::bigint as n,
       sum(m.ape_sum) / nullif(sum(n) filter (where is_nonzero), 0)::float8 as mape,
       sum(m.abs_error_sum) / nullif(sum(actual_sum), 0) as wape,
       sum(m.error_sum) / nullif(sum(actual_sum), 0) as bias,
       (select sum(n_in_interval) / sum(n) from published_scores)::float8 as coverage
from published_scores s
cross join lateral (
    values ('shown', s.ape_sum, s.abs_error_sum, s.error_sum),
           ('seasonal_naive', naive_ape_sum, naive_abs_error_sum, naive_error_sum),
           ('median4', median_ape_sum, median_abs_error_sum, median_error_sum)
) as m (model, ape_sum, abs_error_sum, error_sum)
where has_naive
group by m.model
"""


@dataclass(frozen=True)
class Period:
    """Target days with live scores from `first_on` to `last_on`, at most the newest `days`.

    None means no limit.
    """

    days: int | None = None
    first_on: date | None = None
    last_on: date | None = None

    def parameters(self) -> dict[str, object]:
        """Returns the parameters of `PUBLISHED`."""
        return {
            "live": True, "days": self.days, "first": self.first_on, "last": self.last_on,
        }  # fmt: skip


@dataclass(frozen=True)
class SegmentScores:
    """One segment of the fleet over a period, as sums.

    Args:
      segment: Its value for each requested segment: depot, city, horizon, model or target day.
      n: Number of scored forecasts.
      n_in_interval: Number of these whose actual lies between p10 and p90.
      n_comparable: Number of these with an actual above 0 and both naive forecasts.
      ape_sum: Sum of |forecast - actual| / actual over the comparable forecasts.
      naive_ape_sum: The same for the seasonal naive.
      median_ape_sum: The same for the median of the last four same weekdays.
      actual_sum: Sum of actuals over the scored forecasts.
      error_sum: Sum of forecast - actual over the scored forecasts.
      abs_error_sum: Sum of |forecast - actual| over the scored forecasts.
    """

    segment: tuple[Any, ...]
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
      n: Number of scored forecasts that both naive forecasts cover as well.
      mape: Mean of |forecast - actual| / actual where the actual is above 0.
      wape: Sum of |forecast - actual| / sum of actuals.
      bias: Sum of forecast - actual / sum of actuals.
      coverage: Share of actuals in the published interval; the same for every `model`.
    """

    model: str
    n: int
    mape: float | None
    wape: float | None
    bias: float | None
    coverage: float


def by_segments(
    connection: sa.Connection, segments: Sequence[str], period: Period
) -> list[SegmentScores]:
    """Live scores of a period, grouped by some of `SEGMENTS` and sorted by their values.

    Without a segment, one row for the whole fleet, if there is any score.
    """
    names = [f"segment_{name}" for name in segments]
    columns = [
        f"{SEGMENTS[segment]} as {name},"
        for segment, name in zip(segments, names, strict=True)
    ]
    statement = BY_SEGMENTS.format(
        totals=BY_DEPOT if "depot" in segments else BY_CITY,
        columns=" ".join(columns),
        names=", ".join(names),
        order=f"order by {', '.join(names)}" if names else "",
    )
    rows = connection.execute(sa.text(statement), period.parameters()).mappings()
    return [
        SegmentScores(
            segment=tuple(row[name] for name in names),
            **{name: value for name, value in row.items() if name not in names},
        )
        for row in rows
    ]


def fleet_scores(connection: sa.Connection, days: int) -> list[FleetScores]:
    """Accuracy of the published forecasts and of both naive forecasts over the fleet."""
    rows = connection.execute(sa.text(FLEET_SCORES), Period(days).parameters())
    return [FleetScores(**row) for row in rows.mappings()]
