"""Level and spread of each depot, from the past only, in log counts.

The network forecasts deviations from its depot's level.
"""

import numpy as np
from jaxtyping import Bool, Float, Float32, Shaped

LEVEL_DAYS = 28
SPREAD_DAYS = 56
# Spread of a depot without residuals, and the smallest spread; log counts.
DEFAULT_SPREAD = 0.2
MIN_SPREAD = 0.02


def trailing_level(
    log_demand_dt: Float[np.ndarray, "depot time"],
    regular_dt: Bool[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """Mean log demand of the 28 days up to and including each day.

    Whole weeks, so that the weekday cancels out.

    Returns:
      After 28 days without a regular one the last level holds; NaN before the first
      regular day.
    """
    mean_dt = trailing_mean(log_demand_dt, regular_dt, LEVEL_DAYS)
    return carry_forward(mean_dt).astype(np.float32)


def trailing_spread(
    residual_dt: Float[np.ndarray, "depot time"],
    known_dt: Bool[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """Mean absolute residual of the baseline over the last 56 days, in log counts.

    Returns:
      At least 0.02; 0.2 where nothing is known yet.
    """
    mean_dt = carry_forward(trailing_mean(np.abs(residual_dt), known_dt, SPREAD_DAYS))
    spread_dt = np.nan_to_num(mean_dt, nan=DEFAULT_SPREAD)
    return np.maximum(spread_dt, MIN_SPREAD).astype(np.float32)


def trailing_mean(
    value_dt: Float[np.ndarray, "depot time"],
    known_dt: Bool[np.ndarray, "depot time"],
    days: int,
    first: int = 0,
) -> Float[np.ndarray, "depot late"]:
    """Mean of the known values of the last `days` days, NaN where there is none.

    Args:
      value_dt: Finite, also where not known.
      known_dt: Values that count.
      days: Length of the window.
      first: Step of the first mean returned.
    """
    total_dt = trailing_sum(value_dt * known_dt, days, first)
    count_dt = trailing_sum(known_dt, days, first)
    undefined = np.full(total_dt.shape, np.nan)
    # Differences of cumulative sums are inexact: 0.5 separates no day from one.
    return np.divide(total_dt, count_dt, out=undefined, where=count_dt > 0.5)


def carry_forward(
    value_dt: Float[np.ndarray, "depot time"],
) -> Float[np.ndarray, "depot time"]:
    """Fills each NaN with the last value before it; NaN before the first."""
    known_dt = ~np.isnan(value_dt)
    gap_d = (known_dt[:, :-1] & ~known_dt[:, 1:]).any(axis=1)
    if not gap_d.any():
        return value_dt
    carried_dt = value_dt.copy()
    step_t = np.arange(value_dt.shape[1])
    last_dt = np.maximum.accumulate(np.where(known_dt[gap_d], step_t, 0), axis=1)
    carried_dt[gap_d] = np.take_along_axis(value_dt[gap_d], last_dt, axis=1)
    return carried_dt


def trailing_sum(
    value_dt: Shaped[np.ndarray, "depot time"], days: int, first: int = 0
) -> Float[np.ndarray, "depot late"]:
    """Sum over the `days` days up to and including each day from step `first` on."""
    since = max(0, first - days)
    # Converted first: a cumulative sum that converts takes twice as long.
    running_dt = np.cumsum(value_dt[:, since:].astype(float), axis=1)
    summed_dt = running_dt[:, first - since :].copy()
    late_dt = summed_dt[:, days - (first - since) :]
    late_dt -= running_dt[:, : late_dt.shape[1]]
    return summed_dt
