"""Orders of each hour, from the forecast of the day and the shares of its hours.

Both the day's orders and their split into hours are uncertain: an hour's variance is the sum of
both parts, and a negative binomial with the hour's mean and variance gives the quantiles. Shifts
and whole cities are computed in the same way.
"""

from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from jaxtyping import Float

from forecaster.hours.day_shape import HOURS, normal
from forecaster.inference.baseline_errors import NORMAL_HIGH

SMALL_MEAN = 30.0
"""Maximum mean, orders, for exact quantiles; above it, a skewed normal is close enough."""
MAX_COUNT = 400


class PartForecast(NamedTuple):
    """Forecast orders of parts of days, such as hours."""

    mean: Float[np.ndarray, "*row part"]
    p10: Float[np.ndarray, "*row part"]
    p50: Float[np.ndarray, "*row part"]
    p90: Float[np.ndarray, "*row part"]


def forecast_parts(
    orders: Float[np.ndarray, "*row"],
    p10: Float[np.ndarray, "*row"],
    p90: Float[np.ndarray, "*row"],
    share: Float[np.ndarray, "*row part"],
    concentration: float,
) -> PartForecast:
    """Forecasts the orders of parts of days.

    Args:
      orders: Forecast of the whole day.
      p10: Lower bound of the day's 80 % band.
      p90: Upper bound.
      share: Share of the day's orders in each part.
      concentration: From `day_shape`.

    Returns:
      Means, which add up to the day's orders, and quantiles, which are whole numbers.
    """
    day, sigma = orders[..., None], ((p90 - p10) / (2 * NORMAL_HIGH))[..., None]
    mean = day * share
    square = day**2 + sigma**2
    by_chance = share * (1 - share) * (square + concentration * day)
    variance = share**2 * sigma**2 + by_chance / (1 + concentration)
    return PartForecast(mean, *_quantiles(mean, variance))


def _quantiles(
    mean: Float[np.ndarray, "*row"], variance: Float[np.ndarray, "*row"]
) -> tuple[Float[np.ndarray, "*row"], ...]:
    """10, 50 and 90 % quantiles of counts whose variance is at least their mean."""
    variance = np.maximum(variance, mean * (1 + 1e-6))
    deviation = np.sqrt(variance)
    skewness = np.divide(
        2 * variance / np.where(mean > 0, mean, 1.0) - 1,
        deviation,
        out=np.zeros_like(mean),
        where=deviation > 0,
    )
    found = [
        np.maximum(np.rint(mean + deviation * (z + (z**2 - 1) * skewness / 6)), 0.0)
        for z in (-NORMAL_HIGH, 0.0, NORMAL_HIGH)
    ]
    is_small = mean <= SMALL_MEAN
    counted = _counted_out(mean[is_small], variance[is_small])
    for quantile, value in zip(found, counted, strict=True):
        quantile[is_small] = value
    return tuple(found)


def _counted_out(
    mean_r: Float[np.ndarray, " row"], variance_r: Float[np.ndarray, " row"]
) -> Float[np.ndarray, "3 row"]:
    """Quantiles of negative binomials, by adding up their probabilities."""
    quantile_qr = np.zeros((3, len(mean_r)))
    left_r = np.flatnonzero(mean_r > 0)
    ratio_r = mean_r[left_r] / variance_r[left_r]
    size_r = mean_r[left_r] * ratio_r / (1 - ratio_r)
    probability_r = np.exp(size_r * np.log(ratio_r))
    sum_r = probability_r.copy()
    for count in range(1, MAX_COUNT):
        is_open_qr = sum_r < np.array([[0.1], [0.5], [0.9]])
        quantile_qr[:, left_r] += is_open_qr
        is_left_r = is_open_qr[2]
        if not is_left_r.any():
            break
        left_r, ratio_r, size_r = (
            part[is_left_r] for part in (left_r, ratio_r, size_r)
        )
        probability_r, sum_r = probability_r[is_left_r], sum_r[is_left_r]
        probability_r = probability_r * (1 - ratio_r) * (size_r + count - 1) / count
        sum_r = sum_r + probability_r
    return quantile_qr


def hours_of(day: date, zone: ZoneInfo) -> list[datetime]:
    """Starts of a local day's hours, in order: 24, or 23 or 25 where clocks change.

    Where they change by half an hour, an hour is 30 or 90 minutes long.
    """
    midnight, end = (
        datetime.combine(each, time(), zone).astimezone(UTC)
        for each in (day, day + timedelta(days=1))
    )
    half = timedelta(minutes=30)
    n_halves = round((end - midnight) / half)
    halves = [(midnight + number * half).astimezone(zone) for number in range(n_halves)]
    return [
        now
        for before, now in zip([halves[-1], *halves], halves, strict=False)
        if now.minute == 0 or now.hour != before.hour
    ]


def shares_on_clock(
    share_k: Float[np.ndarray, "*row 24"], hours: list[datetime]
) -> Float[np.ndarray, "*row 24"]:
    """Adapts the hourly shares of a usual day to a local day on which clocks may change.

    A skipped hour has share 0; an hour that occurs twice has the sum of both shares.
    """
    times_k = _times(hours)
    return normal(share_k * times_k, times_k / len(hours))


def shares_of_hours(
    share_k: Float[np.ndarray, "*row 24"], hours: list[datetime]
) -> Float[np.ndarray, "*row hour"]:
    """Shares of a local day's hours, from `shares_on_clock`; a repeated hour's share is halved."""
    clock = [hour.hour for hour in hours]
    return normal(share_k[..., clock] / _times(hours)[clock], 1 / len(hours))


def _times(hours: list[datetime]) -> Float[np.ndarray, " 24"]:
    """Number of times that each clock hour occurs."""
    return np.bincount([hour.hour for hour in hours], minlength=HOURS).astype(float)
