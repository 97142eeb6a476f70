"""Exponential smoothing of all depots at once: a level and a weekday profile.

Discounted means (Brown, Statistical Forecasting for Inventory Control, 1959) of log counts.
Days that are not regular change nothing. Several rates are averaged, so that no rate has
to be chosen for a depot with a short history.
"""

import numpy as np
from jaxtyping import Bool, Float32

from forecaster.data.baseline_residuals import BaselineResiduals
from forecaster.data.scaling import DEFAULT_SPREAD, carry_forward

LEVEL_RATES = (0.02, 0.05, 0.1, 0.2, 0.35)
"""Smoothing rates per day; the mean of the resulting levels is used."""
PROFILE_RATE = 0.1
"""Smoothing rate per week."""
MAX_SPREADS = 3.0
"""Residuals are clipped at this many spreads (Gelper, Fried, Croux,
Robust forecasting with exponential and Holt-Winters smoothing, 2010)."""
FIRST_DAYS = 35
"""First regular days, which are not clipped."""
BLOCK = 32
LEAST_COUNT = np.float32(1e-3)
WEEK = 7


def profile(residuals: BaselineResiduals) -> Float32[np.ndarray, "depot time"]:
    """Weekday profile: deviation of each day's weekday from the level, up to that day.

    Args:
      residuals: Residuals of the depots.
    """
    gap_dt = residuals.log_dt - residuals.level_dt
    usual_dt = _before(_weekly_mean(gap_dt, residuals.regular_dt), WEEK, 0.0)
    known_dt = np.cumsum(residuals.regular_dt, axis=1) > FIRST_DAYS
    near_dt = usual_dt + _clipped(gap_dt - usual_dt, residuals)
    return _weekly_mean(np.where(known_dt, near_dt, gap_dt), residuals.regular_dt)


def smoothed_level(
    residuals: BaselineResiduals, season_dt: Float32[np.ndarray, "depot time"]
) -> Float32[np.ndarray, "depot time"]:
    """Discounted mean of the days up to and including each day, without the profile.

    Args:
      residuals: Residuals of the depots; their level holds before the first regular day.
      season_dt: From `profile`.
    """
    expected_dt = residuals.level_dt + _before(season_dt, WEEK, 0.0)
    gap_dt = _clipped(residuals.log_dt - expected_dt, residuals)
    rest_dt = np.where(
        residuals.regular_dt, residuals.level_dt + gap_dt, np.float32(0.0)
    )
    count_dt = residuals.regular_dt.astype(np.float32)
    means = [
        discounted_sum(rest_dt, rate)
        / np.maximum(discounted_sum(count_dt, rate), LEAST_COUNT)
        for rate in LEVEL_RATES
    ]
    # On a regular day each sum is of one day at least; on others nothing changes.
    mean_dt = np.where(residuals.regular_dt, sum(means) / len(means), np.nan)
    held_dt = carry_forward(mean_dt)
    return np.where(np.isnan(held_dt), residuals.level_dt, held_dt).astype(np.float32)


def discounted_sum(
    value_dt: Float32[np.ndarray, "depot time"], rate: float
) -> Float32[np.ndarray, "depot time"]:
    """Discounted sum of the days up to and including each day.

    Each day weighs 1 - rate of the next. Computed in blocks of days, with carry-over.

    Args:
      value_dt: 0 on days that do not count.
      rate: Between 0 and 1.
    """
    n_depots, n_steps = value_dt.shape
    padded_dt = np.pad(value_dt, ((0, 0), (0, -n_steps % BLOCK)))
    age_ij = np.arange(BLOCK)[None, :] - np.arange(BLOCK)[:, None]
    kept_ij = np.where(age_ij >= 0, (1 - rate) ** np.maximum(age_ij, 0), 0.0)
    sum_dbi = padded_dt.reshape(n_depots, -1, BLOCK) @ kept_ij.astype(np.float32)
    fade_i = ((1 - rate) ** np.arange(1, BLOCK + 1)).astype(np.float32)
    for block in range(1, sum_dbi.shape[1]):
        sum_dbi[:, block] += sum_dbi[:, block - 1, -1:] * fade_i
    return sum_dbi.reshape(n_depots, -1)[:, :n_steps]


def _clipped(
    gap_dt: Float32[np.ndarray, "depot time"], residuals: BaselineResiduals
) -> Float32[np.ndarray, "depot time"]:
    most_dt = MAX_SPREADS * _before(residuals.spread_dt, 1, DEFAULT_SPREAD)
    return np.clip(gap_dt, -most_dt, most_dt)


def _weekly_mean(
    value_dt: Float32[np.ndarray, "depot time"],
    known_dt: Bool[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """Discounted mean of the same weekday; 0 where none is known."""
    total_dt = _weekly_sum(np.where(known_dt, value_dt, np.float32(0.0)))
    count_dt = _weekly_sum(known_dt.astype(np.float32))
    return total_dt / np.maximum(count_dt, LEAST_COUNT)


def _weekly_sum(
    value_dt: Float32[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """Discounted sum of the same weekday."""
    n_depots, n_steps = value_dt.shape
    padded_dt = np.pad(value_dt, ((0, 0), (0, -n_steps % WEEK)))
    weeks_dwk = padded_dt.reshape(n_depots, -1, WEEK).swapaxes(1, 2)
    sums_rk = discounted_sum(weeks_dwk.reshape(n_depots * WEEK, -1), PROFILE_RATE)
    sums_dkw = sums_rk.reshape(n_depots, WEEK, -1).swapaxes(1, 2)
    return sums_dkw.reshape(n_depots, -1)[:, :n_steps]


def _before(
    value_dt: Float32[np.ndarray, "depot time"], days: int, first: float
) -> Float32[np.ndarray, "depot time"]:
    """Values `days` earlier; `first` before the first step."""
    return np.pad(
        value_dt[:, :-days], ((0, 0), (days, 0)), constant_values=np.float32(first)
    )
