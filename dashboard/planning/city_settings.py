"""The settings that a city is planned with: saved by a planner, or estimated."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, cast

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.planning import shift_times
from dashboard.planning.van_decisions import VanDecision
from dashboard.planning.vans import TOLERANCE, quantile_orders
from dashboard.queries import database
from dashboard.queries.freshness import Freshness
from forecaster.errors import BadInputError

SAVE = (
    "select save_city_settings(:city, :vans, :orders_per_van, :service_level, "
    ":drivers_per_van, :shifts, :planner, :settings_id)"
)
DEFAULT_CAPACITY = 100
"""Orders per van and day where nothing is known to estimate them from."""
DEFAULT_LEVEL, DEFAULT_DRIVERS = 0.9, 1.0
MAX_VANS = MAX_ORDERS_PER_VAN = 100_000
MIN_LEVEL, MAX_LEVEL = 0.5, 0.99
MAX_DRIVERS = 5.0


@dataclass(frozen=True)
class CitySettings:
    """Vans, capacity and service level that a city is planned with.

    Attributes:
      city: Name of the city.
      vans: Vans of the city per day; None if not known: as many as needed.
      orders_per_van: Orders that a van carries per day.
      service_level: Target probability that all orders of a day are delivered: of each
        depot when its vans are planned, of the whole city when its vans are counted.
      drivers_per_van: Drivers per van and day.
      shifts: Its shifts, as `shift_times.parse` reads them; '' where nobody has set them.
      made_by: The planner who saved them; None where they are estimated.
      made_at: When, with a zone.
      settings_id: The number under which they are saved; None where they are estimated.
      decisions: What is decided about the vans of single days.
    """

    city: str
    vans: int | None
    orders_per_van: float
    service_level: float = DEFAULT_LEVEL
    drivers_per_van: float = DEFAULT_DRIVERS
    made_by: str | None = None
    made_at: datetime | None = None
    settings_id: int | None = None
    shifts: str = ""
    decisions: Mapping[date, VanDecision] = field(default_factory=dict)

    def decision_on(self, day: date) -> VanDecision:
        """What is decided about the vans of a day; an empty decision where nothing is."""
        return self.decisions.get(day) or VanDecision(self.city, day)

    def vans_on(self, day: date) -> int | None:
        """The vans of a day: those of the city, and hired ones, without those off the road."""
        if self.vans is None:
            return None
        decision = self.decision_on(day)
        return max(self.vans - decision.off_road, 0) + decision.extra

    @property
    def is_estimated(self) -> bool:
        """Whether nobody has saved settings of this city yet."""
        return self.settings_id is None


@st.cache_data(max_entries=4, show_spinner=False)
def by_city(freshness: Freshness) -> dict[str, CitySettings]:
    """The settings of every city with forecast depots; requires a forecast."""
    week = queries.fleet_week(freshness)
    settings = estimate(week, queries.busy_day_orders(freshness))
    rows = queries.city_settings(freshness).to_dict("records")
    saved = [CitySettings(**cast(dict[str, Any], row)) for row in rows]
    settings |= {each.city: each for each in saved if each.city in settings}
    decisions = [
        VanDecision(**cast(dict[str, Any], row))
        for row in queries.van_decisions(freshness).to_dict("records")
    ]
    return {
        city: replace(
            own,
            decisions={each.target_on: each for each in decisions if each.city == city},
        )
        for city, own in settings.items()
    }


def estimate(
    week: pd.DataFrame, busy_day_orders: pd.DataFrame
) -> dict[str, CitySettings]:
    """Estimates the settings of every city.

    The vans are those of the depots file. A van is taken to carry what lets them suffice
    on a busy day of the last eight weeks, planned as the days ahead are.
    """
    busy = dict(zip(busy_day_orders["city"], busy_day_orders["orders"], strict=True))
    return {
        str(city): CitySettings(
            str(city), total_vans(own), _orders_per_van(own, busy.get(city))
        )
        for city, own in week.groupby("city")
    }


def total_vans(week: pd.DataFrame) -> int | None:
    """Total vans of the depots in `queries.fleet_week`; None unless all have a number."""
    vans = week.drop_duplicates("depot_id")["vans"]
    return None if vans.isna().any() else int(vans.sum())


def _orders_per_van(week: pd.DataFrame, busy_orders: float | None) -> float:
    vans = total_vans(week)
    if not vans or not busy_orders:
        return DEFAULT_CAPACITY
    quantiles = (week[name].to_numpy(float) for name in ("p10", "p50", "p90"))
    p10_r, p50_r, p90_r = quantiles
    margin_r = quantile_orders(p10_r, p50_r, p90_r, DEFAULT_LEVEL)
    is_open_r = p50_r > 0
    margin = (
        float(np.median(margin_r[is_open_r] / p50_r[is_open_r]))
        if any(is_open_r)
        else 1.0
    )
    # The last van of each depot is half full on average.
    full_vans = max(vans - week["depot_id"].nunique() / 2, vans / 2)
    return float(max(np.ceil(busy_orders * margin / full_vans - TOLERANCE), 1.0))


def save(settings: CitySettings, planner: str) -> None:
    """Saves the settings of a city, and clears the cached freshness.

    `settings_id` is of those that the planner has seen.

    Raises:
      BadInputError: with all that is wrong; or another planner has saved meanwhile.
      DatabaseError: as `database.snapshot`.
    """
    wrong = problems(settings, planner)
    if wrong:
        raise BadInputError(" ".join(wrong))
    database.call(SAVE, planner=planner, **vars(settings))
    queries.freshness.clear()


def problems(settings: CitySettings, planner: str) -> list[str]:
    """A sentence for each number that is missing or out of range, and for a missing name."""
    nameless = "Your name is missing; it is kept with the settings."
    text = settings.shifts.strip()
    wrong = (
        [f"Shifts are “{text}”. {shift_times.RULE}"]
        if not shift_times.is_valid(text)
        else []
    )
    return _range_problems(settings) + wrong + ([] if planner.strip() else [nameless])


def _range_problems(settings: CitySettings) -> list[str]:
    level = 100 * settings.service_level
    ranges = [
        ("Vans", settings.vans, 0, MAX_VANS),
        ("Orders per van", settings.orders_per_van, 1, MAX_ORDERS_PER_VAN),
        ("Service level in %", level, 100 * MIN_LEVEL, 100 * MAX_LEVEL),
        ("Drivers per van", settings.drivers_per_van, 1, MAX_DRIVERS),
    ]
    return [
        f"{name} is {'missing' if value is None else f'{value:,g}'}, but must lie between "
        f"{low:,g} and {high:,g}."
        for name, value, low, high in ranges
        if value is None or not low <= value <= high
    ]
