"""Forecasts of a city's and of the fleet's orders: not the sum of the depots' quantiles.

Depots that miss together make a total as uncertain as the sum of their bands; depots
that miss apart make it surer. How it was on days the fit had not seen is kept as the
reach of a total's residuals, in sums of half bands, and applied to the bands ahead.

A total is a single series, whose residuals resemble each other from day to day: a month of
them is worth its weeks. So its quantiles are widened as those of as few draws are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32

from forecaster.inference.intervals import HIGH, LOW

# Forecast days after which a city's own evidence weighs as much as that of all cities.
CITY_DAYS = 200
WEEK_DAYS = 7
NORMAL_HIGH = 1.2816
"""The normal distribution's quantile of `HIGH`."""


class Bands(NamedTuple):
    """Quantiles of depots, orders per day; the last two axes are depot and horizon."""

    p10: Float[np.ndarray, "*origin depot horizon"]
    p50: Float[np.ndarray, "*origin depot horizon"]
    p90: Float[np.ndarray, "*origin depot horizon"]


FLEET = ""
"""In the place of a city's name: all depots together."""


class Total(NamedTuple):
    """Orders per day of a city's depots together, or of the fleet's."""

    city: str
    p10_h: Float[np.ndarray, " horizon"]
    p50_h: Float[np.ndarray, " horizon"]
    p90_h: Float[np.ndarray, " horizon"]


@dataclass(frozen=True)
class TotalsTable:
    """How far totals lay from the sum of the points, in sums of half bands.

    Attributes:
      cities: That have a row of their own.
      fleet_q: The 10 %, 50 % and 90 % quantiles for the fleet.
      any_city_q: For a city without a row.
      city_cq: For each city.
    """

    cities: tuple[str, ...]
    fleet_q: Float32[np.ndarray, " 3"]
    any_city_q: Float32[np.ndarray, " 3"]
    city_cq: Float32[np.ndarray, "city 3"]

    def reach_of(self, city: str) -> Float32[np.ndarray, " 3"]:
        """The quantiles for that city, or for the fleet."""
        if city == FLEET:
            return self.fleet_q
        if city not in self.cities:
            return self.any_city_q
        return self.city_cq[self.cities.index(city)]


def additive_table() -> TotalsTable:
    """A table that gives the sums of the depots' quantiles."""
    sums_q = np.array([-1.0, 0.0, 1.0], np.float32)
    return TotalsTable((), sums_q, sums_q, np.zeros((0, 3), np.float32))


def calibrate(
    bands: Bands,
    actual_odh: Float[np.ndarray, "origin depot horizon"],
    known_odh: Bool[np.ndarray, "origin depot horizon"],
    cities: Sequence[str],
) -> TotalsTable:
    """The reach of totals on days the fit had not seen.

    Args:
      bands: Forecasts of those days, from origins a day apart.
      actual_odh: What happened, orders.
      known_odh: Where that is known; a total counts those depots alone.
      cities: Of each depot.
    """
    city_d = np.array(cities)
    names = tuple(sorted(set(cities)))
    everyone_d = np.ones(len(city_d), bool)
    fleet_r = _reaches(bands, actual_odh, known_odh & everyone_d[:, None])
    own = [
        _reaches(bands, actual_odh, known_odh & (city_d == name)[:, None])
        for name in names
    ]
    weeks = len(actual_odh) / WEEK_DAYS
    of_cities = weeks * len(names)
    any_city_q = _quantiles(np.concatenate(own), of_cities)
    rows = [_drawn(reach_r, any_city_q, of_cities) for reach_r in own]
    return TotalsTable(
        names, _quantiles(fleet_r, weeks), any_city_q, np.array(rows, np.float32)
    )


def total_forecasts(
    table: TotalsTable, bands: Bands, cities: Sequence[str]
) -> tuple[Total, ...]:
    """The fleet's total, then each city's by name.

    Args:
      table: From `calibrate`.
      bands: Of the fleet's depots, without an origin axis.
      cities: Of each depot.
    """
    city_d = np.array(cities)
    found = [Total(FLEET, *total(bands, table.fleet_q))]
    for city in sorted(set(cities)):
        its = Bands(*(part[city_d == city] for part in bands))
        found.append(Total(city, *total(its, table.reach_of(city))))
    return tuple(found)


def total(
    bands: Bands, reach_q: Float32[np.ndarray, " 3"]
) -> Float[np.ndarray, "3 horizon"]:
    """P10, P50 and P90 of the sum of these depots' orders per day.

    Args:
      bands: Of the depots of one city, or of the fleet; without an origin axis.
      reach_q: From a `TotalsTable`.
    """
    point_h, below_h, above_h = _sums(bands, np.ones(bands.p50.shape, bool))
    half_qh = np.where(reach_q[:, None] < 0, below_h, above_h)
    return np.maximum(point_h + reach_q[:, None] * half_qh, 0.0)


def _sums(bands: Bands, counted: Bool[np.ndarray, "..."]) -> tuple[np.ndarray, ...]:
    """Sums over depots of the point and of the half bands below and above it."""
    parts = (bands.p50, bands.p50 - bands.p10, bands.p90 - bands.p50)
    point, below, above = (np.where(counted, part, 0.0).sum(axis=-2) for part in parts)
    return point, below, above


def _reaches(
    bands: Bands,
    actual_odh: Float[np.ndarray, "origin depot horizon"],
    counted_odh: Bool[np.ndarray, "origin depot horizon"],
) -> Float[np.ndarray, " row"]:
    """How far the total of the counted depots lay from its point, in half bands."""
    point_oh, below_oh, above_oh = _sums(bands, counted_odh)
    miss_oh = np.where(counted_odh, actual_odh, 0.0).sum(axis=-2) - point_oh
    half_oh = np.where(miss_oh < 0, below_oh, above_oh)
    some_oh = half_oh > 0
    return miss_oh[some_oh] / half_oh[some_oh]


def _quantiles(
    reach_r: Float[np.ndarray, " row"], draws: float
) -> Float32[np.ndarray, " 3"]:
    """Those of what residuals reached, widened for as few draws as they are worth.

    By widening alone no further than the sums of the depots' bands: that is how far a
    total reaches whose depots all miss together.
    """
    if not len(reach_r):
        return additive_table().fleet_q
    low, middle, high = np.quantile(reach_r, [LOW, 0.5, HIGH])
    lower, higher = middle + widening(draws) * (np.array([low, high]) - middle)
    reached = [min(low, max(lower, -1.0)), middle, max(high, min(higher, 1.0))]
    return np.array(reached, np.float32)


def widening(draws: float) -> float:
    """By how much Student's t reaches further than the normal distribution, at `HIGH`.

    The first terms of its expansion in 1 / degrees of freedom (Abramowitz and Stegun,
    26.7.5): within 2 % from two degrees on.

    Args:
      draws: As many degrees of freedom; at least one counts.
    """
    z, freedom = NORMAL_HIGH, max(draws, 1.0)
    student = z + (z**3 + z) / (4 * freedom)
    student += (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return student / z


def _drawn(
    reach_r: Float[np.ndarray, " row"],
    any_city_q: Float32[np.ndarray, " 3"],
    draws: float,
) -> Float32[np.ndarray, " 3"]:
    """A city's own quantiles, drawn towards those of all cities."""
    weight = len(reach_r) / (len(reach_r) + CITY_DAYS)
    own_q = _quantiles(reach_r, draws)
    return (weight * own_q + (1 - weight) * any_city_q).astype(np.float32)
