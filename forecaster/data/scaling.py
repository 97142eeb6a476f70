"""Level and spread of each depot, from the past only, in log counts.

The network forecasts deviations from its depot's level.
"""

from functools import reduce

import numpy as np
from jaxtyping import Float, Float32, Shaped

from forecaster.data.shapes import DepotTime, DepotTime32, DepotTimeFlags

LEVEL_DAYS = 28
"""Days of the level's mean: whole weeks, so that the weekday cancels out."""
SPREAD_DAYS = 56
"""Days of the spread's mean."""
DEFAULT_SPREAD = 0.2
"""Spread of a depot without residuals, log counts."""
SPREAD_DAYS_READ = 2 * SPREAD_DAYS
"""Days up to a day that tell its spread: each residual is compared with those before it."""
MAX_SPREADS = 4.0
"""Maximum of a residual in the spread, in means before it (lab book)."""
MIN_SPREAD = 0.02
"""Minimum spread, log counts."""


def trailing_level(log_demand_dt: DepotTime, regular_dt: DepotTimeFlags) -> DepotTime32:
    """Level: mean log count of the regular days among the 28 up to and including each day.

    Args:
      log_demand_dt: Log counts, finite also where not observed.
      regular_dt: Whether the day is regular: observed, and not a public holiday.

    Returns:
      After 28 days without a regular day the last level is kept; NaN before the first
      regular day.
    """
    mean_dt = trailing_mean(log_demand_dt, regular_dt, LEVEL_DAYS)
    return carry_forward(mean_dt).astype(np.float32, copy=False)


def trailing_spread(residual_dt: DepotTime, valid_dt: DepotTimeFlags) -> DepotTime32:
    """Spread: mean absolute residual of the 56 days up to and including each day.

    Each residual counts at most `MAX_SPREADS` times the mean of the 56 days before it, so that one
    day out of the ordinary does not widen bands for two months (winsorized, Tukey, 1962).

    Args:
      residual_dt: Residuals of the baseline, log counts.
      valid_dt: Whether the residual counts: the day is regular and had a baseline forecast.

    Returns:
      Log counts, at least 0.02. After 56 days without a valid residual the last spread
      is kept; 0.2 before the first.
    """
    size_dt = np.abs(residual_dt)
    before_dt = carry_forward(trailing_mean(size_dt, valid_dt, SPREAD_DAYS))[:, :-1]
    # NaN before the first residual, which is not limited.
    limit_dt = MAX_SPREADS * np.maximum(before_dt, MIN_SPREAD)
    size_dt[:, 1:] = np.fmin(size_dt[:, 1:], limit_dt)
    mean_dt = carry_forward(trailing_mean(size_dt, valid_dt, SPREAD_DAYS))
    spread_dt = mean_dt.astype(np.float32)
    np.copyto(spread_dt, DEFAULT_SPREAD, where=np.isnan(spread_dt))
    return np.maximum(spread_dt, MIN_SPREAD, out=spread_dt)


def trailing_mean(
    value_dt: DepotTime, valid_dt: DepotTimeFlags, days: int, first_step: int = 0
) -> Float[np.ndarray, "depot tail"]:
    """Mean of the valid values of the last `days` days, NaN where there is none.

    Values must be finite even where they are not valid; the means begin with `first_step`.
    """
    total_dt = trailing_sum(value_dt * valid_dt, days, first_step)
    count_dt = trailing_sum(valid_dt, days, first_step)
    with np.errstate(invalid="ignore"):
        return np.divide(total_dt, count_dt, out=total_dt)


def carry_forward(value_dt: DepotTime) -> DepotTime:
    """Fills each NaN with the last value before it; NaN before the first."""
    missing_dt = np.isnan(value_dt)
    has_gap_d = (missing_dt[:, 1:] > missing_dt[:, :-1]).any(axis=1)
    if not has_gap_d.any():
        return value_dt
    carried_dt = value_dt.copy()
    step_t = np.arange(value_dt.shape[1], dtype=np.int32)
    last_dt = np.maximum.accumulate(np.where(missing_dt[has_gap_d], 0, step_t), axis=1)
    carried_dt[has_gap_d] = np.take_along_axis(value_dt[has_gap_d], last_dt, axis=1)
    return carried_dt


def trailing_sum(
    value_dt: Shaped[np.ndarray, "depot time"], days: int, first_step: int
) -> Shaped[np.ndarray, "depot tail"]:
    """Sum over the `days` days up to and including each day from `first_step` on.

    Flags are counted in int16, to save memory. The sum is built from sums over
    1, 2, 4, … days: this keeps float32 exact to its last digits, whereas a difference of
    cumulative sums would need float64 and three times as long.
    """
    n_depots, n_steps = value_dt.shape
    since, n_tail = first_step - days + 1, n_steps - first_step
    dtype = np.int16 if value_dt.dtype == bool else value_dt.dtype
    # The sum of `length` days from each day on.
    sum_dt = np.zeros((n_depots, n_tail + days - 1), dtype)
    sum_dt[:, max(0, -since) :] = value_dt[:, max(0, since) :]
    parts = []
    length, first = 1, 0
    while length <= days:
        if days & length:
            parts.append(sum_dt[:, first : first + n_tail])
            first += length
        if 2 * length <= days:
            sum_dt = sum_dt[:, :-length] + sum_dt[:, length:]
        length *= 2
    return reduce(np.add, parts)


def median_of_known(
    value_ndt: Float32[np.ndarray, "row depot time"],
) -> tuple[DepotTime32, DepotTimeFlags]:
    """Median of the values that are not NaN (0 if all are NaN), and whether there is one.

    NumPy's nanmedian takes ten times as long over an axis this short.
    """
    sorted_ndt = np.sort(value_ndt, axis=0)  # NaN last
    count_dt = np.isfinite(value_ndt).sum(axis=0)
    lower_dt, upper_dt = np.maximum(count_dt - 1, 0) // 2, count_dt // 2
    middle = [
        np.take_along_axis(sorted_ndt, np.minimum(at, len(value_ndt) - 1)[None], 0)[0]
        for at in (lower_dt, upper_dt)
    ]
    has_dt = count_dt > 0
    return np.where(has_dt, (middle[0] + middle[1]) / 2, np.float32(0.0)), has_dt
