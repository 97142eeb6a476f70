"""The plan: vans and drivers of each depot and day, and what each city needs and has.

*Need*: the vans with which a city carries all orders of a day at its service level, if they may be
moved between its depots that morning. *Have*: the city's vans. *Short*: need less have. Each depot
gets a part of the city's vans, and of its need. Where a planner has set a city's shifts, the
fullest shift decides the need, and a day is delivered in full if each of its shifts is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from forecaster.inference import paths
from forecaster.inference.paths import PathTable
from forecaster.inference.totals import QuantileForecasts, Total
from pipelines.planning import shifts, vans
from pipelines.planning.city_settings import HIRE, CitySettings, VanDecision
from pipelines.planning.shifts import Load

QUANTILES = ["p10", "p50", "p90"]
PARTS = ("part", "model_part")
"""Columns of each depot-day's part of a total: of the planned total, and of the model's."""
DRIVERS = ["drivers", "drivers_needed"]
DECISION = ("kind", "extra", "off_road", "note", "made_at")
CHANCES = (
    "delivery_probability",
    "for_likely",
    "likely_chance",
    "full_chance",
    "chance_without",
    "undelivered_without",
)
"""Columns of `Plan.cities` that are NaN unless the city's vans are known."""
ALL_CITIES = "All cities"
LIKELY = 0.7
"""A chance of full delivery that takes fewer hired vans than a usual service level."""
NO_HOURS = pd.DataFrame()
Settings = Mapping[str, CitySettings]
Loads = Mapping[tuple[str, pd.Timestamp], Load]
Bands = Mapping[tuple[str, pd.Timestamp], tuple[float, float]]
"""The 80 % band of the model's total, by city and day."""
Changes = Mapping[tuple[str, pd.Timestamp], float]
"""Orders estimated beyond the planned ones (fewer: below 0), by city and running day."""
LEAST_CHANGE = 0.005
"""Share of a city's planned orders below which such a change does not count."""


@dataclass(frozen=True)
class Plan:
    """The plan of some whole cities.

    Attributes:
      depots: The rows and columns of `days_ahead.fleet_week`, and: needed (the depot's part of
        its city's need), allocated (its part of the city's vans, up to the city's need), short
        (needed - allocated; the sum over depots is the city's), short_alone (vans that the depot
        lacks for the service level if none is moved, compared with its own vans or, if these are
        not known, the allocated ones), drivers (for the allocated vans), drivers_needed (for the
        needed vans), undelivered (its part of its city's expected late orders, in proportion to
        its orders beyond the capacity of the allocated vans), delivery_probability (that the allocated
        vans carry all orders of the depot), capacity (orders that a van carries on the day, less if
        one shift is fuller than the others).
      cities: By city and day: city, target_on, point (the planned total), model_point (the
        model's total), needed, vans (including hired ones, without those off the road; NaN if not
        known), short (needed - vans, at least 0), delivery_probability (that the city's vans
        carry all orders; NaN if vans are not known), undelivered (expected orders that the vans
        leave behind; 0 if they surely carry all, NaN if vans are not known), drivers
        and drivers_needed (sums over shifts, or over depots where orders have no times); kind (''
        for none), extra, off_road, note, made_by and made_at of its `VanDecision`; is_decided
        (whether the decision settles the day: a hire does only if the day is no longer short);
        at_pace (vans needed for a running day's estimated orders, otherwise `needed`), short_at_pace
        (vans lacking at that pace; 0 if vans are not known), is_enough (none does) and is_due (neither
        enough nor decided); and for days that are short without hired vans: lacking (vans short without them), for_likely
        (hired vans for a chance of at least LIKELY), full_chance and likely_chance (chances with
        these hired vans), chance_without and undelivered_without (without hired vans).
      shifts: Rows of `shifts.with_vans`; none where orders have no times.
      every_day: city and delivery_probability (that the city's vans carry all orders on every day
        ahead); a last row, `ALL_CITIES`, for every city at once. NaN where vans are not known.
    """

    depots: pd.DataFrame
    cities: pd.DataFrame
    every_day: pd.DataFrame
    shifts: pd.DataFrame

    def of_city(self, city: str) -> "Plan":
        """The plan of one city, its depots by name."""
        own = self.depots[self.depots["city"] == city]
        return Plan(
            own.sort_values(["name", "depot_id", "target_on"], ignore_index=True),
            self.cities[self.cities["city"] == city],
            self.every_day[self.every_day["city"] == city],
            self.shifts[self.shifts["city"] == city],
        )


def make_plan(
    week: pd.DataFrame,
    settings: Settings,
    bands: pd.DataFrame,
    replay: PathTable | None = None,
    shares: pd.DataFrame = NO_HOURS,
    changes: Changes = MappingProxyType({}),
) -> Plan:
    """Plans whole cities.

    Args:
      week: Rows of `days_ahead.fleet_week`.
      settings: Settings by city, for every city in `week`.
      bands: `days_ahead.city_bands`; the depots of a city without a band are taken to be fully
        correlated.
      replay: Last year's errors, from the artefact that made the forecast; None if not available.
      shares: `days_ahead.city_shares`; no rows where orders have no times.
      changes: Estimated less planned orders of running days.
    """
    keys = zip(bands["city"], bands["target_on"], strict=True)
    band_of = dict(zip(keys, zip(bands["p10"], bands["p90"], strict=True), strict=True))
    # From the origin on, so that the paths of a day do not change when earlier days are over.
    first = week["origin_on"].iloc[0] + pd.Timedelta(days=1)
    days = pd.date_range(first, week["target_on"].max())
    totals = week.groupby(["city", "target_on"], as_index=False)[list(PARTS)].sum()
    totals = totals.rename(columns={"part": "point", "model_part": "model_point"})
    by_shift = shifts.of_cities(totals, bands, shares, settings)
    loads = shifts.loads(by_shift)
    # City by city: the paths of a large fleet would take a gigabyte.
    parts = [
        _plan_city(
            own,
            settings[str(city)],
            _orders_by_path(own, days, band_of, replay),
            loads,
            changes,
        )
        for city, own in week.groupby("city", sort=False)
    ]
    cities = pd.concat([days.astype({"vans": float}) for _, days, _ in parts])
    cities["short"] = (cities["needed"] - cities["vans"]).clip(lower=0).fillna(0)
    without = cities["vans"] - cities["extra"]
    cities["lacking"] = (cities["needed"] - without).clip(lower=0).fillna(0)
    cities = cities.astype({"short": int, "lacking": int})
    cities = cities.sort_values(["city", "target_on"], ignore_index=True)
    by_shift = shifts.with_vans(by_shift, cities, settings)
    if not by_shift.empty:
        of_shifts = by_shift.groupby(["city", "target_on"])[DRIVERS].sum()
        of_days = cities.set_index(of_shifts.index.names)[DRIVERS]
        own = of_shifts.reindex(of_days.index).fillna(of_days)
        cities[DRIVERS] = own.astype(int).to_numpy()
    hires_too_few = (cities["kind"] == HIRE) & (cities["short"] > 0)
    cities["is_decided"] = (cities["kind"] != "") & ~hires_too_few
    return Plan(
        pd.concat([depots for depots, _, _ in parts]),
        with_shortage_at_pace(cities),
        _every_day({days["city"].iloc[0]: carried_s for _, days, carried_s in parts}),
        by_shift,
    )


def with_shortage_at_pace(days: pd.DataFrame) -> pd.DataFrame:
    """Adds short_at_pace, is_enough and is_due to days with the other columns of `Plan.cities`."""
    short = (days["at_pace"] - days["vans"]).clip(lower=0).fillna(0).astype(int)
    days = days.assign(short_at_pace=short, is_enough=short.eq(0))
    return days.assign(is_due=~(days["is_enough"] | days["is_decided"]))


def _every_day(carried: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """`Plan.every_day` from each city's paths: 1 if all orders are carried every day, else 0; or NaN."""
    cities = sorted(carried)
    # Path by path, because days and cities are correlated; a minimum with NaN is NaN.
    all_cities_s = np.minimum.reduce(list(carried.values()))
    chances = [carried[city].mean() for city in cities]
    return pd.DataFrame(
        {
            "city": [*cities, ALL_CITIES],
            "delivery_probability": [*chances, all_cities_s.mean()],
        }
    )


def _orders_by_path(
    week: pd.DataFrame,
    days: pd.DatetimeIndex,
    band_of: Bands,
    replay: PathTable | None,
) -> np.ndarray:
    """Orders of every row of a city on each of `paths.N_PATHS` equally likely paths of the days."""
    # Sorted, so that the preview of a change draws the same paths as the page after it.
    depot_r, depots = pd.factorize(week["depot_id"], sort=True)
    day_r = days.get_indexer(pd.DatetimeIndex(week["target_on"]))
    quantiles = np.zeros((len(QUANTILES), len(depots), len(days)))
    quantiles[:, depot_r, day_r] = week[QUANTILES].to_numpy(float).T
    city = str(week["city"].iloc[0])
    planned_h, model_h = (np.bincount(day_r, week[name], len(days)) for name in PARTS)
    band_qh = quantiles[[0, -1]].sum(axis=1)
    for step in np.unique(day_r):
        if band := band_of.get((city, days[step])):
            # The model's band is scaled by the planners' changes.
            ratio = planned_h[step] / model_h[step] if model_h[step] > 0 else 1.0
            band_qh[:, step] = ratio * np.array(band)
    low_h, high_h = band_qh
    drawn_sdh = paths.sample(
        replay or paths.no_history(len(days)),
        QuantileForecasts(*quantiles),
        [Total(city, low_h, (low_h + high_h) / 2, high_h)],
        [city] * len(depots),
    )
    return drawn_sdh[:, depot_r, day_r]


@dataclass(frozen=True)
class _CityDay:
    """The paths of a city's orders on one day, and the vans that they need.

    Attributes:
      load: How the city's shifts share the orders.
      orders_sr: Orders on each path, of each of the city's depots.
      planned: The planned total.
    """

    city: CitySettings
    load: Load
    orders_sr: np.ndarray
    planned: float

    @property
    def capacity(self) -> float:
        """Orders that a van carries on the day, less if one shift is fuller than the others."""
        return self.city.orders_per_van / self.load.fullest

    @cached_property
    def vans_s(self) -> np.ndarray:
        """Vans that each path needs, if they may be moved between the depots."""
        return self._vans(self.orders_sr)

    def _vans(self, orders_sr: np.ndarray) -> np.ndarray:
        return np.asarray(vans.vans_for(orders_sr, self.capacity).sum(axis=1))

    def needed_with(self, change: float) -> int:
        """The vans needed if the day has `change` more orders than planned."""
        if not (self.planned and abs(change) > LEAST_CHANGE * self.planned):
            return self.enough(self.city.service_level)
        vans_s = self._vans(self.orders_sr * (1 + change / self.planned))
        return vans.vans_that_suffice(vans_s, self.city.service_level)

    def enough(self, level: float) -> int:
        """The fewest vans that carry all orders with a probability of at least `level`."""
        return vans.vans_that_suffice(self.vans_s, level)

    def chance(self, n_vans: int) -> float:
        """The probability that `n_vans` carry all orders."""
        return float((self.vans_s <= n_vans).mean())

    def late(self, n_vans: int) -> float:
        """Expected orders that `n_vans` leave behind, at most the planned ones."""
        left_s = _over_shifts(
            vans.left_behind, self.orders_sr, n_vans, self.city, self.load
        )
        return min(float(left_s.mean()), self.planned)

    def hire_options(self, needed: int, unhired: int) -> dict[str, float]:
        """What hiring can achieve on a day that is short without hired vans; empty for other days."""
        if needed <= unhired:
            return {}
        likely = self.enough(LIKELY)
        return {
            "for_likely": float(max(likely - unhired, 0)),
            "likely_chance": self.chance(likely),
            "full_chance": self.chance(needed),
            "chance_without": self.chance(unhired),
            "undelivered_without": self.late(unhired),
        }

    def outcome(self, decision: VanDecision) -> dict[str, Any]:
        """The columns of `Plan.cities` that follow from the day's vans and a decision on them."""
        has = self.city.vans_on(decision.target_on)
        needed = self.enough(self.city.service_level)
        if decision.is_empty:
            decision = VanDecision(self.city.city, decision.target_on)
        columns = {
            "needed": needed,
            "vans": has,
            "undelivered": np.nan if has is None else self.late(has),
            **{name: getattr(decision, name) for name in DECISION},
            "made_by": decision.made_by or "",
            **dict.fromkeys(CHANCES, np.nan),
        }
        if has is not None:
            columns["delivery_probability"] = self.chance(has)
            columns |= self.hire_options(needed, has - decision.extra)
        return columns


def _allocate(
    case_rs: np.ndarray,
    capacity: float,
    own_r: np.ndarray,
    needed: int,
    has: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Divides among a city's depots the vans that it needs on a day, and the vans that it has.

    Args:
      case_rs: Orders of each depot, equally likely and smallest first.
      capacity: Orders that a van carries.
      own_r: Vans that each depot owns.
      needed: Vans that the city needs.
      has: Vans that the city has; None if not known; the needed ones are then allocated.
    """
    order = vans.allocation_order(case_rs, capacity)[:needed]
    needed_r = np.bincount(order, minlength=len(case_rs))
    if has is None or has >= needed:
        return needed_r, needed_r
    # Of the needed vans, those that carry most; moved vans count `MOVE_COST` less.
    order = vans.allocation_order(case_rs, capacity, own_r, needed_r)[:has]
    return needed_r, np.bincount(order, minlength=len(case_rs))


def _plan_city(
    week: pd.DataFrame,
    city: CitySettings,
    orders_sr: np.ndarray,
    loads: Loads,
    changes: Changes,
) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Plans the depots and days of one city from the paths of its orders.

    Returns:
      Depots, days, and for each path 1 if the vans carry all orders on every day, else 0; NaN if
      the vans are not known.
    """
    p10_r, p50_r, p90_r = (week[name].to_numpy(float) for name in QUANTILES)
    planned_r, model_r = (week[name].to_numpy(float) for name in PARTS)
    level_r = vans.quantile_orders(p10_r, p50_r, p90_r, city.service_level)
    case_rs = vans.cases(p10_r, p50_r, p90_r)
    # If any depot's vans are not known, it is not known which vans move: moves cost nothing.
    own_r = np.where(week["vans"].isna().any(), np.inf, week["vans"])
    needed_r, allocated_r, alone_r = np.zeros((3, len(week)), int)
    late_r, chance_r, capacity_r = np.zeros((3, len(week)))
    days = []
    carried_s = np.full(len(orders_sr), np.nan if city.vans is None else 1.0)
    for day, rows in week.groupby("target_on").indices.items():
        load = loads.get((city.city, pd.Timestamp(str(day))), shifts.Load())
        planned = float(planned_r[rows].sum())
        city_day = _CityDay(city, load, orders_sr[:, rows], planned)
        capacity = city_day.capacity
        outcome = city_day.outcome(city.decision_on(pd.Timestamp(str(day)).date()))
        has, cases = outcome["vans"], (case_rs[rows], capacity)
        needed_r[rows], allocated_r[rows] = _allocate(
            *cases, own_r[rows], outcome["needed"], has
        )
        alone_r[rows] = vans.vans_for(level_r[rows], capacity)
        alone = _over_shifts(
            vans.undelivered, case_rs[rows], allocated_r[rows], city, load
        )
        # Scaled to the city's late orders, which are fewer because vans may be moved.
        late_r[rows] = alone * (
            outcome["undelivered"] / max(alone.sum(), vans.TOLERANCE)
        )
        capacity_r[rows] = capacity
        chance_r[rows] = vans.delivery_probability(*cases, allocated_r[rows])
        change = changes.get((city.city, pd.Timestamp(str(day))), 0.0)
        total = {
            "city": city.city,
            "target_on": day,
            "point": planned,
            "model_point": model_r[rows].sum(),
            "at_pace": city_day.needed_with(change),
        }
        days.append(total | outcome)
        if has is not None:
            carried_s *= city_day.vans_s <= has
    alone_from_r = week["vans"].fillna(pd.Series(allocated_r, week.index))
    depots = week.assign(
        needed=needed_r,
        allocated=allocated_r,
        short=needed_r - allocated_r,
        short_alone=np.maximum(alone_r - alone_from_r, 0).astype(int),
        drivers=vans.vans_for(allocated_r * city.drivers_per_van, 1.0),
        drivers_needed=vans.vans_for(needed_r * city.drivers_per_van, 1.0),
        undelivered=late_r,
        delivery_probability=chance_r,
        capacity=capacity_r,
    )
    drivers = depots.groupby("target_on")[DRIVERS].sum()
    return depots, pd.DataFrame(days).join(drivers, on="target_on"), carried_s


def _over_shifts(
    late_orders: Callable[..., np.ndarray],
    orders: np.ndarray,
    n_vans: int | np.ndarray,
    city: CitySettings,
    load: Load,
) -> np.ndarray:
    """Late orders of a day, added up over its shifts.

    By path if `late_orders` is `vans.left_behind`, by row if it is `vans.undelivered`.
    """
    parts = zip(load.orders_s, load.length_s, strict=True)
    late = [
        late_orders(part * orders, length * city.orders_per_van, n_vans)
        for part, length in parts
    ]
    return np.sum(late, axis=0)
