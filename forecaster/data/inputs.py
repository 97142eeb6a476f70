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
      features: Features of the whole panel.
      task: Sets C and H.
      depot_b: Depot of each row.
      last_b: Step of each row's last context day. Values of days outside the panel are 0,
        which marks them as not observed.
    """
    reach = lags.LOOKBACK_DAYS
    n_steps = features.log_demand_dt.shape[1]
    first_b = last_b - task.context + 1 - reach
    step_bp = first_b[:, None] + np.arange(reach + task.context + task.horizon)
    is_inside_bp = (step_bp >= 0) & (step_bp < n_steps)
    step_bp = np.clip(step_bp, 0, n_steps - 1)
    near_bs, is_inside_bs1 = step_bp[:, reach:], is_inside_bp[:, reach:, None]
    depot_b1, group_b1 = depot_b[:, None], features.group_d[depot_b][:, None]
    every_day = {
        name: getattr(features, f"{name}_dt")[depot_b1, step_bp] * is_inside_bp
        for name in ALL_WINDOW_DAYS
    }
    near_days = {
        name: getattr(features, f"{name}_dtf")[depot_b1, near_bs] * is_inside_bs1
        for name in CONTEXT_AND_HORIZON
    }
    calendar = features.calendar_gtf[group_b1, near_bs] * is_inside_bs1
    features.own.write(calendar, depot_b, first_b + reach)
    return Windows(
        depot=features.embedding_row_d[depot_b].astype(np.float32),
        calendar=calendar,
        **every_day,
        **near_days,
    )


def last_windows(features: Features, task: TaskConfig) -> Windows:
    """Cuts the newest window of every depot, mostly without copying.

    Args:
      features: Features of at least the days of the window: of the whole history, or
        limited to `LastDays`.
      task: Sets C and H.
    """
    near = task.context + task.horizon
    window = lags.LOOKBACK_DAYS + near
    beyond = features.level_dt.shape[1] - features.n_steps - task.horizon
    every_day = {
        name: _last_days(getattr(features, f"{name}_dt"), window, beyond)
        for name in ALL_WINDOW_DAYS
    }
    near_days = {
        name: _last_days(getattr(features, f"{name}_dtf"), near, beyond)
        for name in CONTEXT_AND_HORIZON
    }
    calendar = _last_days(features.calendar_gtf, near, beyond)[features.group_d]
    first = features.n_steps - task.context
    features.own.write(
        calendar, np.arange(len(calendar)), np.full(len(calendar), first)
    )
    return Windows(
        depot=features.embedding_row_d.astype(np.float32),
        calendar=calendar,
        **every_day,
        **near_days,
    )


def last_calendars(features: Features, task: TaskConfig) -> Int[np.ndarray, " depot"]:
    """Number of each depot's calendar in `last_windows`; depots with equal numbers share one."""
    day_r = features.own.step_r - features.n_steps
    is_near_r = (day_r >= -task.context) & (day_r < task.horizon)
    own_d = np.unique(features.own.depot_r[is_near_r])
    calendar_d = features.group_d.copy()
    calendar_d[own_d] = len(features.calendar_gtf) + np.arange(len(own_d))
    return calendar_d


def _last_days(
    value_rt: Float[np.ndarray, "row time *feature"], n_days: int, beyond: int
) -> Float[np.ndarray, "row {n_days} *feature"]:
    """The `n_days` days that end `beyond` days before the last; days before the first are 0."""
    end = value_rt.shape[1] - beyond
    last_rt = value_rt[:, max(0, end - n_days) : end]
    missing = n_days - last_rt.shape[1]
    if not missing:
        return last_rt
    # Not by np.pad, which takes longer for its checks than for its work.
    rows, _, *features = value_rt.shape
    padded_rt = np.zeros((rows, n_days, *features), value_rt.dtype)
    padded_rt[:, missing:] = last_rt
    return padded_rt


def column_names(kinds: Sequence[str]) -> tuple[str, ...]:
    """Names of the network's input columns: first `past`, then `future`, then the calendar."""
    return (*PAST_COLUMNS, *FUTURE_COLUMNS, *calendar_names(kinds))


def n_context(windows: Windows, horizon: int) -> int:
    """Number of context days in the windows, C."""
    return int(windows.calendar.shape[-2]) - horizon


def past(
    xp: ModuleType, windows: Windows, horizon: int
) -> Float[Array, "*batch context past"]:
    """Features of each context day, `PAST_COLUMNS`."""
    return xp.stack(past_columns(xp, windows, horizon), axis=-1)


def past_columns(
    xp: ModuleType, windows: Windows, horizon: int
) -> list[Float[Array, "*batch context"]]:
    """The columns of `past` as a list; serving stacks them with depots as the last axis."""
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
    trimmed = trimmed_mean(xp, _repeats(log_demand), _repeats(regular), level)
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


def _repeats(
    value: Float[Array, "*batch origin weekday repeat"],
) -> list[Float[Array, "*batch origin weekday"]]:
    return [value[..., repeat] for repeat in range(REPEATS)]


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


def shorten_context(windows: Windows, horizon: int, context: int = 1) -> Windows:
    """Cuts the windows down to their last `context` context days."""
    near = context + horizon
    tail = lags.LOOKBACK_DAYS + near
    cut_down = {name: getattr(windows, name)[..., -tail:] for name in ALL_WINDOW_DAYS}
    for name in (*CONTEXT_AND_HORIZON, "calendar"):
        cut_down[name] = getattr(windows, name)[..., -near:, :]
    return windows._replace(**cut_down)


def _of_context(
    windows: Windows, horizon: int, value: Float[Array, "*batch day"], days_ago: int = 0
) -> Float[Array, "*batch context"]:
    """Values of the context days, or of the days `days_ago` before each."""
    first = lags.LOOKBACK_DAYS - days_ago
    return value[..., first : first + n_context(windows, horizon)]
