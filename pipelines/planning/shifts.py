"""A city's shifts, and the orders, vans and drivers of each; no I/O.

An hour outside every shift is served by the next one that begins, and one in two shifts by both
halves. A van carries its orders of a day evenly over the hours of the shifts.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from forecaster.hours.day_shape import HOURS
from forecaster.hours.hourly import forecast_parts
from pipelines.planning.city_settings import CitySettings
from pipelines.planning.shift_times import DEFAULT_SHIFTS, Shift, parse
from pipelines.planning.vans import quantile_orders, vans_for

NO_SHIFTS = pd.DataFrame(columns=["city", "target_on"])


def hours_by_shift(shifts: Sequence[Shift]) -> Float[np.ndarray, "shift 24"]:
    """The part of each hour's orders that each shift serves; a column adds up to 1."""
    part_sk = np.array([[s.has(hour) for hour in range(HOURS)] for s in shifts], float)
    for hour in np.flatnonzero(part_sk.sum(axis=0) == 0):
        waits = [(s.first - hour) % HOURS for s in shifts]
        part_sk[int(np.argmin(waits)), hour] = 1
    return part_sk / part_sk.sum(axis=0)


def of_cities(
    days: pd.DataFrame,
    bands: pd.DataFrame,
    shares: pd.DataFrame,
    settings: Mapping[str, CitySettings],
) -> pd.DataFrame:
    """`by_shift` of each city in `days`; no rows where orders have no times."""
    if shares.empty:
        return NO_SHIFTS
    return pd.concat(
        by_shift(own, bands, shares[shares["city"] == city], settings[str(city)])
        for city, own in days.groupby("city")
    )


def with_largest(days: pd.DataFrame, shifts: pd.DataFrame) -> pd.DataFrame:
    """`Plan.cities` with what the shifts of a day need.

    Args:
      days: Rows of `Plan.cities`.
      shifts: `by_shift` of them; empty where orders have no times.

    Returns:
      The days, with drivers of all shifts where they have any; and the columns shift,
      shift_need, shift_short and shift_lacking of `Plan.cities`.
    """
    if shifts.empty:
        return days.assign(shift="", shift_need=np.nan, shift_short=0, shift_lacking=0)
    by_day = shifts.sort_values("vans").groupby(["city", "target_on"])
    of_day = by_day.agg(
        shift=("shift", "last"),
        shift_need=("vans", "last"),
        missing=("missing", "last"),
        drivers=("drivers", "sum"),
    )
    own = days.merge(of_day, "left", ["city", "target_on"], suffixes=("", "_of_shifts"))
    missing = own["missing"]
    without = missing + own["extra"]
    return own.drop(columns="missing").assign(
        shift=own["shift"].fillna(""),
        shift_need=own["shift_need"].where(missing > own["short"]),
        shift_short=missing.where(missing > own["short"], 0).astype(int),
        shift_lacking=without.where(without > own["lacking"], 0).astype(int),
        drivers=own["drivers_of_shifts"].fillna(own["drivers"]).astype(int),
    )


def by_shift(
    days: pd.DataFrame,
    bands: pd.DataFrame,
    shares: pd.DataFrame,
    settings: CitySettings,
) -> pd.DataFrame:
    """Orders, vans and drivers of each shift of a city's days.

    Args:
      days: The city's rows of `Plan.cities`.
      bands: Of it, from `days_ahead.city_bands`.
      shares: Its rows of `days_ahead.city_shares`.
      settings: Of the city.

    Returns:
      city, target_on, shift (its name), orders, vans, missing (vans less those of the day; NaN
      where they are not known or nobody has set the shifts), short (vans missing, 0 at least,
      NaN alike), drivers, busiest_hour and its orders, as
      busiest_orders: a row for each day and shift; none for days without shares.
    """
    shifts = parse(settings.shifts) or parse(DEFAULT_SHIFTS)
    wide = shares.pivot_table("share", "target_on", "hour", aggfunc="sum", dropna=False)
    own = days.merge(bands, on=["city", "target_on"], how="left")
    own = own[own["target_on"].isin(wide.index) & (own["point"] > 0)]
    if own.empty:
        return NO_SHIFTS
    share_dk = wide.loc[own["target_on"]].to_numpy(float)
    orders_d = own["point"].to_numpy(float)
    ratio_d = np.where(own["model_point"] > 0, orders_d / own["model_point"], 1.0)
    low_d, high_d = (
        ratio_d * own[name].fillna(own["model_point"]).to_numpy(float)
        for name in ("p10", "p90")
    )
    parts = forecast_parts(
        orders_d, low_d, high_d, share_dk @ hours_by_shift(shifts).T,
        float(shares["concentration"].iloc[0]),
    )  # fmt: skip
    length_s = np.array([shift.n_hours for shift in shifts], float)
    capacity_s = settings.orders_per_van * length_s / length_s.sum()
    level = settings.service_level
    busy_ds = quantile_orders(parts.p10, parts.p50, parts.p90, level)
    # Vans of depots are not full; how far, the city's need of the day tells.
    full_d = quantile_orders(low_d, orders_d, high_d, level) / settings.orders_per_van
    partly_full_d = own["needed"].to_numpy(float) / np.maximum(full_d, 1e-9)
    vans_ds = vans_for(partly_full_d[:, None] * busy_ds / capacity_s, 1.0)
    has_d = own["vans"].to_numpy(float) if settings.shifts else np.nan
    missing_ds = (vans_ds.T - has_d).T
    drivers = max(settings.drivers_per_van / len(shifts), 1.0)
    busiest_d = np.nanargmax(share_dk, axis=1)
    return pd.DataFrame(
        {
            "city": settings.city,
            "target_on": own["target_on"].repeat(len(shifts)).to_numpy(),
            "shift": [shift.name for shift in shifts] * len(own),
            "orders": parts.mean.ravel(),
            "vans": vans_ds.ravel(),
            "missing": missing_ds.ravel(),
            "short": np.maximum(missing_ds, 0.0).ravel(),
            "drivers": vans_for(vans_ds * drivers, 1.0).ravel(),
            "busiest_hour": busiest_d.repeat(len(shifts)),
            "busiest_orders": (share_dk.max(axis=1) * orders_d).repeat(len(shifts)),
        }
    )
