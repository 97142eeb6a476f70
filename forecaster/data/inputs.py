"""Builds the network's inputs from a depot's days, in NumPy or in JAX.

`xp` is NumPy when serving and jax.numpy when training; see `lags`.

A new column takes four steps, and the network needs no change:
  1. Add to `features.Features` a field `NAME_dt`, or `NAME_dtf` with an axis of its own, and
     compute it in `build_features`; `regular_dt` and `yearly_dtf` are examples.
  2. Add to `Windows` a field `NAME`.
  3. Add the name to `ALL_WINDOW_DAYS` if it is read on all days of the window (`_dt`), or to
     `CONTEXT_AND_HORIZON` if on context and days ahead only (`_dtf`); all cuts use these lists.
  4. Add the column's name and its value, at the same position, to `PAST_COLUMNS` and
     `past_columns` if it describes a context day, or to `FUTURE_COLUMNS` and `future` if it
     describes a day ahead. If it reads days further back, extend `predict.receptive_field_days`.
Artefacts trained on other columns are refused: train again. The steps for a calendar column
are in the docstring of `calendar_features`.
"""

import math
from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from forecaster.config import TaskConfig
from forecaster.data import lags
from forecaster.data.baseline import baseline_without_effects, trimmed_mean
from forecaster.data.calendar_features import column_names as calendar_names
from forecaster.data.features import Features
from forecaster.data.lags import ALL, REPEATS, Array
from forecaster.data.residual_features import RECENT_COLUMNS, RESPONSE_COLUMNS
from forecaster.data.yearly_features import DEVIATION_COLUMNS, RESIDUAL_COLUMNS

RECENT_DAYS = 7
PAST_COLUMNS = (
    *(f"deviation from level, {days} days ago" for days in range(RECENT_DAYS + 1)),
    *(f"observed, {days} days ago" for days in range(RECENT_DAYS + 1)),
    "level",
    "change of level in 28 days",
    "spread",
    "residual autocorrelation",
    "age",
    *RECENT_COLUMNS,
)
"""Features of a context day, in order."""
FUTURE_COLUMNS = (
    *(f"deviation from level, same weekday {n}" for n in range(1, REPEATS + 1)),
    *(f"observed, same weekday {n}" for n in range(1, REPEATS + 1)),
    *(f"regular, same weekday {n}" for n in range(1, REPEATS + 1)),
    *DEVIATION_COLUMNS,
    *RESPONSE_COLUMNS,
    "trimmed mean less the level",
    *RESIDUAL_COLUMNS,
    "smoothed forecast less the trimmed mean",
    "effect",
)
"""Features of a day ahead that derive from the past, in order. The effect is part of the
baseline; the column lets the network reduce or increase it."""
MAX_INPUT_AGE_DAYS = 28
"""Cap on the age input: an uncapped age grows with time, so that the network would learn the trend
of a short history from it, and continue that trend."""
LEVEL_CENTRE, LEVEL_WIDTH = 5.0, 3.0
"""Rough mean and width of log counts, used to scale levels to values near 1."""


class Windows(NamedTuple):
    """Windows of days of some depots, see `lags`.

    The axis `day` is all P = LOOKBACK_DAYS + C + H days, `near` is the last C + H of them.
    """

    # Row of the depot's embedding, 0.0 where it has none.
    depot: Float[Array, "*batch"]
    # Log counts less the effect; 0 where not observed.
    log_demand: Float[Array, "*batch day"]
    # 1.0 where observed.
    observed: Float[Array, "*batch day"]
    # 1.0 where regular, see `BaselineResiduals`.
    regular: Float[Array, "*batch day"]
    level: Float[Array, "*batch day"]
    spread: Float[Array, "*batch day"]
    residual_autocorrelation: Float[Array, "*batch day"]
    # log(1 + days since the first observed day).
    age: Float[Array, "*batch day"]
    # Smoothed level.
    smooth: Float[Array, "*batch day"]
    # Smoothed deviation of the day's weekday from the level.
    weekday_profile: Float[Array, "*batch day"]
    # Share of the last same weekday in the baseline.
    last_week_share: Float[Array, "*batch day"]
    # Effect as known 1 to H days before, or a single column without covariates.
    effect: Float[Array, "*batch near ahead"]
    recent_residuals: Float[Array, "*batch near recent"]
    yearly: Float[Array, "*batch near yearly"]
    event_response: Float[Array, "*batch near response"]
    calendar: Float[Array, "*batch near feature"]


ALL_WINDOW_DAYS = (
    "log_demand",
    "observed",
    "regular",
    "level",
    "spread",
    "residual_autocorrelation",
    "age",
    "smooth",
    "weekday_profile",
    "last_week_share",
)
"""Inputs of every day of the window."""
CONTEXT_AND_HORIZON = ("effect", "recent_residuals", "yearly", "event_response")
"""Inputs of the context days and the days ahead only, each with an additional last axis."""


def cut_windows(
    features: Features,
    task: TaskConfig,
    depot_b: Int[np.ndarray, " batch"],
    last_b: Int[np.ndarray, " batch"],
) -> Windows:
    """Cuts one window of days per row.

    Args:
      features: Features of at least the days of the windows.
      task: Sets C and H.
      depot_b: Depot of each row.
      last_b: Step of each row's last context day. Values of days outside the panel are 0,
        which marks them as not observed.
    """
    lookback, n_steps = lags.LOOKBACK_DAYS, features.log_demand_dt.shape[1]
    first_b = last_b - task.context + 1 - lookback
    step_bp = first_b[:, None] + np.arange(lookback + task.context + task.horizon)
    near_bs = step_bp[:, lookback:]
    every_day = {
        name: _values_at(getattr(features, f"{name}_dt"), depot_b, step_bp, n_steps)
        for name in ALL_WINDOW_DAYS
    }
    near_days = {
        name: _values_at(getattr(features, f"{name}_dtf"), depot_b, near_bs, n_steps)
        for name in CONTEXT_AND_HORIZON
    }
    group_b = features.group_d[depot_b]
    calendar = _values_at(features.calendar_gtf, group_b, near_bs, n_steps)
    features.own.write(calendar, depot_b, first_b + lookback)
    return Windows(
        depot=features.embedding_row_d[depot_b].astype(np.float32),
        calendar=calendar,
        **every_day,
        **near_days,
    )


def _values_at(
    value_rt: Float[np.ndarray, "row tail *feature"],
    row_b: Int[np.ndarray, " batch"],
    step_bs: Int[np.ndarray, "batch day"],
    n_steps: int,
) -> Float[np.ndarray, "batch day *feature"]:
    """Values of some rows at some of `n_steps` steps, the last of which are given; else 0."""
    n_tail = value_rt.shape[1]
    at_bs = step_bs - (n_steps - n_tail)
    value_bs = value_rt[row_b[:, None], np.clip(at_bs, 0, n_tail - 1)]
    value_bs[(at_bs < 0) | (at_bs >= n_tail)] = 0.0
    return value_bs


def last_windows(features: Features, task: TaskConfig) -> Windows:
    """Cuts the newest window of every depot."""
    n_depots = len(features.group_d)
    last_d = np.full(n_depots, features.n_steps - 1)
    return cut_windows(features, task, np.arange(n_depots), last_d)


def last_calendars(features: Features, task: TaskConfig) -> Int[np.ndarray, " depot"]:
    """Number of each depot's calendar in `last_windows`; depots with equal numbers share one."""
    day_r = features.own.step_r - features.n_steps
    is_near_r = (day_r >= -task.context) & (day_r < task.horizon)
    own_d = np.unique(features.own.depot_r[is_near_r])
    calendar_d = features.group_d.copy()
    calendar_d[own_d] = len(features.calendar_gtf) + np.arange(len(own_d))
    return calendar_d


def column_names(kinds: Sequence[str]) -> tuple[str, ...]:
    """Names of the network's input columns: first the past, then `future`, then the calendar."""
    return (*PAST_COLUMNS, *FUTURE_COLUMNS, *calendar_names(kinds))


def n_context(windows: Windows, horizon: int) -> int:
    """Number of context days in the windows, C."""
    return int(windows.calendar.shape[-2]) - horizon


def past_columns(
    xp: ModuleType, windows: Windows, horizon: int
) -> list[Float[Array, "*batch context"]]:
    """Features of each context day, `PAST_COLUMNS`; serving stacks them with depots last."""
    ago = partial(_of_context, windows, horizon)
    level = ago(windows.level)
    observed = [ago(windows.observed, day) for day in range(RECENT_DAYS + 1)]
    deviations = [
        (ago(windows.log_demand, day) - level) * observed[day]
        for day in range(RECENT_DAYS + 1)
    ]
    change = xp.where(ago(windows.age, 28) > 0, level - ago(windows.level, 28), 0.0)
    age = xp.minimum(ago(windows.age), math.log1p(MAX_INPUT_AGE_DAYS))
    recent = windows.recent_residuals[..., : n_context(windows, horizon), :]
    return [
        *deviations,
        *observed,
        (level - LEVEL_CENTRE) / LEVEL_WIDTH,
        change,
        xp.log(xp.maximum(ago(windows.spread), 1e-3)) + 2.0,
        ago(windows.residual_autocorrelation),
        age / 6.0,
        *(recent[..., column] for column in range(len(RECENT_COLUMNS))),
    ]


class FutureFeatures(NamedTuple):
    """Features of the days ahead that derive from the past, and the baseline forecast."""

    # [..., O, H, F], `FUTURE_COLUMNS`.
    features: Float[Array, "*batch origin horizon future"]
    # [..., O, H] log counts, which the network corrects.
    baseline: Float[Array, "*batch origin horizon"]


def future(
    xp: ModuleType, windows: Windows, horizon: int, origins: slice = ALL
) -> FutureFeatures:
    """Features and baseline of the H days after some origins; calendar features not included."""
    cut = (n_context(windows, horizon), horizon, origins)
    days = (windows.log_demand, windows.observed, windows.regular)
    weekdays = lags.same_weekdays(xp.stack(days, axis=-2), *cut)
    log_demand, observed, regular = (weekdays[..., n, :, :, :] for n in range(3))
    level = _of_context(windows, horizon, windows.level)[..., origins, None]
    log_demands, regulars = (
        [value[..., repeat] for repeat in range(REPEATS)]
        for value in (log_demand, regular)
    )
    trimmed = trimmed_mean(xp, log_demands, regulars, level)
    profile = lags.same_weekdays(windows.weekday_profile, *cut)[..., 0]
    smoothed = (
        _of_context(windows, horizon, windows.smooth)[..., origins, None] + profile
    )
    share = _of_context(windows, horizon, windows.last_week_share)[..., origins, None]
    effect = _effects_ahead(windows, *cut)
    yearly = lags.days_ahead(windows.yearly, *cut)
    response = lags.days_ahead(windows.event_response, *cut)
    of_weekday = partial(lags.of_every_week, horizon=horizon)
    columns = [
        of_weekday((log_demand - level[..., None]) * observed),
        of_weekday(observed),
        of_weekday(regular),
        yearly[..., : len(DEVIATION_COLUMNS)],
        response,
        of_weekday((trimmed - level)[..., None]),
        yearly[..., len(DEVIATION_COLUMNS) :],
        of_weekday((smoothed - trimmed)[..., None]),
        effect[..., None],
    ]
    without_effects = baseline_without_effects(
        trimmed, smoothed, log_demand[..., 0], share * regular[..., 0]
    )
    baseline = of_weekday(without_effects[..., None])[..., 0] + effect
    return FutureFeatures(xp.concatenate(columns, axis=-1), baseline)


def _effects_ahead(
    windows: Windows, context: int, horizon: int, origins: slice
) -> Float[Array, "*batch origin {horizon}"]:
    """Effects of the H days ahead, as known at each origin."""
    ahead = lags.days_ahead(windows.effect, context, horizon, origins)
    if ahead.shape[-1] == 1:
        return ahead[..., 0]
    day_h = np.arange(horizon)
    return ahead[..., day_h, day_h]


def actuals(
    xp: ModuleType, windows: Windows, horizon: int, origins: slice = ALL
) -> tuple[
    Float[Array, "*batch origin {horizon}"], Float[Array, "*batch origin {horizon}"]
]:
    """Log demand of the H days after some origins, and a mask of the days to learn from.

    Returns:
      Two arrays [..., O, H]; the mask is 1.0 where the day was observed and the depot had
      an observed day by the origin.
    """
    reach, context = lags.LOOKBACK_DAYS, n_context(windows, horizon)
    log_demand = windows.log_demand[..., reach:, None] + windows.effect[..., :1]
    observed = windows.observed[..., reach:, None]
    log_demand, observed = (
        lags.days_ahead(value, context, horizon, origins)[..., 0]
        for value in (log_demand, observed)
    )
    age = _of_context(windows, horizon, windows.age)[..., origins, None]
    return log_demand, xp.where(age > 0, observed, 0.0)


def _of_context(
    windows: Windows, horizon: int, value: Float[Array, "*batch day"], days_ago: int = 0
) -> Float[Array, "*batch context"]:
    """Values of the context days, or of the days `days_ago` before each."""
    first = lags.LOOKBACK_DAYS - days_ago
    return value[..., first : first + n_context(windows, horizon)]
