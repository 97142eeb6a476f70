"""Settings that a city is planned with, saved by a planner or estimated, and van decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, cast

import numpy as np
import pandas as pd

from pipelines.planning.vans import TOLERANCE, quantile_orders

DEFAULT_CAPACITY = 100
"""Orders per van and day where there are no data to estimate them from."""
DEFAULT_LEVEL, DEFAULT_DRIVERS = 0.9, 1.0
HIRE, ACCEPT, ASK = "hire", "accept", "ask"


@dataclass(frozen=True)
class VanDecision:
    """The newest decision on the vans of a city on a day.

    Attributes:
      target_on: The day that the decision is about.
      kind: HIRE, ACCEPT or ASK; '' for none of these, also after one was taken back.
      extra: Vans hired for the day, in addition to those of the city's settings.
      off_road: Vans of the city that cannot drive on that day.
      note: Free text, such as who was asked and the cost; may be empty.
      made_by: The planner; None if there is no decision.
      made_at: Time of the decision, with a zone.
      decision_id: Id of the day's newest saved decision or undo; None if there is none.
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

    @property
    def is_empty(self) -> bool:
        """Whether nothing is decided: there was no decision, or it was taken back."""
        return not (self.kind or self.off_road)


@dataclass(frozen=True)
class CitySettings:
    """Vans, capacity and service level that a city is planned with.

    Attributes:
      vans: Vans of the city per day; None if not known; the plan then uses as many as needed.
      orders_per_van: Orders that a van carries per day.
      service_level: Target probability that all orders of a day are delivered: in the whole
        city for its need of vans, or at one depot if no van is moved.
      drivers_per_van: Drivers per van and day.
      shifts: The city's shifts as text, see `shift_times.parse`; '' if no planner has set them.
      made_by: The planner who saved the settings; None if they are estimated.
      made_at: Time of saving, with a zone.
      settings_id: Id of the saved settings; None if they are estimated.
      has_estimated_vans: Whether the saved settings have neither vans nor orders_per_van, which
        stay estimated.
      decisions: Van decisions by day.
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
        """The decision about the vans of a day; an empty one if there is none."""
        return self.decisions.get(day) or VanDecision(self.city, day)

    def vans_on(self, day: date) -> int | None:
        """The city's vans on a day, less those off the road, plus hired ones; None if not known."""
        if self.vans is None:
            return None
        decision = self.decision_on(day)
        return max(self.vans - decision.off_road, 0) + decision.extra

    @property
    def are_taken_back(self) -> bool:
        """Whether the saved settings equal the estimated and default ones again."""
        own = (self.service_level, self.drivers_per_van, self.shifts)
        return self.has_estimated_vans and own == (DEFAULT_LEVEL, DEFAULT_DRIVERS, "")

    @property
    def is_estimated(self) -> bool:
        """Whether the city's vans are estimated: never saved, or taken back."""
        return self.settings_id is None or self.has_estimated_vans


def in_force(
    fleet_week: pd.DataFrame,
    busy_day_orders: pd.DataFrame,
    city_settings: pd.DataFrame,
    van_decisions: pd.DataFrame,
) -> dict[str, CitySettings]:
    """The settings of every city with forecast depots: saved ones, else estimated.

    Each argument is the result of the `days_ahead` function of the same name.
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
    """Saved settings, with estimated vans if no vans are saved."""
    if pd.isna(row["vans"]):
        vans, per_van = estimated.vans, estimated.orders_per_van
        row |= {"vans": vans, "orders_per_van": per_van, "has_estimated_vans": True}
    else:
        row["vans"] = int(row["vans"])
    return CitySettings(**row)


def estimate(
    week: pd.DataFrame, busy_day_orders: pd.DataFrame
) -> dict[str, CitySettings]:
    """Estimates the settings of every city.

    The vans are those in the depots file. Orders per van are set so that these vans suffice on
    a busy day of the last eight weeks, with the margin of the default service level.
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
    # The model's own: a planner's number for one depot would change the need of every day.
    names = ("model_p10", "model_p50", "model_p90")
    quantiles = (week[name].to_numpy(float) for name in names)
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
