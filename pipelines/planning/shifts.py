"""A city's shifts, and the orders, vans and drivers of each; no I/O.

An hour outside every shift is served by the next one that begins, and one in two shifts by both
halves. A van carries its orders of a day evenly over the hours of the shifts, so that the fullest of
the shifts that a planner has set says how many vans a day needs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from jaxtyping import Float

from forecaster.hours.day_shape import HOURS
from forecaster.hours.hourly import forecast_parts
from pipelines.planning.city_settings import CitySettings
from pipelines.planning.shift_times import DEFAULT_SHIFTS, Shift, parse
from pipelines.planning.vans import quantile_orders, vans_for

NO_SHIFTS = pd.DataFrame(
    columns=["city", "target_on", "shift", "is_set"], dtype=object
).astype({"is_set": bool})


def hours_by_shift(shifts: Sequence[Shift]) -> Float[np.ndarray, "shift 24"]:
    """The part of each hour's orders that each shift serves; a column adds up to 1."""
    part_sk = np.array([[s.has(hour) for hour in range(HOURS)] for s in shifts], float)
    for hour in np.flatnonzero(part_sk.sum(axis=0) == 0):
        waits = [(s.first - hour) % HOURS for s in shifts]
        part_sk[int(np.argmin(waits)), hour] = 1
    return part_sk / part_sk.sum(axis=0)


@dataclass(frozen=True)
class Load:
    """How the shifts of a day share its orders.

    Attributes:
      fullest: The largest `load` of `by_shift`; at least 1, as parts of orders and of hours both
        add up to 1.
      orders_s: Part of the day's orders that falls on each shift.
      length_s: Part of a van's day that each shift is.
    """

    fullest: float = 1.0
    orders_s: tuple[float, ...] = (1.0,)
    length_s: tuple[float, ...] = (1.0,)


def of_cities(
    days: pd.DataFrame,
    bands: pd.DataFrame,
    shares: pd.DataFrame,
    settings: Mapping[str, CitySettings],
) -> pd.DataFrame:
    """`by_shift` of each city in `days`; no rows where orders have no times."""
    if shares.empty:
        return NO_SHIFTS
    parts = [
        by_shift(own, bands, shares[shares["city"] == city], settings[str(city)])
        for city, own in days.groupby("city")
    ]
    # An empty part would turn the days of all into objects.
    return pd.concat([part for part in parts if not part.empty] or [NO_SHIFTS])


def by_shift(
    days: pd.DataFrame,
    bands: pd.DataFrame,
    shares: pd.DataFrame,
    settings: CitySettings,
) -> pd.DataFrame:
    """Orders of each shift of a city's days.

    Args:
      days: The city's days, with their totals: city, target_on, point (planned) and
        model_point.
      bands: Of it, from `days_ahead.city_bands`.
      shares: Its rows of `days_ahead.city_shares`.
      settings: Of the city.

    Returns:
      city, target_on, shift (its name), orders, load (orders at the service level, over what
      vans for the day's carry in it; at least the shift's part of the orders over its part of
      the hours), length (part of a van's day), is_set (whether a planner has set the shifts),
      busiest_hour and its orders, as busiest_orders: a row for each day and shift; none for
      days without shares, such as days that the model takes to be closed.
    """
    shifts = parse(settings.shifts) or parse(DEFAULT_SHIFTS)
    wide = shares.pivot_table("share", "target_on", "hour", aggfunc="sum", dropna=False)
    wide = wide[wide.sum(axis=1) > 0]
    own = days.merge(bands, on=["city", "target_on"], how="left")
    own = own[own["target_on"].isin(wide.index) & (own["point"] > 0)]
    if own.empty:
        return NO_SHIFTS
    share_dk = wide.loc[own["target_on"]].to_numpy(float)
    orders_d = own["point"].to_numpy(float)
    # What planners set on days that the model takes to be closed has no band.
    model_d = own["model_point"].where(own["model_point"] > 0).to_numpy(float)
    low_d, high_d = (
        np.nan_to_num(own[name].to_numpy(float) / model_d, nan=1.0) * orders_d
        for name in ("p10", "p90")
    )
    part_ds = share_dk @ hours_by_shift(shifts).T
    concentration = float(shares["concentration"].iloc[0])
    of_shifts, of_days = (
        forecast_parts(orders_d, low_d, high_d, part, concentration)
        for part in (part_ds, np.ones((len(own), 1)))
    )
    hours_s = np.array([shift.n_hours for shift in shifts], float)
    length_s = hours_s / hours_s.sum()
    level = settings.service_level
    at_level_ds, at_level_d1 = (
        quantile_orders(each.p10, each.p50, each.p90, level)
        for each in (of_shifts, of_days)
    )
    # Of a day with hardly any orders, most shifts have none even at the service level.
    load_ds = np.maximum(at_level_ds / np.maximum(at_level_d1, 1.0), part_ds) / length_s
    busiest_d = np.nanargmax(share_dk, axis=1)
    return pd.DataFrame(
        {
            "city": settings.city,
            "target_on": own["target_on"].repeat(len(shifts)).to_numpy(),
            "shift": [shift.name for shift in shifts] * len(own),
            "orders": of_shifts.mean.ravel(),
            "load": load_ds.ravel(),
            "length": np.tile(length_s, len(own)),
            "is_set": bool(settings.shifts),
            "busiest_hour": busiest_d.repeat(len(shifts)),
            "busiest_orders": (share_dk.max(axis=1) * orders_d).repeat(len(shifts)),
        }
    )


def loads(shifts: pd.DataFrame) -> dict[tuple[str, pd.Timestamp], Load]:
    """The load of each city and day whose shifts a planner has set, from `by_shift`."""
    of_days = shifts[shifts["is_set"]].groupby(["city", "target_on"])
    return {
        cast(tuple[str, pd.Timestamp], key): Load(
            own["load"].max(),
            tuple(own["orders"] / own["orders"].sum()),
            tuple(own["length"]),
        )
        for key, own in of_days
    }


def with_vans(
    shifts: pd.DataFrame, cities: pd.DataFrame, settings: Mapping[str, CitySettings]
) -> pd.DataFrame:
    """Adds the vans and drivers of each shift to `by_shift`; the fullest needs the day's vans.

    Args:
      shifts: From `of_cities`.
      cities: By city and day: needed, and vans (NaN where they are not known).
      settings: Of each city.

    Returns:
      `shifts` with whole orders, needed (vans of the day), vans (that the shift needs), short
      (what it lacks of them; NaN where nobody has set the shifts), drivers_needed (of the vans
      that it needs) and drivers (of those that go: no more than the city has).
    """
    if shifts.empty:
        return shifts
    keys = ["city", "target_on"]
    rows = shifts.merge(cities[[*keys, "needed", "vans"]], on=keys)
    of_days = rows.groupby(keys)["load"]
    of_day_r = rows["load"] / of_days.transform("max")
    vans_r = vans_for((rows["needed"] * of_day_r).to_numpy(float), 1.0)
    short_r = (vans_r - rows["vans"]).clip(lower=0)
    per_van_r = rows["city"].map(lambda city: settings[city].drivers_per_van)
    drivers_r = (per_van_r / of_days.transform("size")).clip(lower=1.0).to_numpy(float)
    until_r = rows.groupby(keys)["orders"].cumsum().round()
    before_r = until_r.groupby([rows[key] for key in keys]).shift(fill_value=0.0)
    return rows.assign(
        # Whole ones, which add up to those of the day.
        orders=until_r - before_r,
        vans=vans_r,
        # Nobody works in shifts that nobody has set.
        short=short_r.where(rows["is_set"].astype(bool)),
        drivers=vans_for(np.fmin(vans_r, rows["vans"]) * drivers_r, 1.0),
        drivers_needed=vans_for(vans_r * drivers_r, 1.0),
    )
