"""The weekday pattern of the fleet, towards which the depots' patterns are shrunk.

A depot's pattern is the mean of its last weeks, and partly chance if the depot is young or noisy.
It is shrunk by the share of its distance from the fleet's that chance explains (empirical
Bayes; Efron and Morris, Stein's estimation rule and its competitors, 1973). A pattern far
from the fleet's is hardly shrunk (Efron and Morris, Limiting the risk of Bayes estimators, 1972).
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int

from forecaster.data.baseline import (
    HEDGE_DAYS,
    WEEK,
    BaselineResiduals,
    lag,
    regular_days,
    weekday_profile,
)
from forecaster.data.dates import weekdays
from forecaster.data.panel import Panel
from forecaster.data.scaling import LEVEL_DAYS, trailing_sum
from forecaster.data.shapes import DepotTime32

MIN_DEPOTS = 4
"""Minimum depots to fit a pattern to, each with at least 14 regular days in the last 28."""
MAX_WEEKS = 20
"""Approximate maximum number of weeks that a smoothed profile averages."""
PRIOR_DAYS = 7
"""Weight, in days, of the depot's spread in the estimate of its noise."""
NO_SD = 1e3
"""Standard deviation that stands for no prior, log counts: so large that nothing is shrunk."""
MIN_SD = 0.01
"""Minimum standard deviation of depots around the fleet's pattern, log counts."""


@dataclass(frozen=True)
class WeekdayPrior:
    """Weekday pattern of a fleet.

    Attributes:
      pattern_w: Deviation of the weekdays from the level, Monday first; log counts.
      sd: Standard deviation of the depots' patterns around it, log counts.
    """

    pattern_w: Float32[np.ndarray, " 7"]
    sd: float

    def shrink(
        self,
        profile_dt: DepotTime32,
        residuals: BaselineResiduals,
        weekday_t: Int[np.ndarray, " time"],
    ) -> DepotTime32:
        """Returns the profiles of depots, shrunk towards the pattern.

        The mean of a depot's profile over its last regular days does not change.

        Args:
          profile_dt: From `weekday_profile`.
          residuals: Residuals of the same depots.
          weekday_t: Weekday of each step, 0 is Monday.
        """
        difference_dt, apart_dt = self._apart(profile_dt, residuals, weekday_t)
        noise_dt = profile_noise(residuals)
        own_dt = np.maximum(apart_dt - noise_dt, np.float32(self.sd**2))
        return profile_dt - noise_dt / (noise_dt + own_dt) * difference_dt

    def _apart(
        self,
        profile_dt: DepotTime32,
        residuals: BaselineResiduals,
        weekday_t: Int[np.ndarray, " time"],
    ) -> tuple[DepotTime32, DepotTime32]:
        """Profile less pattern, centred over 28 days, and its mean square over 28 days."""
        difference_dt = profile_dt - self.pattern_w[weekday_t]
        regular_dt = residuals.regular_dt.astype(np.float32)
        days_dt = np.maximum(trailing_sum(regular_dt, LEVEL_DAYS, 0), 1)
        mean_dt = trailing_sum(difference_dt * regular_dt, LEVEL_DAYS, 0) / days_dt
        difference_dt -= mean_dt
        square_dt = trailing_sum(difference_dt**2 * regular_dt, LEVEL_DAYS, 0)
        return difference_dt, square_dt / days_dt


NO_WEEKDAY_PRIOR = WeekdayPrior(np.zeros(WEEK, np.float32), NO_SD)
"""Prior of a fleet of few depots; shrinks nothing."""


def fit_weekday_prior(
    panel: Panel, effect_dt: Float32[np.ndarray, "depot time_ahead"]
) -> WeekdayPrior:
    """Fits the pattern to the profiles that the depots have on a panel's last days.

    Args:
      panel: Demand through the origin.
      effect_dt: Effects as known on the day before, log counts.
    """
    residuals = BaselineResiduals.from_panel(panel, effect_dt)
    profile_dt, last = weekday_profile(residuals), panel.n_steps - 1
    weekday_t = weekdays(panel.days())
    month = residuals.regular_dt[:, max(0, panel.n_steps - LEVEL_DAYS) : panel.n_steps]
    known_d = month.sum(axis=1) >= LEVEL_DAYS / 2
    if known_d.sum() < MIN_DEPOTS:
        return NO_WEEKDAY_PRIOR
    step_w = (
        panel.n_steps
        - WEEK
        + np.argsort(weekday_t[panel.n_steps - WEEK : panel.n_steps])
    )
    pattern_w = np.median(profile_dt[known_d][:, step_w], axis=0)
    pattern_w -= pattern_w.mean()
    prior = WeekdayPrior(pattern_w, NO_SD)
    _, apart_dt = prior._apart(profile_dt, residuals, weekday_t)
    chance_d = profile_noise(residuals)[known_d, last]
    variance = float(np.median(apart_dt[known_d, last] - chance_d))
    return WeekdayPrior(pattern_w, max(MIN_SD, math.sqrt(max(0.0, variance))))


def profile_noise(residuals: BaselineResiduals) -> DepotTime32:
    """Variance of each day's profile due to chance; squared log counts.

    It is a day's variance, estimated from differences of successive residuals (von Neumann,
    Distribution of the ratio of the mean square successive difference to the variance, 1941),
    in which errors of the level cancel out, divided by the number of weeks.
    """
    valid_dt = residuals.regular_dt & residuals.has_baseline_dt
    both_dt = (valid_dt & lag(valid_dt, 1)).astype(np.float32)
    change_dt = np.abs(residuals.residual_dt - lag(residuals.residual_dt, 1)) * both_dt
    # A difference of two independent days is √2 times as large as a day's own deviation.
    total_dt = trailing_sum(change_dt, HEDGE_DAYS, 0)
    total_dt += np.float32(PRIOR_DAYS * math.sqrt(2)) * residuals.spread_dt
    mean_dt = total_dt / (trailing_sum(both_dt, HEDGE_DAYS, 0) + PRIOR_DAYS)
    sd_dt = mean_dt * np.float32(math.sqrt(math.pi) / 2)
    weeks_dt = regular_days(residuals.regular_dt).astype(np.float32)
    weeks_dt /= WEEK
    np.clip(weeks_dt, 1, MAX_WEEKS, out=weeks_dt)
    return sd_dt**2 / weeks_dt
