"""Per-depot level and spread, from the past only: the only unit change in the code.

Both are in log counts: the network forecasts how far a day lies from its depot's level.
"""

import numpy as np
from jaxtyping import Bool, Float, Float32

LEVEL_DAYS = 28
SPREAD_DAYS = 56
# Spread of a depot of which nothing is known, and the least anyone has.
DEFAULT_SPREAD = 0.2
LEAST_SPREAD = 0.02


def trailing_level(
    log_demand_dt: Float[np.ndarray, "depot time"],
    regular_dt: Bool[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """Mean log demand of the last 28 days, up to and with each day.

    Whole weeks, so that the weekday does not show.

    Args:
      log_demand_dt: log(1 + orders).
      regular_dt: Observed days that say something about the level.

    Returns:
      One level a day. After 28 days without a regular one the last level holds; NaN
      before the first regular day.
    """
    mean_dt = trailing_mean(log_demand_dt, regular_dt, LEVEL_DAYS)
    return carry_forward(mean_dt).astype(np.float32)


def trailing_spread(
    miss_dt: Float[np.ndarray, "depot time"],
    known_dt: Bool[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """Mean absolute miss of a plain forecast over the last 56 days, in log counts.

    Args:
      miss_dt: What a plain forecast missed each day by.
      known_dt: Days on which that is known.

    Returns:
      One spread a day, at least 0.02; 0.2 where nothing is known yet.
    """
    mean_dt = carry_forward(trailing_mean(np.abs(miss_dt), known_dt, SPREAD_DAYS))
    spread_dt = np.where(np.isnan(mean_dt), DEFAULT_SPREAD, mean_dt)
    return np.maximum(spread_dt, LEAST_SPREAD).astype(np.float32)


def trailing_mean(
    value_dt: Float[np.ndarray, "depot time"],
    known_dt: Bool[np.ndarray, "depot time"],
    days: int,
) -> Float[np.ndarray, "depot time"]:
    """Mean of the known values of the last `days` days, NaN where there is none."""
    total_dt = trailing_sum(np.where(known_dt, value_dt, 0.0), days)
    count_dt = trailing_sum(known_dt.astype(float), days)
    nothing = np.full(total_dt.shape, np.nan)
    # Sums of cumulative sums are not exact: half a day decides whether there is one.
    return np.divide(total_dt, count_dt, out=nothing, where=count_dt > 0.5)


def carry_forward(
    value_dt: Float[np.ndarray, "depot time"],
) -> Float[np.ndarray, "depot time"]:
    """Fills each NaN with the last value before it; NaN before the first."""
    step_t = np.arange(value_dt.shape[1])
    last_dt = np.maximum.accumulate(np.where(np.isnan(value_dt), -1, step_t), axis=1)
    carried_dt = np.take_along_axis(value_dt, np.maximum(last_dt, 0), axis=1)
    return np.where(last_dt >= 0, carried_dt, np.nan)


def trailing_sum(
    value_dt: Float[np.ndarray, "depot time"], days: int
) -> Float[np.ndarray, "depot time"]:
    """Sum over the last `days` days, up to and with each day."""
    running_dt = np.cumsum(value_dt, axis=1, dtype=float)
    before_dt = np.zeros_like(running_dt)
    before_dt[:, days:] = running_dt[:, :-days]
    return running_dt - before_dt
