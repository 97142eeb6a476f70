"""Estimates the running day's total from its orders so far.

The forecast and the total implied by the count are averaged, weighted by inverse variance. The
forecast's variance is from its band; the count's from chance and single days' deviations in shape.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32

from forecaster.hours.day_shape import HOURS
from forecaster.inference.baseline_errors import NORMAL_HIGH

MIN_SHARE = 0.03
"""Usual share of a day's orders by now, below which the forecast is the better one (lab book)."""
FLEET = ""
OFF_DEVIATIONS = 2.5
"""Standard deviations beyond which a depot's orders so far are out of the ordinary."""
CITY_COLUMNS = (
    "city", "target_on", "until_hour", "depots", "is_whole", "orders_so_far", "usual_share",
    "forecast", "estimate", "p10", "p90",
)  # fmt: skip


class DayEstimate(NamedTuple):
    """Estimated orders of whole running days, with their 80 % band."""

    orders: Float[np.ndarray, " row"]
    p10: Float[np.ndarray, " row"]
    p90: Float[np.ndarray, " row"]


def share_until(
    share: Float32[np.ndarray, "*row 24"], hour: Float[np.ndarray, "*row"]
) -> Float[np.ndarray, "*row"]:
    """Usual share of a day's orders that come before an hour; 11.5 is half past eleven."""
    part = np.clip(np.asarray(hour)[..., None] - np.arange(HOURS), 0.0, 1.0)
    until: np.ndarray = (share * part).sum(axis=-1)
    return until


def estimate(
    count: Float[np.ndarray, " row"],
    orders: Float[np.ndarray, " row"],
    p10: Float[np.ndarray, " row"],
    p90: Float[np.ndarray, " row"],
    share: Float[np.ndarray, " row"],
    concentration: Float[np.ndarray, " row"] | float,
) -> DayEstimate:
    """Estimates whole days from their orders so far.

    Args:
      count: Orders so far.
      orders: Forecast of the whole day.
      p10: Lower bound of the forecast's 80 % band.
      p90: Upper bound.
      share: Share of the day's orders that usually come by now.
      concentration: Concentration of the rows (depots or cities), from `day_shape`.
    """
    is_telling = (share >= MIN_SHARE) & (orders > 0)
    usual = np.where(is_telling, share, 1.0)
    prior = ((p90 - p10) / (2 * NORMAL_HIGH)) ** 2
    # Variance of the count over its usual share, if the day has as many orders as forecast.
    noise = (
        orders * (1 - usual) / usual * (orders + concentration) / (1 + concentration)
    )
    # At the end of a day its total is the count, even if its band has no width.
    weight = np.divide(
        prior, prior + noise, out=np.ones_like(prior), where=prior + noise > 0
    )
    weight = np.where(is_telling, weight, 0.0)
    middle = np.maximum(orders + weight * (count / usual - orders), count)
    half = NORMAL_HIGH * np.sqrt(np.where(is_telling, weight * noise, prior))
    return DayEstimate(middle, np.maximum(middle - half, count), middle + half)


def running_cities(depots: pd.DataFrame) -> pd.DataFrame:
    """Estimates the running day's orders of the fleet (first row) and of each city.

    Args:
      depots: Depots with orders of the running day: depot_id, city, target_on, until_hour,
        by_hour, share, city_concentration, part and model_part (its orders in the planned
        and in the model's total), and the model's quantiles of totals: city_p10, city_p50,
        city_p90, fleet_p10, fleet_p50, fleet_p90.

    Returns:
      `CITY_COLUMNS`: city (FLEET for all, if each city is estimated and nearly every open depot
      has orders of the same day), target_on, until_hour (of the feed that is furthest behind,
      local time), depots (number whose source has orders of the day), is_whole (whether no other depot has more than half
      an order of the model's total), orders_so_far, usual_share (of a day's orders by then),
      forecast (planned at these depots), estimate, and the estimate's 80 % band p10 and p90.
    """
    if depots.empty:
        return pd.DataFrame(columns=list(CITY_COLUMNS))
    so_far = depots_so_far(depots)
    cities = _summed(so_far, "city")
    fleet = _summed(so_far.assign(city=FLEET), "fleet")
    # Of a large fleet some depot is always dormant; `is_whole` says so.
    is_nearly_whole = np.isclose(fleet["covered"], fleet["p50"], 1e-3).all()
    if len(cities) > 1 and len(fleet) == 1 and is_nearly_whole:
        cities = pd.concat([fleet, cities])
    share_r = (cities["expected"] / cities["forecast"]).to_numpy(float)
    # Scales the model's band to the planner's numbers; without a band, the number is certain.
    has_band = cities["p50"] > 0
    ratio = cities["forecast"] / cities["p50"].where(has_band)
    low, high = (
        (ratio * cities[name]).where(has_band, cities["forecast"]).to_numpy(float)
        for name in ("p10", "p90")
    )
    estimated = estimate(
        cities["orders_so_far"].to_numpy(float),
        cities["forecast"].to_numpy(float),
        low,
        high,
        share_r,
        float(depots["city_concentration"].iloc[0]),
    )
    cities = cities.assign(
        usual_share=share_r,
        estimate=estimated.orders,
        p10=estimated.p10,
        p90=estimated.p90,
    )
    is_told = share_r >= MIN_SHARE
    # A total of which one part is too early to tell would contradict the others.
    is_told &= is_told.all() | (cities["city"] != FLEET).to_numpy()
    return cities.loc[is_told, list(CITY_COLUMNS)].reset_index(drop=True)


def _summed(depots: pd.DataFrame, total: str) -> pd.DataFrame:
    """Sums of each city's open depots, with the model's quantiles of `total` (city or fleet)."""
    quantiles = {name: (f"{total}_{name}", "first") for name in ("p10", "p50", "p90")}
    cities = depots.groupby(["city", "target_on"], as_index=False).agg(
        until_hour=("until_hour", "min"),
        depots=("part", np.count_nonzero),
        orders_so_far=("orders_so_far", "sum"),
        expected=("expected", "sum"),
        forecast=("part", "sum"),
        covered=("model_part", "sum"),
        **quantiles,
    )
    # No depot is missing if the model's parts add up to the median of the total. The tolerance is
    # at most half an order, because one of many depots has a small share.
    missing = (cities["p50"] - cities["covered"]).abs()
    is_whole = missing <= np.minimum(1e-3 * cities["p50"], 0.5)
    return cities.assign(is_whole=is_whole)[cities["forecast"] > 0]


def depots_so_far(depots: pd.DataFrame) -> pd.DataFrame:
    """Adds orders_so_far, usual_share (of a day's orders by until_hour) and expected (orders by then).

    usual_share is NaN where no orders are planned.
    """
    hour_r = depots["until_hour"].to_numpy(float)
    by_hour_rk = np.array(depots["by_hour"].to_list(), float)
    # Orders in hours to come are left out: their clock is wrong.
    is_past_rk = np.arange(HOURS) < np.ceil(hour_r)[:, None]
    share_rk = np.array(depots["share"].to_list(), np.float32)
    share_r, part_r = share_until(share_rk, hour_r), depots["part"].to_numpy(float)
    return depots.assign(
        orders_so_far=(by_hour_rk * is_past_rk).sum(axis=1),
        usual_share=np.where(part_r > 0, share_r, np.nan),
        expected=part_r * share_r,
    )


def running_depots(depots: pd.DataFrame) -> pd.DataFrame:
    """Estimates each depot's running day, as `running_cities` does for its city.

    Args:
      depots: As for `running_cities`, with p10, p50 and p90 (of the depot's planned day).

    Returns:
      The rows of `depots_so_far` with estimate, and low and high, its 80 % band; NaN where the
      usual share of the depot, or of its city's depots in `depots`, is too small by then.
    """
    so_far = depots_so_far(depots)
    names = ["orders_so_far", "p50", "p10", "p90", "usual_share", "concentration"]
    made = estimate(*so_far[names].to_numpy(float).T)
    numbers = pd.DataFrame(
        {"estimate": made.orders, "low": made.p10, "high": made.p90}, so_far.index
    )
    is_telling = (so_far["usual_share"] >= MIN_SHARE) & (so_far["p50"] > 0)
    city = so_far.groupby(["city", "target_on"])[["expected", "part"]].transform("sum")
    is_telling &= city["expected"] >= MIN_SHARE * city["part"]
    return so_far.join(numbers.where(is_telling))


def depots_off(depots: pd.DataFrame) -> pd.DataFrame:
    """Depots of `running_depots` with an estimate, far from their expected orders, worst first."""
    expected, share = depots["expected"], depots["usual_share"]
    off = depots["orders_so_far"] - expected
    strays = (1 - share) / (share.clip(lower=MIN_SHARE) * (1 + depots["concentration"]))
    deviation = np.sqrt(expected + strays * expected**2)
    is_off = (off.abs() > OFF_DEVIATIONS * deviation) & depots["estimate"].notna()
    order = off.abs().where(is_off).dropna().sort_values(ascending=False).index
    return depots.loc[order]
