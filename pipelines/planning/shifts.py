"""A city's shifts, and the orders, vans and drivers of each; no I/O.

The orders of an hour outside every shift fall on the next shift that begins; those of an hour in
several shifts are split equally between them. A van's capacity for a day is spread evenly over
the hours of the shifts, so if a planner has set them, the fullest shift decides the day's need.
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
    """The part of each hour's orders that each shift serves; each hour's parts add up to 1."""
    part_sk = np.array([[s.has(hour) for hour in range(HOURS)] for s in shifts], float)
    for hour in np.flatnonzero(part_sk.sum(axis=0) == 0):
        waits = [(s.first - hour) % HOURS for s in shifts]
        part_sk[int(np.argmin(waits)), hour] = 1
    return part_sk / part_sk.sum(axis=0)


@dataclass(frozen=True)
class Load:
    """How the shifts of a day share its orders.

    Attributes:
      fullest: The largest `load` of `by_shift`; at least 1, because the shifts' parts of orders
        and their parts of hours both add up to 1.
      orders_s: Each shift's part of the day's orders.
      length_s: Each shift's part of the hours of all shifts.
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
    # Concatenating an empty part would turn the days into objects.
    return pd.concat([part for part in parts if not part.empty] or [NO_SHIFTS])


def by_shift(
    days: pd.DataFrame,
    bands: pd.DataFrame,
    shares: pd.DataFrame,
    settings: CitySettings,
) -> pd.DataFrame:
    """Orders and relative demand of each shift on the days of one city.

    Args:
      days: The city's days, with their totals: city, target_on, point (planned) and
        model_point.
      bands: `days_ahead.city_bands`; rows of other cities are ignored.
      shares: The city's rows of `days_ahead.city_shares`.
      settings: The city's settings.

    Returns:
      One row for each day and shift: city, target_on, shift (its name), orders, load (demand
      relative to an even spread, which is 1: the shift's part of the day's orders, at the service
      level or on average, whichever is larger, divided by its length), length (its part of all
      shifts' hours), is_set (whether a planner has set the shifts), busiest_hour (of the day),
      busiest_orders (in that hour). No rows for days without shares, such as closed days.
    """
    shifts = parse(settings.shifts) or parse(DEFAULT_SHIFTS)
    wide = shares.pivot_table("share", "target_on", "hour", aggfunc="sum", dropna=False)
    wide = wide[wide.sum(axis=1) > 0]
    own = days.merge(bands, on=["city", "target_on"], how="left")
    own = own[own["target_on"].isin(wide.index) & (own["point"] > 0)]
    if own.empty:
        return NO_SHIFTS
    share_dk = wide.loc[own["target_on"]].to_numpy(float)
    part_ds = share_dk @ hours_by_shift(shifts).T
    concentration = float(shares["concentration"].iloc[0])
    of_shifts, of_days = (
        forecast_parts(*_planned_band(own), part, concentration)
        for part in (part_ds, np.ones((len(own), 1)))
    )
    at_level_ds, at_level_d1 = (
        quantile_orders(each.p10, each.p50, each.p90, settings.service_level)
        for each in (of_shifts, of_days)
    )
    hours_s = np.array([shift.n_hours for shift in shifts], float)
    length_s = hours_s / hours_s.sum()
    # On a day with hardly any orders, most shifts have none even at the service level.
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
            "busiest_orders": (
                share_dk.max(axis=1) * own["point"].to_numpy(float)
            ).repeat(len(shifts)),
        }
    )


def _planned_band(days: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The planned totals, and the ends of the model's band in proportion to them."""
    planned_d = days["point"].to_numpy(float)
    # A planner's number on a day that the model takes to be closed has no band.
    model_d = days["model_point"].where(days["model_point"] > 0).to_numpy(float)
    low_d, high_d = (
        np.nan_to_num(days[name].to_numpy(float) / model_d, nan=1.0) * planned_d
        for name in ("p10", "p90")
    )
    return planned_d, low_d, high_d


def loads(shifts: pd.DataFrame) -> dict[tuple[str, pd.Timestamp], Load]:
    """`Load` by city and day, from `by_shift`, where a planner has set the shifts."""
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
    """Adds each shift's vans and drivers; the fullest shift needs all vans that the day needs.

    Args:
      shifts: From `of_cities`.
      cities: By city and day: needed, and vans (NaN where they are not known).
      settings: Settings by city.

    Returns:
      `shifts` with whole orders, needed (vans that the day needs), vans (that the shift needs),
      short (vans that the shift lacks; NaN where no planner has set the shifts), drivers_needed
      (for the vans that the shift needs) and drivers (for as many of them as the city has).
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
        # Whole orders, which add up to the rounded total of the day.
        orders=until_r - before_r,
        vans=vans_r,
        # Nobody works in default shifts, so these lack no vans.
        short=short_r.where(rows["is_set"].astype(bool)),
        drivers=vans_for(np.fmin(vans_r, rows["vans"]) * drivers_r, 1.0),
        drivers_needed=vans_for(vans_r * drivers_r, 1.0),
    )
