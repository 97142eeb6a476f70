"""Exponential smoothing of every depot's days at once: a level and a weekday's profile.

Discounted means (Brown, Statistical Forecasting for Inventory Control, 1959) of log counts.
Days that are not regular change nothing. Several rates are averaged: no choice has to be
made for a depot whose days are few.
"""

import numpy as np
from jaxtyping import Bool, Float32

from forecaster.data.baseline_residuals import BaselineResiduals
from forecaster.data.scaling import DEFAULT_SPREAD, carry_forward

LEVEL_RATES = (0.02, 0.05, 0.1, 0.2, 0.35)
"""A day; the mean of these levels is taken."""
PROFILE_RATE = 0.1
"""A week."""
MAX_SPREADS = 3.0
"""Spreads from what was expected beyond which a day says no more (Gelper, Fried, Croux,
Robust forecasting with exponential and Holt-Winters smoothing, 2010)."""
FIRST_DAYS = 35
"""Regular days that count whole: nothing is expected yet."""
BLOCK = 32
LEAST_COUNT = np.float32(1e-3)
WEEK = 7


def profile(residuals: BaselineResiduals) -> Float32[np.ndarray, "depot time"]:
    """How each day's weekday lies from the level, by the weeks up to and with it.

    Args:
      residuals: Of the depots.
    """
    gap_dt = residuals.log_dt - residuals.level_dt
    usual_dt = _before(_weekly_mean(gap_dt, residuals.regular_dt), WEEK, 0.0)
    known_dt = np.cumsum(residuals.regular_dt, axis=1) > FIRST_DAYS
    near_dt = usual_dt + _within_reason(gap_dt - usual_dt, residuals)
    return _weekly_mean(np.where(known_dt, near_dt, gap_dt), residuals.regular_dt)


def smoothed_level(
    residuals: BaselineResiduals, season_dt: Float32[np.ndarray, "depot time"]
) -> Float32[np.ndarray, "depot time"]:
    """Discounted mean of the days up to and with each day, their weekdays taken out.

    Args:
      residuals: Of the depots; their level holds before the first regular day.
      season_dt: From `profile`.
    """
    expected_dt = residuals.level_dt + _before(season_dt, WEEK, 0.0)
    gap_dt = _within_reason(residuals.log_dt - expected_dt, residuals)
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
    """Sum of the days up to and with each day, each worth 1 - rate of the next.

    By blocks of days: a product within each, then what each hands to the next.

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


def _within_reason(
    gap_dt: Float32[np.ndarray, "depot time"], residuals: BaselineResiduals
) -> Float32[np.ndarray, "depot time"]:
    most_dt = MAX_SPREADS * _before(residuals.spread_dt, 1, DEFAULT_SPREAD)
    return np.clip(gap_dt, -most_dt, most_dt)


def _weekly_mean(
    value_dt: Float32[np.ndarray, "depot time"],
    known_dt: Bool[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """Discounted means of each weekday's own weeks; 0 where it is not known."""
    total_dt = _weekly_sum(np.where(known_dt, value_dt, np.float32(0.0)))
    count_dt = _weekly_sum(known_dt.astype(np.float32))
    return total_dt / np.maximum(count_dt, LEAST_COUNT)


def _weekly_sum(
    value_dt: Float32[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """Discounted sums of each weekday's own weeks."""
    n_depots, n_steps = value_dt.shape
    padded_dt = np.pad(value_dt, ((0, 0), (0, -n_steps % WEEK)))
    weeks_dwk = padded_dt.reshape(n_depots, -1, WEEK).swapaxes(1, 2)
    sums_rk = discounted_sum(weeks_dwk.reshape(n_depots * WEEK, -1), PROFILE_RATE)
    sums_dkw = sums_rk.reshape(n_depots, WEEK, -1).swapaxes(1, 2)
    return sums_dkw.reshape(n_depots, -1)[:, :n_steps]


def _before(
    value_dt: Float32[np.ndarray, "depot time"], days: int, first: float
) -> Float32[np.ndarray, "depot time"]:
    """What stood so many days before each day; `first` where there was no such day."""
    return np.pad(
        value_dt[:, :-days], ((0, 0), (days, 0)), constant_values=np.float32(first)
    )
