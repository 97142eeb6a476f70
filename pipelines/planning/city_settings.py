"""What a city is planned with: settings that a planner saved or that are estimated, and decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, cast

import numpy as np
import pandas as pd

from pipelines.planning.vans import TOLERANCE, quantile_orders

DEFAULT_CAPACITY = 100
"""Orders per van and day where nothing is known to estimate them from."""
DEFAULT_LEVEL, DEFAULT_DRIVERS = 0.9, 1.0
HIRE, ACCEPT, ASK = "hire", "accept", "ask"


@dataclass(frozen=True)
class VanDecision:
    """The newest decision on the vans of a city on a day.

    Attributes:
      target_on: A day ahead.
      kind: HIRE, ACCEPT or ASK; '' where nothing is decided, or no longer.
      extra: Vans hired for the day, beside those of the city's settings.
      off_road: Vans of the city that cannot drive on that day.
      note: Whom was asked, what it costs and the like; may be empty.
      made_by: The planner; None where nobody has decided anything.
      made_at: When, with a zone.
      decision_id: The number under which it is saved; None where nobody has.
    """

    city: str
    target_on: date
    kind: str = ""
    extra: int = 0
    off_road: int = 0
    note: str = ""
    made_by: str | None = None
    made_at: datetime | None = None
    decision_id: int | None = None


@dataclass(frozen=True)
class CitySettings:
    """Vans, capacity and service level that a city is planned with.

    Attributes:
      vans: Vans of the city per day; None if not known: as many as needed.
      orders_per_van: Orders that a van carries per day.
      service_level: Target probability that all orders of a day are delivered: of each
        depot when its vans are planned, of the whole city when its vans are counted.
      drivers_per_van: Drivers per van and day.
      shifts: Its shifts, as `shift_times.parse` reads them; '' where nobody has set them.
      made_by: The planner who saved them; None where they are estimated.
      made_at: When, with a zone.
      settings_id: The number under which they are saved; None where they are estimated.
      has_estimated_vans: Whether somebody has saved the others only: vans and orders_per_van
        are estimated all the same.
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
    has_estimated_vans: bool = False

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
    def are_taken_back(self) -> bool:
        """Whether all is again as if nobody had saved anything."""
        own = (self.service_level, self.drivers_per_van, self.shifts)
        return self.has_estimated_vans and own == (DEFAULT_LEVEL, DEFAULT_DRIVERS, "")

    @property
    def is_estimated(self) -> bool:
        """Whether nobody has saved vans of this city yet, or they were taken back."""
        return self.settings_id is None or self.has_estimated_vans


def in_force(
    fleet_week: pd.DataFrame,
    busy_day_orders: pd.DataFrame,
    city_settings: pd.DataFrame,
    van_decisions: pd.DataFrame,
) -> dict[str, CitySettings]:
    """The settings of every city with forecast depots: saved ones, else estimated.

    Each argument is what the query of `days_ahead` of that name returns.
    """
    settings = estimate(fleet_week, busy_day_orders)
    rows = cast(list[dict[str, Any]], city_settings.to_dict("records"))
    settings |= {
        row["city"]: _saved(row, settings[row["city"]])
        for row in rows
        if row["city"] in settings
    }
    rows = cast(list[dict[str, Any]], van_decisions.to_dict("records"))
    decisions = [VanDecision(**row) for row in rows]
    return {
        city: replace(
            own,
            decisions={each.target_on: each for each in decisions if each.city == city},
        )
        for city, own in settings.items()
    }


def _saved(row: dict[str, Any], estimated: CitySettings) -> CitySettings:
    """Saved settings; with estimated vans where none are among them."""
    is_estimated = bool(pd.isna(row["vans"]))
    own = (estimated.vans, estimated.orders_per_van)
    if not is_estimated:
        own = (int(row["vans"]), float(row["orders_per_van"]))
    vans, per_van = own
    saved = {
        "vans": vans,
        "orders_per_van": per_van,
        "has_estimated_vans": is_estimated,
    }
    return CitySettings(**(row | saved))


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
    """Total vans of the depots in `days_ahead.fleet_week`; None unless all have a number."""
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
