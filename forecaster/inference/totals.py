"""Forecasts of the totals of cities and of the fleet, with intervals of their own.

The median of a sum is not the sum of the medians: a depot's busiest days lie further from its
median than its quietest. So centers between median and mean are added up. One ratio, estimated from
a year of the fleet's totals, corrects all totals, so that the cities' totals add up to the fleet's.

Errors of depots partly cancel out in a total. The quantiles of totals are estimated from the errors
of the baseline's totals in a year, in units of the sum of (1 + median) · spread over their depots. The
error of a holiday's estimated effect is common to all depots and does not cancel out: the total's
is the sum of the depots'.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32

from forecaster.inference.baseline_errors import (
    NORMAL_HIGH,
    SPECIAL_SHARE,
    BaselineErrors,
    effect_factor,
    shrunk_quantiles,
)

MAX_MISS = 0.1
"""Cap on the relative miss of the sums of centers; a year with a larger miss is exceptional."""
MEAN_SHARE = 0.5
"""Share of the distance from a depot's median to its mean that goes into a total: as `LEVEL_SHARE`."""
MAX_SPREAD = 0.7
"""Cap on a depot's spread where it shifts a median, log counts. After days of unannounced zeros the
spread says little of the days ahead; `intervals.MAX_WIDTH` caps its bands likewise."""
MIN_DAY = 0.1
"""Share of a mean day's orders below which a day says nothing of the level."""
LEVEL_SHARE = 0.5
"""Share of the miss that is corrected: about half of a year's miss is drift that does not last."""
PRIOR_LOW, PRIOR_HIGH = -0.75, 0.75
"""Usual quantiles of a total's errors, in sums of (1 + median) · spread."""
PRIOR_WEEKS = 2
"""Weeks of errors at which the prior quantiles weigh as much as the measured ones."""
PRIOR_EFFECT_FACTOR = 1.8
CITY_DAYS = 50
"""Number of forecast days at which a city's own data weigh as much as all cities' data."""
FLEET = ""
"""Name of the total of all depots, in place of a city."""


class QuantileForecasts(NamedTuple):
    """Quantile forecasts of depots, orders per day; the last two axes are depot and horizon."""

    p10: Float[np.ndarray, "*origin depot horizon"]
    p50: Float[np.ndarray, "*origin depot horizon"]
    p90: Float[np.ndarray, "*origin depot horizon"]


class Total(NamedTuple):
    """Forecast of the total orders per day of a city, or of the fleet."""

    city: str
    p10_h: Float[np.ndarray, " horizon"]
    p50_h: Float[np.ndarray, " horizon"]
    p90_h: Float[np.ndarray, " horizon"]


@dataclass(frozen=True)
class TotalsTable:
    """Ratio of totals' medians to the sums of centers, and quantiles of totals' errors.

    The unit of the quantiles is the sum of (1 + median) · spread over the total's depots.

    Attributes:
      cities: Cities with a row of their own.
      level: Ratio of the median of any total to the sum of its depots' medians.
      fleet_q: 10 % quantile (at most 0) and 90 % quantile (at least 0) of the fleet's errors.
      any_city_q: Quantiles for a city without a row.
      city_cq: Quantiles for each city.
      effect_factor: Factor on the standard deviation of a day's effect.
    """

    cities: tuple[str, ...]
    level: float
    fleet_q: Float32[np.ndarray, " 2"]
    any_city_q: Float32[np.ndarray, " 2"]
    city_cq: Float32[np.ndarray, "city 2"]
    effect_factor: float = PRIOR_EFFECT_FACTOR

    def quantiles_of(self, city: str) -> Float32[np.ndarray, " 2"]:
        """Returns the quantiles for a city, or for the fleet."""
        if city == FLEET:
            return self.fleet_q
        if city not in self.cities:
            return self.any_city_q
        return self.city_cq[self.cities.index(city)]


def prior_table() -> TotalsTable:
    """Returns the table of a fleet without a history."""
    prior_q = np.array([PRIOR_LOW, PRIOR_HIGH], np.float32)
    return TotalsTable((), 1.0, prior_q, prior_q, np.zeros((0, 2), np.float32))


class DepotsAhead(NamedTuple):
    """Quantities that are summed for totals, orders per day; the last axis is horizon.

    They are 0 on a day that is closed or does not count.
    """

    # Between the median and the mean, by `MEAN_SHARE`.
    center: Float[np.ndarray, "*depot horizon"]
    # (1 + median) · spread: the spread is of log(1 + orders).
    unit: Float[np.ndarray, "*depot horizon"]
    # (1 + median) · standard deviation of the day's effect.
    effect: Float[np.ndarray, "*depot horizon"]

    @classmethod
    def of(
        cls, median: np.ndarray, spread: np.ndarray, effect_sd: np.ndarray
    ) -> "DepotsAhead":
        """Returns what days of these medians, spreads and effects' deviations add to a total."""
        unit = 1 + median
        variance = np.minimum(spread, MAX_SPREAD) ** 2
        # The mean of a lognormal distribution is its median · exp(variance / 2).
        center = unit * np.exp(MEAN_SHARE * variance / 2) - 1
        return cls(center, unit * spread, unit * effect_sd)

    def sum(self, rows: np.ndarray) -> "DepotsAhead":
        """Sums over some of the depots."""
        return DepotsAhead(*(part[rows].sum(axis=0) for part in self))


@dataclass(frozen=True)
class TotalErrors:
    """Totals of a year's baseline forecasts and of their actuals, orders per day.

    Attributes:
      cities: Cities, in the order of the rows.
      ahead: Sums over each city's known depots, [city, origin, horizon].
      actual_coh: Orders of the same depots.
      known_coh: Whether any depot's error was known.
    """

    cities: tuple[str, ...]
    ahead: DepotsAhead
    actual_coh: Float[np.ndarray, "city origin horizon"]
    known_coh: Bool[np.ndarray, "city origin horizon"]

    @classmethod
    def of(
        cls, chunks: Iterable[BaselineErrors], cities: Sequence[str]
    ) -> "TotalErrors":
        """Adds up the errors of each city's depots; the chunks hold all depots, in order."""
        names, city_d = np.unique(np.array(cities, str), return_inverse=True)
        sums: np.ndarray | None = None
        first = 0
        for errors in chunks:
            is_known_doh = np.isfinite(errors.error_doh)
            median_doh = np.maximum(np.expm1(errors.baseline_doh), 0.0)
            actual_doh = np.expm1(errors.baseline_doh + errors.error_doh)
            spread_do1 = errors.spread_do[..., None]
            parts = (
                *DepotsAhead.of(median_doh, spread_do1, errors.effect_sd_doh),
                actual_doh,
                np.ones_like(median_doh),
            )
            if sums is None:
                sums = np.zeros((len(parts), len(names), *median_doh.shape[1:]))
            city_r = city_d[first : first + len(median_doh)]
            first += len(median_doh)
            for total, part in zip(sums, parts, strict=True):
                np.add.at(total, city_r, np.where(is_known_doh, part, 0.0))
        assert sums is not None
        *ahead, actual, n_known = sums
        return cls(tuple(map(str, names)), DepotsAhead(*ahead), actual, n_known > 0)

    def summed(self, name: str, rows: slice) -> "TotalErrors":
        """Returns the totals of some cities together, as one row of this name."""

        def total(part: np.ndarray) -> np.ndarray:
            return part[rows].sum(axis=0, keepdims=True)

        ahead = DepotsAhead(*map(total, self.ahead))
        known = total(self.known_coh) > 0
        return TotalErrors((name,), ahead, total(self.actual_coh), known)

    def error_coh(self, level: float) -> Float[np.ndarray, "city origin horizon"]:
        """Actual totals less their medians."""
        return self.actual_coh - level * self.ahead.center

    def ordinary_coh(self) -> Bool[np.ndarray, "city origin horizon"]:
        """Whether the day is known and has no uncertain effect."""
        is_ordinary_coh = self.ahead.effect < SPECIAL_SHARE * self.ahead.unit
        return self.known_coh & is_ordinary_coh & (self.ahead.unit > 0)


def calibrate(errors: TotalErrors, narrowing: float = 1.0) -> TotalsTable:
    """Fits the level and the quantiles of totals to a year of the baseline's errors.

    `narrowing` is the ratio of the network's error width to the baseline's.
    """
    fleet = errors.summed(FLEET, slice(None))
    level = _level(fleet)
    any_city_q = _quantiles(errors, level)
    city_cq = np.zeros((len(errors.cities), 2))
    for row, city in enumerate(errors.cities):
        own = errors.summed(city, slice(row, row + 1))
        weight = own.ordinary_coh().sum()
        weight /= weight + CITY_DAYS
        city_cq[row] = weight * _quantiles(own, level) + (1 - weight) * any_city_q
    fleet_q = _quantiles(fleet, level)
    error_coh = errors.error_coh(level)
    ordinary_coh = np.where(
        error_coh < 0, -city_cq[:, 0, None, None], city_cq[:, 1, None, None]
    )
    effect_coh = NORMAL_HIGH * errors.ahead.effect
    ordinary_coh = ordinary_coh * errors.ahead.unit
    factor = effect_factor(
        error_coh,
        ordinary_coh,
        effect_coh,
        errors.known_coh & (effect_coh > SPECIAL_SHARE * ordinary_coh),
        PRIOR_EFFECT_FACTOR,
    )
    narrow = np.float32(narrowing)
    return TotalsTable(
        errors.cities,
        level,
        (narrow * fleet_q).astype(np.float32),
        (narrow * any_city_q).astype(np.float32),
        (narrow * city_cq).astype(np.float32),
        factor,
    )


def total_forecasts(
    table: TotalsTable, ahead: DepotsAhead, cities: Sequence[str]
) -> tuple[Total, ...]:
    """Forecasts the fleet's total, then each city's by name; `ahead` is [depot, horizon]."""
    city_d = np.array(cities)
    every_d = np.ones(len(city_d), bool)
    rows = [(FLEET, every_d), *((city, city_d == city) for city in sorted(set(cities)))]
    return tuple(
        Total(city, *total(table, city, ahead.sum(here_d))) for city, here_d in rows
    )


def total(
    table: TotalsTable, city: str, ahead: DepotsAhead
) -> Float[np.ndarray, "3 ..."]:
    """P10, P50 and P90 of a city's or the `FLEET`'s orders per day, from its `DepotsAhead.sum`."""
    median_h = table.level * ahead.center
    effect_h = NORMAL_HIGH * table.effect_factor * ahead.effect
    below_h, above_h = (
        np.hypot(quantile * ahead.unit, effect_h)
        for quantile in table.quantiles_of(city)
    )
    return np.maximum([median_h - below_h, median_h, median_h + above_h], 0.0)


def _level(fleet: TotalErrors) -> float:
    """1 plus a part of the median relative excess of fleet totals over their centers."""
    center_coh = fleet.ahead.center
    counted_coh = fleet.known_coh & (center_coh > 0)
    if not counted_coh.any():
        return 1.0
    # On a day almost without orders, the relative miss is chance.
    counted_coh &= center_coh > MIN_DAY * center_coh[counted_coh].mean()
    miss = np.median(fleet.actual_coh[counted_coh] / center_coh[counted_coh]) - 1
    return float(1 + LEVEL_SHARE * np.clip(miss, -MAX_MISS, MAX_MISS))


def _quantiles(errors: TotalErrors, level: float) -> Float[np.ndarray, " 2"]:
    """10 and 90 % quantiles of errors on ordinary days, in sums of (1 + median) · spread."""
    is_ordinary_coh = errors.ordinary_coh()
    unit_coh = np.where(is_ordinary_coh, errors.ahead.unit, 1.0)
    score_coh = errors.error_coh(level) / unit_coh
    prior = (PRIOR_LOW, PRIOR_HIGH)
    return shrunk_quantiles(score_coh, is_ordinary_coh, prior, PRIOR_WEEKS)
