"""The baseline forecast, which the network corrects; all in log counts.

It is the mean of two forecasts from the depot's own weeks: the last four same weekdays
without their extremes, and a level and weekday profile by exponential smoothing (Brown,
Statistical Forecasting for Inventory Control, 1959). Several rates of the level are
averaged, so that none has to be chosen for a depot with a short history.

Its residuals, actual - baseline, show extraordinary days. They use only the trimmed weekday
mean, forecast one day ahead.
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
"""Log counts, either way, to which residuals are clipped as features: a factor of 4.5."""
LARGE_EFFECT = 0.3
"""Effect of the calendar, log counts, from which on a day is not regular."""
LEVEL_RATES = (0.02, 0.05, 0.1, 0.2, 0.35)
"""Smoothing rates per day."""
LEVEL_WEIGHTS = (0.21, 0.215, 0.215, 0.215, 0.145)
"""Weights of the resulting levels in their mean."""
PROFILE_RATE = 0.07
"""Smoothing rate per week."""
MAX_SPREADS = 3.0
"""Smoothing clips residuals at this many spreads (Gelper, Fried, Croux,
Robust forecasting with exponential and Holt-Winters smoothing, 2010)."""
WARMUP_DAYS = 35
"""Number of first regular days, which are not clipped."""
BLOCK_DAYS = 32
"""Days summed by one matrix product; affects the speed only."""
MIN_WEIGHT = np.float32(1e-3)
"""Smallest divisor of a weighted mean, so that a mean of no days is 0 and not NaN."""
WEEK = 7


def trimmed_mean(
    xp: ModuleType,
    weekdays: Sequence[Float[ArrayT, "*day"]],
    regular: Sequence[Float[ArrayT, "*day"]],
    level: Float[ArrayT, "*#day"],
) -> Float[ArrayT, "*day"]:
    """Mean of the last four same weekdays without the highest and the lowest.

    With three values, the median; with fewer, the mean.

    Args:
      xp: numpy or jax.numpy.
      weekdays: Log counts, one array per same weekday: NumPy's reductions are slow over
        an axis this short.
      regular: 1.0 where that day is regular; others are left out.
      level: Forecast where no day is regular.
    """
    n_valid = reduce(xp.add, regular)
    masked = [days * is_valid for days, is_valid in zip(weekdays, regular, strict=True)]
    total = reduce(xp.add, masked)

    def masked_with(fill: float) -> list[Float[ArrayT, "*day"]]:
        return [
            xp.where(is_valid > 0, days, fill)
            for days, is_valid in zip(weekdays, regular, strict=True)
        ]

    # Beyond any log count; infinities would warn when they meet.
    highest = reduce(xp.maximum, masked_with(-1e6))
    lowest = reduce(xp.minimum, masked_with(1e6))
    has_extremes = n_valid > 2.5
    extremes = xp.where(has_extremes, highest + lowest, 0.0)
    n_kept = xp.where(has_extremes, n_valid - 2, n_valid)
    mean = (total - extremes) / xp.maximum(n_kept, 1.0)
    return xp.where(n_valid > 0.5, mean, level)


@dataclass(frozen=True)
class BaselineResiduals:
    """Log counts of a panel, days ahead included, and the residuals of the baseline.

    Attributes:
      log_dt: log(1 + orders) less all effects, 0 where not observed.
      observed_dt: Whether the day was observed.
      regular_dt: Whether the day is regular: observed, not a public holiday, and without
        a large effect of events or signals.
      level_dt: Mean log count of the last 28 days, see `scaling.trailing_level`; 0 before
        the first regular day.
      residual_dt: Log count - yesterday's baseline forecast of the day.
      has_baseline_dt: Whether there was a baseline forecast.
      spread_dt: Mean absolute residual of the last 56 days, see `scaling.trailing_spread`.
    """

    log_dt: Float32[np.ndarray, "depot time"]
    observed_dt: Bool[np.ndarray, "depot time"]
    regular_dt: Bool[np.ndarray, "depot time"]
    level_dt: Float32[np.ndarray, "depot time"]
    residual_dt: Float32[np.ndarray, "depot time"]
    has_baseline_dt: Bool[np.ndarray, "depot time"]
    spread_dt: Float32[np.ndarray, "depot time"]

    @classmethod
    def from_panel(
        cls,
        panel: Panel,
        effect_dt: Float32[np.ndarray, "depot time_ahead"] | None = None,
    ) -> "BaselineResiduals":
        """Computes the residuals of every depot of a panel.

        Args:
          panel: Demand up to the origin and the calendar ahead of it.
          effect_dt: Effects as known on the day before, log counts; None is no effect.
        """
        ahead = ((0, 0), (0, panel.ahead))
        log_dt = np.pad(log_counts(panel.demand_dt), ahead)
        observed_dt = np.pad(panel.observed_dt, ahead)
        holiday_dt = panel.calendar.of_kind(HOLIDAY)[panel.calendar.group_d]
        regular_dt = observed_dt & ~holiday_dt
        if effect_dt is not None:
            log_dt = np.where(observed_dt, log_dt - effect_dt, np.float32(0.0))
            regular_dt &= np.abs(effect_dt) < LARGE_EFFECT
        level_dt = np.nan_to_num(trailing_level(log_dt, regular_dt))
        lags = [weekday_lag(1, repeat) for repeat in range(1, REPEATS + 1)]
        regular = [lag(regular_dt.astype(np.float32), days) for days in lags]
        weekdays = [lag(log_dt, days) for days in lags]
        residual_dt = log_dt - trimmed_mean(np, weekdays, regular, lag(level_dt, 1))
        residual_dt[:, 0] = 0.0
        has_baseline_dt = reduce(np.add, regular) > 0
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
    def has_residual_dt(self) -> Bool[np.ndarray, "depot time"]:
        """Whether the day was observed and had a baseline forecast."""
        return self.has_baseline_dt & self.observed_dt

    @cached_property
    def clipped_residual_dt(self) -> Float32[np.ndarray, "depot time"]:
        """Residuals clipped to ±`MAX_RESIDUAL`, 0 where there is none."""
        clipped_dt = np.clip(self.residual_dt, -MAX_RESIDUAL, MAX_RESIDUAL)
        return clipped_dt * self.has_residual_dt


def lag(
    value_dt: Shaped[np.ndarray, "depot time"],
    days: int,
    first_step: int = 0,
    fill: float = 0,
) -> Shaped[np.ndarray, "depot tail"]:
    """Shifts values to `days` later: each step gets the value of the step `days` before it.

    Args:
      value_dt: Values by step.
      days: Days of the lag.
      first_step: First step returned.
      fill: Value where the lag reaches before step 0.
    """
    # Not by np.pad, which takes longer for its checks than for its work.
    lagged_dt = np.full_like(value_dt[:, first_step:], fill)
    n_steps = value_dt.shape[1]
    source_dt = value_dt[:, max(0, first_step - days) : max(0, n_steps - days)]
    lagged_dt[:, lagged_dt.shape[1] - source_dt.shape[1] :] = source_dt
    return lagged_dt


def weekday_profile(
    residuals: BaselineResiduals,
) -> Float32[np.ndarray, "depot time"]:
    """Exponentially weighted mean deviation of each day's weekday from the level.

    It includes the day itself, and only regular days.
    """
    regular_dt = residuals.regular_dt
    deviation_dt = residuals.log_dt - residuals.level_dt
    previous_profile_dt = lag(_weekly_mean(deviation_dt, regular_dt), WEEK)
    has_warmed_up_dt = np.cumsum(regular_dt, axis=1) > WARMUP_DAYS
    clipped_deviation_dt = previous_profile_dt + _clipped(
        deviation_dt - previous_profile_dt, residuals
    )
    deviation_dt = np.where(has_warmed_up_dt, clipped_deviation_dt, deviation_dt)
    return _weekly_mean(deviation_dt, regular_dt)


def smoothed_level(
    residuals: BaselineResiduals, weekday_profile_dt: Float32[np.ndarray, "depot time"]
) -> Float32[np.ndarray, "depot time"]:
    """Exponentially weighted mean of log counts up to each day, less the weekday profile.

    Args:
      residuals: Residuals of the depots; their level is returned before the first regular
        day.
      weekday_profile_dt: From `weekday_profile`.
    """
    expected_dt = residuals.level_dt + lag(weekday_profile_dt, WEEK)
    deviation_dt = _clipped(residuals.log_dt - expected_dt, residuals)
    deseasonalised_dt = np.where(
        residuals.regular_dt, residuals.level_dt + deviation_dt, np.float32(0.0)
    )
    count_dt = residuals.regular_dt.astype(np.float32)
    means = [
        exponentially_weighted_sum(deseasonalised_dt, rate)
        / np.maximum(exponentially_weighted_sum(count_dt, rate), MIN_WEIGHT)
        for rate in LEVEL_RATES
    ]
    # On a regular day each sum is of one day at least; on others nothing changes.
    weighted = [w * mean_dt for w, mean_dt in zip(LEVEL_WEIGHTS, means, strict=True)]
    mean_dt = np.where(residuals.regular_dt, sum(weighted), np.nan)
    held_dt = carry_forward(mean_dt)
    return np.where(np.isnan(held_dt), residuals.level_dt, held_dt).astype(np.float32)


def exponentially_weighted_sum(
    value_dt: Float32[np.ndarray, "depot time"], rate: float
) -> Float32[np.ndarray, "depot time"]:
    """Exponentially weighted sum up to each day.

    The weight falls by the factor 1 - rate per day of age. Computed in blocks of days,
    with carry-over.
    """
    n_depots, n_steps = value_dt.shape
    padded_dt = np.pad(value_dt, ((0, 0), (0, -n_steps % BLOCK_DAYS)))
    age_ij = np.arange(BLOCK_DAYS)[None, :] - np.arange(BLOCK_DAYS)[:, None]
    weight_ij = np.where(age_ij >= 0, (1 - rate) ** np.maximum(age_ij, 0), 0.0)
    block_sums = padded_dt.reshape(n_depots, -1, BLOCK_DAYS) @ weight_ij.astype(
        np.float32
    )
    decay_i = ((1 - rate) ** np.arange(1, BLOCK_DAYS + 1)).astype(np.float32)
    for block in range(1, block_sums.shape[1]):
        block_sums[:, block] += block_sums[:, block - 1, -1:] * decay_i
    return block_sums.reshape(n_depots, -1)[:, :n_steps]


def _clipped(
    deviation_dt: Float32[np.ndarray, "depot time"], residuals: BaselineResiduals
) -> Float32[np.ndarray, "depot time"]:
    """Clips deviations to ±`MAX_SPREADS` of the day before's spreads."""
    limit_dt = MAX_SPREADS * lag(residuals.spread_dt, 1, fill=DEFAULT_SPREAD)
    return np.clip(deviation_dt, -limit_dt, limit_dt)


def _weekly_mean(
    value_dt: Float32[np.ndarray, "depot time"],
    valid_dt: Bool[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """Exponentially weighted mean of the same weekday's valid values; 0 before the first."""
    total_dt = _weekly_sum(np.where(valid_dt, value_dt, np.float32(0.0)))
    weight_dt = _weekly_sum(valid_dt.astype(np.float32))
    return total_dt / np.maximum(weight_dt, MIN_WEIGHT)


def _weekly_sum(
    value_dt: Float32[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """Exponentially weighted sum of the same weekday's values."""
    n_depots, n_steps = value_dt.shape
    padded_dt = np.pad(value_dt, ((0, 0), (0, -n_steps % WEEK)))
    series_dwi = padded_dt.reshape(n_depots, -1, WEEK).swapaxes(1, 2)
    sum_ri = exponentially_weighted_sum(
        series_dwi.reshape(n_depots * WEEK, -1), PROFILE_RATE
    )
    sum_diw = sum_ri.reshape(n_depots, WEEK, -1).swapaxes(1, 2)
    return sum_diw.reshape(n_depots, -1)[:, :n_steps]
