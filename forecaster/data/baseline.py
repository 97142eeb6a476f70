"""The baseline forecast, which the network corrects; all in log counts.

It is a weighted mean (`baseline_without_effects`) of three forecasts from the depot's own weeks:
the mean of the last four same weekdays without their extremes, a level and weekday profile by
exponential smoothing (Brown, Statistical Forecasting for Inventory Control, 1959), and the last
same weekday. Levels and profiles are averaged over several smoothing rates, weighted by how well
each forecast the depot's last weeks (Freund and Schapire, A decision-theoretic generalization of
on-line learning, 1997). The last same weekday is weighted likewise: little, unless weeks repeat.

The residuals (actual - baseline) reveal extraordinary days. In them the baseline is only the
trimmed weekday mean, forecast one day ahead.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from types import ModuleType

import numpy as np
from jaxtyping import Float, Float32, Int32, Shaped

from forecaster.data.calendar import HOLIDAY
from forecaster.data.lags import REPEATS, ArrayT, weekday_lag
from forecaster.data.panel import Panel, log_counts
from forecaster.data.scaling import (
    DEFAULT_SPREAD,
    trailing_level,
    trailing_spread,
    trailing_sum,
)
from forecaster.data.shapes import DepotTail32, DepotTime32, DepotTimeFlags

TRIMMED_SHARE = 0.3
"""Weight of the trimmed weekday mean; the smoothed forecast has the remaining weight."""
LAST_WEEK_SHARE = 0.02
"""Weight of the last same weekday if its errors in the last weeks equal the trimmed mean's."""
LAST_WEEK_STRENGTH = 20.0
"""As `LEVEL_STRENGTH`, for the last same weekday: a mean lags where a timetable repeats weeks."""
MAX_RESIDUAL = 1.5
"""Residuals in the features are clipped to ± this, log counts (a factor of 4.5)."""
LARGE_EFFECT = 0.3
"""Absolute effect, log counts, at or above which a day is not regular."""
LEVEL_RATES = (0.02, 0.06, 0.18, 0.45)
"""Daily smoothing rates of the level."""
PROFILE_RATES = (0.05, 0.16)
"""Weekly smoothing rates of the weekday profile."""
HEDGE_DAYS = 112
"""Number of last days whose errors determine the weights of the rates."""
LEVEL_AHEAD = 4
"""Days ahead at which a level's errors are measured: about the middle of a week's forecast."""
LEVEL_STRENGTH, PROFILE_STRENGTH = 30.0, 120.0
"""A rate whose error is 1 % above the best has up to 18 % (level) or 55 % (profile) less weight."""
HEDGE_PRIOR_DAYS = 56
"""Weight, in days, of the prior that all rates have equal errors."""
MAX_SPREADS = 3.0
"""Smoothing clips residuals at this many spreads (Gelper, Fried, Croux,
Robust forecasting with exponential and Holt-Winters smoothing, 2010)."""
WARMUP_DAYS = 35
"""Number of a depot's first regular days that are not clipped."""
BLOCK_DAYS = 32
"""Days summed by one matrix product; affects the speed only."""
MIN_WEIGHT = np.float32(1e-30)
"""Minimum divisor of a weighted mean, so that a mean of no days is 0 and not NaN."""
INFINITE_LOG_COUNT = np.float32(1e6)
"""Larger than any log count; NumPy would warn of invalid values with real infinities."""
FADED_DAYS = 112
"""Days after which sums count as faded: at the fastest of `LEVEL_RATES`, a weight is then 1e-29."""
WEEK = 7


def baseline_without_effects(
    trimmed: Float[ArrayT, "*day"],
    smoothed: Float[ArrayT, "*day"],
    last_week: Float[ArrayT, "*day"],
    last_week_share: Float[ArrayT, "*day"],
) -> Float[ArrayT, "*day"]:
    """Baseline forecast before the effects of calendar and signals are added; log counts.

    Args:
      trimmed: From `trimmed_mean`.
      smoothed: Smoothed level of the origin plus the day's weekday profile.
      last_week: Log count of the last same weekday.
      last_week_share: From `last_week_share`; 0 where the last same weekday is not regular.
    """
    mixed: ArrayT = trimmed * TRIMMED_SHARE + smoothed * (1 - TRIMMED_SHARE)
    return mixed + (last_week - mixed) * last_week_share


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
      weekdays: Log counts, one array per same weekday, because NumPy's reductions are slow
        over such a short axis.
      regular: 1.0 where the same weekday is regular; the others are left out.
      level: Forecast where none of the same weekdays is regular.
    """
    masked = [days * is_valid for days, is_valid in zip(weekdays, regular, strict=True)]
    beyond = [
        is_valid * -INFINITE_LOG_COUNT + INFINITE_LOG_COUNT for is_valid in regular
    ]
    pairs = list(zip(masked, beyond, strict=True))
    highest = reduce(xp.maximum, [days - far for days, far in pairs])
    lowest = reduce(xp.minimum, [days + far for days, far in pairs])
    n_valid, total = reduce(xp.add, regular), reduce(xp.add, masked)
    has_extremes = (n_valid > 2.5).astype(total.dtype)
    kept = total - has_extremes * (highest + lowest)
    mean = kept / xp.maximum(n_valid - 2 * has_extremes, 1.0)
    return xp.where(n_valid > 0.5, mean, level)


@dataclass(frozen=True)
class BaselineResiduals:
    """Log counts of a panel, days ahead included, and the residuals of the baseline.

    Attributes:
      log_dt: log(1 + orders) less all effects, 0 where not observed.
      regular_dt: Whether the day is regular: observed, not a public holiday, and without
        a large effect of events or signals.
      level_dt: Mean log count of the last 28 days, see `scaling.trailing_level`; 0 before
        the first regular day.
      residual_dt: Log count - yesterday's baseline forecast of the day.
      has_baseline_dt: Whether there was a baseline forecast.
      spread_dt: Mean absolute residual of the last 56 days, see `scaling.trailing_spread`.
    """

    log_dt: DepotTime32
    observed_dt: DepotTimeFlags
    regular_dt: DepotTimeFlags
    level_dt: DepotTime32
    residual_dt: DepotTime32
    has_baseline_dt: DepotTimeFlags
    spread_dt: DepotTime32

    @classmethod
    def from_panel(
        cls,
        panel: Panel,
        effect_dt: Float32[np.ndarray, "depot time_ahead"],
    ) -> "BaselineResiduals":
        """Computes the residuals of every depot of a panel.

        Args:
          panel: Demand up to the origin and the calendar beyond it.
          effect_dt: Effects as known on the day before, log counts.
        """
        shape, n_steps = (panel.n_depots, panel.n_steps + panel.ahead), panel.n_steps
        log_dt, observed_dt = np.zeros(shape, np.float32), np.zeros(shape, bool)
        log_dt[:, :n_steps] = log_counts(panel.demand_dt)
        observed_dt[:, :n_steps] = panel.observed_dt
        log_dt = (log_dt - effect_dt) * observed_dt
        regular_dt = observed_dt & ~panel.calendar.of_kind(HOLIDAY)
        regular_dt &= np.abs(effect_dt) < LARGE_EFFECT
        level_dt = trailing_level(log_dt, regular_dt)
        np.copyto(level_dt, 0.0, where=np.isnan(level_dt))
        weeks = [weekday_lag(1, repeat) for repeat in range(1, REPEATS + 1)]
        weight_dt = regular_dt.astype(np.float32)
        weights = [lag(weight_dt, days) for days in weeks]
        same_weekdays = [lag(log_dt, days) for days in weeks]
        residual_dt = log_dt - trimmed_mean(
            np, same_weekdays, weights, lag(level_dt, 1)
        )
        residual_dt[:, 0] = 0.0
        has_baseline_dt = reduce(np.maximum, weights) > 0
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
    def has_residual_dt(self) -> DepotTimeFlags:
        """Whether the day was observed and had a baseline forecast."""
        return self.has_baseline_dt & self.observed_dt

    @cached_property
    def clipped_residual_dt(self) -> DepotTime32:
        """Residuals clipped to ±`MAX_RESIDUAL`, 0 where there is none."""
        clipped_dt = np.clip(self.residual_dt, -MAX_RESIDUAL, MAX_RESIDUAL)
        return clipped_dt * self.has_residual_dt


def lag(
    value_dt: Shaped[np.ndarray, "depot time"],
    days: int,
    first_step: int = 0,
    fill: float = 0,
) -> Shaped[np.ndarray, "depot tail"]:
    """Shifts values by `days`: each step gets the value of the step `days` before it.

    The result begins at `first_step`, and is `fill` where the lag reaches before step 0.
    """
    # np.pad is avoided: its checks take longer than its work.
    lagged_dt = np.full_like(value_dt[:, first_step:], fill)
    n_steps = value_dt.shape[1]
    source_dt = value_dt[:, max(0, first_step - days) : max(0, n_steps - days)]
    lagged_dt[:, lagged_dt.shape[1] - source_dt.shape[1] :] = source_dt
    return lagged_dt


def weekday_profile(residuals: BaselineResiduals) -> DepotTime32:
    """Exponentially weighted mean deviation of each day's weekday from the level.

    The mean is over regular days, up to and including the day itself. The rates of
    `PROFILE_RATES` are weighted by their errors on the depot's last regular days.
    """
    regular_dt = residuals.regular_dt.astype(np.float32)
    deviation_dt = residuals.log_dt - residuals.level_dt
    weights = [
        np.maximum(_weekly_sum(regular_dt, rate), MIN_WEIGHT) for rate in PROFILE_RATES
    ]
    # Days are clipped around the profile at the slowest rate.
    slowest_dt = _weekly_sum(deviation_dt * regular_dt, PROFILE_RATES[0]) / weights[0]
    previous_dt = lag(slowest_dt, WEEK)
    change_dt = deviation_dt - previous_dt
    clipped_dt = _clipped(change_dt, residuals)
    has_warmed_up_dt = regular_days(residuals.regular_dt) > WARMUP_DAYS
    np.copyto(clipped_dt, change_dt, where=~has_warmed_up_dt)
    clipped_dt += previous_dt
    clipped_dt *= regular_dt
    profiles = [
        _weekly_sum(clipped_dt, rate) / weight_dt
        for rate, weight_dt in zip(PROFILE_RATES, weights, strict=True)
    ]
    return _hedged(
        profiles, deviation_dt, residuals.regular_dt, WEEK, PROFILE_STRENGTH, 0
    )


def last_week_share(residuals: BaselineResiduals, first_step: int) -> DepotTail32:
    """Share of the last same weekday in the baseline forecasts from each origin.

    It is weighted against the trimmed mean by the errors of both on the last regular days.

    Args:
      residuals: Residuals of the depots.
      first_step: First step returned.
    """
    change_dt = residuals.log_dt - lag(residuals.log_dt, WEEK)
    regular_dt = residuals.regular_dt & lag(residuals.regular_dt, WEEK)
    repeated_dt, trimmed_dt = _hedge_weights(
        (change_dt, residuals.residual_dt), regular_dt, LAST_WEEK_STRENGTH, first_step
    )
    repeated_dt *= LAST_WEEK_SHARE
    trimmed_dt *= 1 - LAST_WEEK_SHARE
    return repeated_dt / (repeated_dt + trimmed_dt)


def smoothed_level(
    residuals: BaselineResiduals, weekday_profile_dt: DepotTime32, first_step: int
) -> DepotTail32:
    """Exponentially weighted mean of log counts up to each day, less the weekday profile.

    Args:
      residuals: Residuals of the depots; their level is returned before the first regular
        day.
      weekday_profile_dt: From `weekday_profile`.
      first_step: First step returned.
    """
    expected_dt = residuals.level_dt + lag(weekday_profile_dt, WEEK)
    deseasonalised_dt = _clipped(residuals.log_dt - expected_dt, residuals)
    deseasonalised_dt += residuals.level_dt
    deseasonalised_dt *= residuals.regular_dt
    mean_dt = _hedged_level(deseasonalised_dt, residuals.regular_dt, first_step)
    has_level_dt = regular_days(residuals.regular_dt)[:, first_step:] > 0
    return np.where(has_level_dt, mean_dt, residuals.level_dt[:, first_step:])


def _hedged_level(
    value_dt: DepotTime32, regular_dt: DepotTimeFlags, first_step: int
) -> DepotTail32:
    """Exponentially weighted mean of regular days, averaged over `LEVEL_RATES` by `_hedged`."""
    start = max(0, first_step - HEDGE_DAYS - LEVEL_AHEAD)
    levels = _levels(value_dt, regular_dt, start)
    value_dt, regular_dt = value_dt[:, start:], regular_dt[:, start:]
    return _hedged(
        levels, value_dt, regular_dt, LEVEL_AHEAD, LEVEL_STRENGTH, first_step - start
    )


def _hedged(
    estimates: Sequence[DepotTime32],
    value_dt: DepotTime32,
    regular_dt: DepotTimeFlags,
    ahead: int,
    strength: float,
    first_step: int,
) -> DepotTail32:
    """Mean of several estimates, weighted by their errors on a depot's last regular days.

    All have equal weight where none of the last `HEDGE_DAYS` was regular.

    Args:
      estimates: Estimates of each day, which use only the days up to it.
      value_dt: Values that the estimates are compared with.
      regular_dt: Days whose errors count.
      ahead: Days from an estimate to the day that it forecasts.
      strength: Factor on relative errors in the exponent of the weights.
      first_step: First step returned.
    """
    missed = (value_dt - lag(estimate_dt, ahead) for estimate_dt in estimates)
    weights = _hedge_weights(missed, regular_dt, strength, first_step)
    mean_dt, total_dt = np.zeros((2, *weights[0].shape), np.float32)
    for estimate_dt, weight_dt in zip(estimates, weights, strict=True):
        mean_dt += weight_dt * estimate_dt[:, first_step:]
        total_dt += weight_dt
    return mean_dt / total_dt


def _hedge_weights(
    missed: Iterable[DepotTime32],
    regular_dt: DepotTimeFlags,
    strength: float,
    first_step: int,
) -> list[DepotTail32]:
    """Weights of several estimates by their errors, see `_hedged`; the best has weight 1."""
    count_dt = regular_dt.astype(np.float32)
    days_dt = trailing_sum(count_dt, HEDGE_DAYS, first_step)
    misses = []
    for each_dt in missed:
        missed_dt = np.abs(each_dt)
        missed_dt *= count_dt
        misses.append(trailing_sum(missed_dt, HEDGE_DAYS, first_step))
    least_dt = reduce(np.minimum, misses)
    scale_dt = np.maximum(reduce(np.add, misses), MIN_WEIGHT)
    scale_dt *= days_dt + np.float32(HEDGE_PRIOR_DAYS)
    np.divide(strength * len(misses) * days_dt, scale_dt, out=scale_dt)
    return [np.exp(scale_dt * (least_dt - missed_dt)) for missed_dt in misses]


def _levels(
    value_dt: DepotTime32, regular_dt: DepotTimeFlags, first_step: int
) -> list[DepotTail32]:
    """Exponentially weighted mean of regular days at each of `LEVEL_RATES`; 0 without such days."""
    count_dt = regular_dt.astype(np.float32)
    levels = []
    for rate in LEVEL_RATES:
        sum_dt = exponentially_weighted_sum(value_dt, rate, first_step)
        weight_dt = exponentially_weighted_sum(count_dt, rate, first_step)
        levels.append(np.divide(sum_dt, np.maximum(weight_dt, MIN_WEIGHT), out=sum_dt))
    # After a long gap the sums have faded: the level before the gap is kept.
    has_gap_d = (trailing_sum(regular_dt, FADED_DAYS, first_step) == 0).any(axis=1)
    for depot in np.flatnonzero(has_gap_d & regular_dt.any(axis=1)):
        regular_r = np.flatnonzero(regular_dt[depot])
        before_r = regular_r[regular_r <= first_step]
        day_t = np.arange(first_step, regular_dt.shape[1])
        last_t = np.searchsorted(regular_r, day_t, side="right") - 1
        source_t = np.maximum(regular_r[np.maximum(last_t, 0)] - first_step, 0)
        for rate, level_dt in zip(LEVEL_RATES, levels, strict=True):
            if len(before_r):
                weight_r = (1 - rate) ** (before_r[-1] - before_r)
                total = weight_r @ value_dt[depot, before_r]
                level_dt[depot, 0] = total / weight_r.sum()
            level_dt[depot] = np.where(last_t < 0, 0.0, level_dt[depot, source_t])
    return levels


def exponentially_weighted_sum(
    value_dt: DepotTime32, rate: float, first_step: int
) -> DepotTail32:
    """Exponentially weighted sum up to each day from `first_step` on.

    The weight falls by the factor 1 - rate per day of age. Computed in blocks of days,
    with carry-over; the days before the first step are one block.
    """
    n_depots, n_steps = value_dt.shape
    n_blocks = -(-(n_steps - first_step) // BLOCK_DAYS)
    block_sums = np.zeros((n_depots, n_blocks * BLOCK_DAYS), np.float32)
    block_sums[:, : n_steps - first_step] = value_dt[:, first_step:]
    age_ij = np.arange(BLOCK_DAYS)[None, :] - np.arange(BLOCK_DAYS)[:, None]
    weight_ij = np.where(age_ij >= 0, (1 - rate) ** np.maximum(age_ij, 0), 0.0)
    block_sums = block_sums.reshape(-1, BLOCK_DAYS) @ weight_ij.astype(np.float32)
    block_sums = block_sums.reshape(n_depots, n_blocks, BLOCK_DAYS)
    decay_i = ((1 - rate) ** np.arange(1, BLOCK_DAYS + 1)).astype(np.float32)
    weight_t = (1 - rate) ** np.arange(first_step - 1, -1, -1)
    before_d = value_dt[:, :first_step] @ weight_t.astype(np.float32)
    for block in range(n_blocks):
        block_sums[:, block] += before_d[:, None] * decay_i
        before_d = block_sums[:, block, -1]
    return block_sums.reshape(n_depots, -1)[:, : n_steps - first_step]


def _clipped(deviation_dt: DepotTime32, residuals: BaselineResiduals) -> DepotTime32:
    """Clips deviations to ±`MAX_SPREADS` times the previous day's spread."""
    limit_dt = lag(residuals.spread_dt, 1, fill=DEFAULT_SPREAD)
    limit_dt *= MAX_SPREADS
    # np.clip takes three times as long if the limits are arrays.
    clipped_dt = np.minimum(deviation_dt, limit_dt)
    return np.maximum(clipped_dt, np.negative(limit_dt, out=limit_dt), out=clipped_dt)


def regular_days(regular_dt: DepotTimeFlags) -> Int32[np.ndarray, "depot time"]:
    """Number of regular days up to each day."""
    # int16 would take four times as long.
    return np.cumsum(regular_dt, axis=1, dtype=np.int32)


def _weekly_sum(value_dt: DepotTime32, rate: float) -> DepotTime32:
    """Exponentially weighted sum of the same weekday's values.

    Computed from sums over 1, 2, 4, … weeks, each the sum of two shorter ones.
    """
    sum_dt = value_dt.copy()
    days = WEEK
    while days < value_dt.shape[1]:
        decay = np.float32((1 - rate) ** (days // WEEK))
        sum_dt[:, days:] += decay * sum_dt[:, :-days]
        days *= 2
    return sum_dt
