"""Forecasts of totals, of a city or of the fleet, with intervals of their own.

The median of a sum is not the sum of the medians: a depot's busiest days lie further from its
median than its quietest. The fleet's total on held-out days tells by how much, in one ratio for all
totals, so that the cities' add up to the fleet's.

With correlated errors a total is as uncertain as the sum of its depots' intervals; with
independent errors it is less so. The residuals of totals on held-out days, divided by the sum of
the half widths of their depots' intervals, give the quantiles applied to the days ahead.

A total is a single autocorrelated series: a month of residuals has as many degrees of freedom
as it has weeks, or fewer, and the quantiles are widened for them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32

from forecaster.inference.intervals import HIGH, LOW

MAX_MISS = 0.1
"""Share by which the sums of medians may have missed; a month that missed by more was odd."""
CITY_DAYS = 200
"""Forecast days at which a city's own data weigh as much as those of all cities."""
DAYS_PER_DEGREE = 8
"""Held-out days behind one degree of freedom: a week's errors go together."""
NORMAL_HIGH = 1.2816
"""Quantile of the normal distribution at `HIGH`."""


class QuantileForecasts(NamedTuple):
    """Quantile forecasts of depots, orders per day; the last two axes are depot and horizon."""

    p10: Float[np.ndarray, "*origin depot horizon"]
    p50: Float[np.ndarray, "*origin depot horizon"]
    p90: Float[np.ndarray, "*origin depot horizon"]


FLEET = ""
"""Name of the total of all depots, in place of a city."""


class Total(NamedTuple):
    """Forecast of the total orders per day of a city, or of the fleet."""

    city: str
    p10_h: Float[np.ndarray, " horizon"]
    p50_h: Float[np.ndarray, " horizon"]
    p90_h: Float[np.ndarray, " horizon"]


@dataclass(frozen=True)
class TotalsTable:
    """Medians of totals in sums of medians, and quantiles of their residuals in sums of half widths.

    Attributes:
      cities: Cities with a row of their own.
      level: Median of any total over the sum of its depots' medians.
      fleet_q: 10 and 90 % quantiles of the fleet's residuals; at most, and at least 0.
      any_city_q: Quantiles for a city without a row.
      city_cq: Quantiles for each city.
    """

    cities: tuple[str, ...]
    level: float
    fleet_q: Float32[np.ndarray, " 2"]
    any_city_q: Float32[np.ndarray, " 2"]
    city_cq: Float32[np.ndarray, "city 2"]

    def quantiles_of(self, city: str) -> Float32[np.ndarray, " 2"]:
        """Returns the quantiles for a city, or for the fleet."""
        if city == FLEET:
            return self.fleet_q
        if city not in self.cities:
            return self.any_city_q
        return self.city_cq[self.cities.index(city)]


def additive_table() -> TotalsTable:
    """Returns a table whose totals are the sums of the depots' quantiles."""
    sums_q = np.array([-1.0, 1.0], np.float32)
    no_rows = np.zeros((0, 2), np.float32)
    return TotalsTable((), 1.0, sums_q, sums_q, no_rows)


def calibrate(
    forecasts: QuantileForecasts,
    actual_odh: Float[np.ndarray, "origin depot horizon"],
    valid_odh: Bool[np.ndarray, "origin depot horizon"],
    cities: Sequence[str],
) -> TotalsTable:
    """Fits the level and the quantiles of totals on held-out days.

    Args:
      forecasts: Forecasts of those days, from origins a day apart.
      actual_odh: Orders per day.
      valid_odh: Whether the depot-day counts: the actual is observed, and the depot has a
        history of its own. A total is over those depots only.
      cities: City of each depot.
    """
    city_d = np.array(cities)
    names = tuple(sorted(set(cities)))
    level = _level(forecasts, actual_odh, valid_odh)
    fleet_r = _scores(level, forecasts, actual_odh, valid_odh)
    by_city = [
        _scores(level, forecasts, actual_odh, valid_odh & (city_d == name)[:, None])
        for name in names
    ]
    freedom = len(actual_odh) / DAYS_PER_DEGREE
    # Cities share much of their errors: the days of four say as much as those of two.
    city_freedom = freedom * math.sqrt(len(names))
    any_city_q = _quantiles(np.concatenate(by_city), city_freedom)
    rows = [_shrunk(score_r, any_city_q, city_freedom) for score_r in by_city]
    fleet_q = _quantiles(fleet_r, freedom)
    return TotalsTable(names, level, fleet_q, any_city_q, np.array(rows, np.float32))


def total_forecasts(
    table: TotalsTable, forecasts: QuantileForecasts, cities: Sequence[str]
) -> tuple[Total, ...]:
    """Forecasts the fleet's total, then each city's in the order of names.

    Args:
      table: From `calibrate`.
      forecasts: Without an origin axis.
      cities: City of each depot.
    """
    city_d = np.array(cities)
    totals = [Total(FLEET, *total(forecasts, table.level, table.fleet_q))]
    for city in sorted(set(cities)):
        city_quantiles = QuantileForecasts(
            *(part[city_d == city] for part in forecasts)
        )
        quantiles = total(city_quantiles, table.level, table.quantiles_of(city))
        totals.append(Total(city, *quantiles))
    return tuple(totals)


def total(
    forecasts: QuantileForecasts,
    level: float,
    score_q: Float32[np.ndarray, " 2"],
) -> Float[np.ndarray, "3 horizon"]:
    """P10, P50 and P90 of the sum of these depots' orders per day.

    The forecasts are of one city or of the fleet, without an origin axis; the level and the
    quantiles are from a `TotalsTable`.
    """
    median_h, below_h, above_h = _sums(forecasts, np.ones(forecasts.p50.shape, bool))
    low, high = score_q
    median_h = level * median_h
    quantiles = [median_h + low * below_h, median_h, median_h + high * above_h]
    return np.maximum(quantiles, 0.0)


def _sums(
    forecasts: QuantileForecasts, included: Bool[np.ndarray, "..."]
) -> tuple[np.ndarray, ...]:
    """Sums over depots of the median and of the half widths below and above it."""
    parts = (
        forecasts.p50,
        forecasts.p50 - forecasts.p10,
        forecasts.p90 - forecasts.p50,
    )
    median, below, above = (
        np.where(included, part, 0.0).sum(axis=-2) for part in parts
    )
    return median, below, above


def _level(
    forecasts: QuantileForecasts,
    actual_odh: Float[np.ndarray, "origin depot horizon"],
    included_odh: Bool[np.ndarray, "origin depot horizon"],
) -> float:
    """1 plus half of the share by which the fleet's totals lay above the sums of medians.

    Half: a month shows a drift of its own as much as what lasts.
    """
    median_oh, _, _ = _sums(forecasts, included_odh)
    actual_oh = np.where(included_odh, actual_odh, 0.0).sum(axis=-2)
    has_orders_oh = median_oh > 0
    if not has_orders_oh.any():
        return 1.0
    miss = np.median(actual_oh[has_orders_oh] / median_oh[has_orders_oh]) - 1
    return float(1 + np.clip(miss, -MAX_MISS, MAX_MISS) / 2)


def _scores(
    level: float,
    forecasts: QuantileForecasts,
    actual_odh: Float[np.ndarray, "origin depot horizon"],
    included_odh: Bool[np.ndarray, "origin depot horizon"],
) -> Float[np.ndarray, " row"]:
    """Residuals of the included depots' total, divided by the sum of their half widths."""
    median_oh, below_oh, above_oh = _sums(forecasts, included_odh)
    actual_oh = np.where(included_odh, actual_odh, 0.0).sum(axis=-2)
    residual_oh = actual_oh - level * median_oh
    half_oh = np.where(residual_oh < 0, below_oh, above_oh)
    has_width_oh = half_oh > 0
    return residual_oh[has_width_oh] / half_oh[has_width_oh]


def _quantiles(
    score_r: Float[np.ndarray, " row"], freedom: float
) -> Float32[np.ndarray, " 2"]:
    """10 and 90 % quantiles of the scaled residuals, widened for the degrees of freedom.

    Widening alone stops at the sum of the depots' intervals, which is the
    interval of a total with fully correlated errors.
    """
    if not len(score_r):
        return additive_table().fleet_q
    low, middle, high = np.quantile(score_r, [LOW, 0.5, HIGH])
    lower, higher = middle + widening(freedom) * (np.array([low, high]) - middle)
    bounds = [min(low, max(lower, -1.0), 0.0), max(high, min(higher, 1.0), 0.0)]
    return np.array(bounds, np.float32)


def widening(freedom: float) -> float:
    """Ratio of Student's t quantile to the normal quantile, at `HIGH`.

    The first terms of its expansion in 1 / degrees of freedom (Abramowitz and Stegun,
    26.7.5): within 2 % from two degrees on. Less than one counts as one.
    """
    z, freedom = NORMAL_HIGH, max(freedom, 1.0)
    student = z + (z**3 + z) / (4 * freedom)
    student += (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return student / z


def _shrunk(
    score_r: Float[np.ndarray, " row"],
    any_city_q: Float32[np.ndarray, " 2"],
    freedom: float,
) -> Float32[np.ndarray, " 2"]:
    """Shrinks a city's own quantiles towards those of all cities."""
    weight = len(score_r) / (len(score_r) + CITY_DAYS)
    own_q = _quantiles(score_r, freedom)
    return (weight * own_q + (1 - weight) * any_city_q).astype(np.float32)
