"""Errors of the baseline at every origin of the last year, from which bands are estimated.

A month of held-out days is too short to estimate quantiles, and the network has no unseen year.
The baseline has one: at each day it reads only earlier days, and the effects used here are
fitted to earlier parts of the history (forward chaining, `forward_chained_calendar_effects`).
"""

from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from forecaster.config import MIN_CONTEXT, TaskConfig
from forecaster.data import inputs, lags
from forecaster.data.effects import Effects, forward_chained_effects
from forecaster.data.features import build_features
from forecaster.data.panel import Panel

YEAR_DAYS = 364
"""Number of origins, counted back from the panel's last day."""
SETTLED_DAYS = 28
"""A depot's errors count once it has more days of history; younger depots depend on peers."""
DEPOTS_PER_CHUNK = 256
"""Depots whose features are in memory at once."""
MIN_FACTOR, MAX_FACTOR = 1.3, 4.0
"""Limits of `effect_factor`: effects are fitted to few days, so their spread is understated."""
FACTOR_DAYS = 5
"""Number of special days at which the factor measured on them weighs as much as the prior one."""
FACTOR_QUANTILE = 0.9
"""Share of the errors on special days that the factor should cover; more than 0.8, because the
days ahead are different holidays."""
SPECIAL_SHARE = 0.5
"""A day is special where its effect's standard deviation exceeds this share of the spread."""
NORMAL_HIGH = NormalDist().inv_cdf(0.9)
"""90 % quantile of the standard normal distribution."""
LOW, HIGH = 0.1, 0.9
"""Quantiles that bound the 80 % interval."""


class BaselineErrors(NamedTuple):
    """Baseline forecasts of some depots from the origins of a year, and their errors; log counts.

    The axes are depot, origin (one per day) and horizon.
    """

    baseline_doh: Float32[np.ndarray, "depot origin horizon"]
    # Actual - baseline; NaN where the day is not known or the depot had no settled history.
    error_doh: Float32[np.ndarray, "depot origin horizon"]
    spread_do: Float32[np.ndarray, "depot origin"]
    # Standard deviation of the calendar's effect, fitted before the day's part of the history.
    effect_sd_doh: Float32[np.ndarray, "depot origin horizon"]

    @property
    def special_doh(self) -> Bool[np.ndarray, "depot origin horizon"]:
        """Whether the day is a holiday or an event whose effect is uncertain."""
        return self.effect_sd_doh > SPECIAL_SHARE * self.spread_do[..., None]

    def of_depots(self, rows: Int[np.ndarray, " some"]) -> "BaselineErrors":
        """Returns the errors of some of the depots."""
        return BaselineErrors(*(part[rows] for part in self))


def baseline_errors(
    panel: Panel, effects: Effects, horizon: int
) -> Iterator[BaselineErrors]:
    """Yields the errors of every depot from each origin of the last year, some depots at a time.

    Args:
      panel: Demand through the last day that may be a target.
      effects: Fitted effects. Effects of covariates are used as they are; the calendar's are
        refitted to the days before each part of the history.
      horizon: Days forecast.
    """
    effect_dtf, sd_dt = forward_chained_effects(effects, panel, horizon)
    n_days = max(MIN_CONTEXT, min(YEAR_DAYS + 1, panel.n_steps))
    task = TaskConfig(horizon, n_days)
    origins = slice(0, n_days - 1)
    for first in range(0, panel.n_depots, DEPOTS_PER_CHUNK):
        rows = slice(first, first + DEPOTS_PER_CHUNK)
        features = build_features(
            panel.of_depots(rows),
            (),
            horizon,
            effect_dtf=effect_dtf[rows],
            weekday_prior=effects.weekdays,
        )
        windows = inputs.last_windows(features, task)
        baseline_doh = np.asarray(inputs.future(np, windows, horizon, origins).baseline)
        actual_doh, known_doh = inputs.actuals(np, windows, horizon, origins)
        of_origins = slice(lags.LOOKBACK_DAYS, lags.LOOKBACK_DAYS + n_days - 1)
        is_settled_do = windows.age[:, of_origins] > np.log1p(SETTLED_DAYS)
        is_valid_doh = (known_doh > 0) & is_settled_do[..., None]
        yield BaselineErrors(
            baseline_doh,
            np.where(is_valid_doh, actual_doh - baseline_doh, np.float32(np.nan)),
            np.asarray(windows.spread[:, of_origins]),
            _days_ahead(sd_dt[rows], panel.n_steps, n_days, horizon),
        )


def _days_ahead(
    value_dt: Float32[np.ndarray, "depot time_ahead"],
    n_steps: int,
    n_days: int,
    horizon: int,
) -> Float32[np.ndarray, "depot origin horizon"]:
    """Values of the H days after each of the last `n_days` but the final one; 0 before step 0."""
    target_oh = (
        n_steps - n_days + 1 + np.add.outer(np.arange(n_days - 1), range(horizon))
    )
    return value_dt[:, np.maximum(target_oh, 0)] * (target_oh >= 0)


def shrunk_quantiles(
    score: Float[np.ndarray, "*row origin horizon"],
    counted: Bool[np.ndarray, "*row origin horizon"],
    prior: tuple[float, float],
    prior_weeks: int,
) -> Float[np.ndarray, " 2"]:
    """10 % quantile (at most 0) and 90 % quantile (at least 0) of the scores that count.

    They are shrunk towards the prior quantiles, which weigh as much as `prior_weeks` of origins.
    """
    weeks = counted.any(axis=(0, 2)).sum() / 7
    prior_q = np.array(prior)
    if not weeks:
        return prior_q
    low, high = np.quantile(score[counted], (LOW, HIGH))
    weight = weeks / (weeks + prior_weeks)
    # A few weeks may all lie above or below their forecasts.
    return weight * np.array([min(low, 0.0), max(high, 0.0)]) + (1 - weight) * prior_q


def effect_factor(
    error_noh: Float[np.ndarray, "row origin horizon"],
    ordinary_noh: Float[np.ndarray, "row origin horizon"],
    effect_noh: Float[np.ndarray, "row origin horizon"],
    special_noh: Bool[np.ndarray, "row origin horizon"],
    prior: float,
) -> float:
    """Factor on the standard deviation of effects, so that bands cover special days' errors.

    Args:
      error_noh: Actual - forecast.
      ordinary_noh: Half width of the band on an ordinary day, on the error's side.
      effect_noh: Half width of a band for only the effect's standard deviation.
      special_noh: Whether the day is special and counts.
      prior: Factor without special days; it weighs less with each distinct one.

    Returns:
      A factor between `MIN_FACTOR` and `MAX_FACTOR`.
    """
    if not special_noh.any():
        return prior
    beyond_r = error_noh[special_noh] ** 2 - ordinary_noh[special_noh] ** 2
    needed_r = np.sqrt(np.maximum(beyond_r, 0.0)) / effect_noh[special_noh]
    own = np.clip(np.quantile(needed_r, FACTOR_QUANTILE), 0.3, MAX_FACTOR)
    origin_r, day_r = np.nonzero(special_noh.any(axis=0))
    n_days = len(np.unique(origin_r + day_r))
    weight = n_days / (n_days + FACTOR_DAYS)
    return max(float(own**weight * prior ** (1 - weight)), MIN_FACTOR)
