"""The baseline forecast, which the network corrects; all in log counts.

It is the mean of two forecasts from the depot's own weeks: the last four same weekdays
without their extremes, and a level and weekday profile by exponential smoothing (Brown,
Statistical Forecasting for Inventory Control, 1959). Several rates of the level are
averaged, so that none has to be chosen for a depot with a short history.

Its residuals, actual - baseline, show extraordinary days. They are those of the first of
the two alone: yesterday's forecast from the last four same weekdays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from types import ModuleType

import numpy as np
from jaxtyping import Bool, Float, Float32, Shaped

from forecaster.data.calendar import HOLIDAY
from forecaster.data.panel import Panel, log_counts
from forecaster.data.scaling import (
    DEFAULT_SPREAD,
    carry_forward,
    trailing_level,
    trailing_spread,
)
from forecaster.data.windows import REPEATS, ArrayT, weekday_lag

MAX_RESIDUAL = 1.5
LEVEL_RATES = (0.02, 0.05, 0.1, 0.2, 0.35)
"""Smoothing rates per day; the mean of the resulting levels is used."""
PROFILE_RATE = 0.1
"""Smoothing rate per week."""
MAX_SPREADS = 3.0
"""Smoothing clips residuals at this many spreads (Gelper, Fried, Croux,
Robust forecasting with exponential and Holt-Winters smoothing, 2010)."""
FIRST_DAYS = 35
"""First regular days, which are not clipped."""
BLOCK = 32
LEAST_COUNT = np.float32(1e-3)
WEEK = 7


def trimmed_mean(
    xp: ModuleType,
    weekdays: Sequence[Float[ArrayT, "*day"]],
    regular: Sequence[Float[ArrayT, "*day"]],
    level: Float[ArrayT, "*#day"],
) -> Float[ArrayT, "*day"]:
    """Mean of the last four same weekdays without the highest and the lowest.

    Of three it is the one between the two others, of fewer their mean.

    Args:
      xp: numpy or jax.numpy.
      weekdays: Log counts, one array per same weekday: NumPy's reductions are slow over
        an axis this short.
      regular: 1.0 where that day counts.
      level: Forecast where none does.
    """
    count = reduce(xp.add, regular)
    counted = [days * counts for days, counts in zip(weekdays, regular, strict=True)]
    total = reduce(xp.add, counted)

    def bound(otherwise: float) -> list[Float[ArrayT, "*day"]]:
        # Beyond any log count; infinities would warn when they meet.
        return [
            xp.where(counts > 0, days, otherwise)
            for days, counts in zip(weekdays, regular, strict=True)
        ]

    highest, lowest = reduce(xp.maximum, bound(-1e6)), reduce(xp.minimum, bound(1e6))
    enough = count > 2.5
    extremes = xp.where(enough, highest + lowest, 0.0)
    left = xp.where(enough, count - 2, count)
    mean = (total - extremes) / xp.maximum(left, 1.0)
    return xp.where(count > 0.5, mean, level)


@dataclass(frozen=True)
class BaselineResiduals:
    """Log counts of a panel, days ahead included, and the residuals of the baseline.

    Attributes:
      log_dt: log(1 + orders), 0 where not observed.
      observed_dt: Whether the day was observed.
      regular_dt: Observed days that are no holiday.
      level_dt: Recent mean of log counts.
      residual_dt: Log count - yesterday's baseline forecast of the day.
      has_baseline_dt: Whether there was a baseline forecast.
      spread_dt: Recent mean absolute residual.
    """

    log_dt: Float32[np.ndarray, "depot time"]
    observed_dt: Bool[np.ndarray, "depot time"]
    regular_dt: Bool[np.ndarray, "depot time"]
    level_dt: Float32[np.ndarray, "depot time"]
    residual_dt: Float32[np.ndarray, "depot time"]
    has_baseline_dt: Bool[np.ndarray, "depot time"]
    spread_dt: Float32[np.ndarray, "depot time"]

    @classmethod
    def from_panel(cls, panel: Panel) -> "BaselineResiduals":
        """Computes the residuals of every depot of a panel."""
        ahead = ((0, 0), (0, panel.ahead))
        log_dt = np.pad(log_counts(panel.demand_dt), ahead)
        observed_dt = np.pad(panel.observed_dt, ahead)
        holiday_dt = panel.calendar.of_kind(HOLIDAY)[panel.calendar.group_d]
        regular_dt = observed_dt & ~holiday_dt
        level_dt = np.nan_to_num(trailing_level(log_dt, regular_dt))
        lags = [weekday_lag(1, repeat) for repeat in range(1, REPEATS + 1)]
        counts = [earlier(regular_dt.astype(np.float32), lag) for lag in lags]
        weekdays = [earlier(log_dt, lag) for lag in lags]
        residual_dt = log_dt - trimmed_mean(np, weekdays, counts, earlier(level_dt, 1))
        residual_dt[:, 0] = 0.0
        has_baseline_dt = reduce(np.add, counts) > 0
        return cls(
            log_dt=log_dt,
            observed_dt=observed_dt,
            regular_dt=regular_dt,
            level_dt=level_dt,
            residual_dt=residual_dt,
            has_baseline_dt=has_baseline_dt,
            spread_dt=trailing_spread(residual_dt, has_baseline_dt & regular_dt),
        )

    @cached_property
    def known_dt(self) -> Bool[np.ndarray, "depot time"]:
        """Days that were observed and have a baseline."""
        return self.has_baseline_dt & self.observed_dt

    @cached_property
    def clipped_residual_dt(self) -> Float32[np.ndarray, "depot time"]:
        """Residuals clipped to ±`MAX_RESIDUAL`, 0 where not known."""
        return np.clip(self.residual_dt, -MAX_RESIDUAL, MAX_RESIDUAL) * self.known_dt


def earlier(
    value_dt: Shaped[np.ndarray, "depot time"], days: int, first: int = 0
) -> Shaped[np.ndarray, "depot late"]:
    """Values `days` earlier, from step `first` on; 0 before the first step."""
    # Not by np.pad, which takes longer for its checks than for its work.
    late_dt = np.zeros_like(value_dt[:, first:])
    known_dt = value_dt[:, max(0, first - days) : max(0, value_dt.shape[1] - days)]
    late_dt[:, late_dt.shape[1] - known_dt.shape[1] :] = known_dt
    return late_dt


def weekday_profile(
    residuals: BaselineResiduals,
) -> Float32[np.ndarray, "depot time"]:
    """Smoothed deviation of each day's weekday from the level, up to that day.

    Days that are not regular change nothing.
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
      residuals: Their level holds before the first regular day.
      season_dt: From `weekday_profile`.
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
    """Sum of the days up to and including each day, each weighing 1 - rate of the next.

    Computed in blocks of days, with carry-over.
    """
    n_depots, n_steps = value_dt.shape
    padded_dt = np.pad(value_dt, ((0, 0), (0, -n_steps % BLOCK)))
    age_ij = np.arange(BLOCK)[None, :] - np.arange(BLOCK)[:, None]
    weight_ij = np.where(age_ij >= 0, (1 - rate) ** np.maximum(age_ij, 0), 0.0)
    sum_dbi = padded_dt.reshape(n_depots, -1, BLOCK) @ weight_ij.astype(np.float32)
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
