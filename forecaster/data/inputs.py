"""Builds the network's inputs from a depot's days, in NumPy or in JAX.

`xp` is NumPy when serving and jax.numpy when training; see `windows`.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from forecaster.config import TaskConfig
from forecaster.data import windows
from forecaster.data.features import Features
from forecaster.data.yearly_features import YEARLY_RESIDUALS

RECENT_DAYS = 7
PAST_COLUMNS, TARGET_COLUMNS = 26, 29
"""Number of features of `past` and `targets`. New ones come last: an older network reads
only the first ones."""
COLUMNS_WITH_SMOOTHING = 29
"""Fewest target columns of a network whose baseline includes the smoothed forecast."""
# Rough mean and width of log counts, which scale them to values near 1.
LEVEL_CENTRE, LEVEL_WIDTH = 5.0, 3.0


class Slices(NamedTuple):
    """Windows of days of some depots, see `windows`.

    All P = lookback + C + H of them are `day`, the last C + H are `near`.
    """

    # Row of its embedding, 0.0 where it has none.
    depot: Float[Any, "*batch"]
    # 0 where not observed.
    log_demand: Float[Any, "*batch day"]
    # 1.0 where observed.
    observed: Float[Any, "*batch day"]
    # 1.0 where observed and no holiday.
    regular: Float[Any, "*batch day"]
    level: Float[Any, "*batch day"]
    spread: Float[Any, "*batch day"]
    residual_autocorrelation: Float[Any, "*batch day"]
    age: Float[Any, "*batch day"]
    # Smoothed level.
    smooth: Float[Any, "*batch day"]
    # Smoothed profile at the day's weekday.
    season: Float[Any, "*batch day"]
    recent_residuals: Float[Any, "*batch near 5"]
    yearly: Float[Any, "*batch near 13"]
    event_response: Float[Any, "*batch near 2"]
    calendar: Float[Any, "*batch near feature"]
    # As `Features.lead_gtf` has it; None where all was known in time.
    lead: Float[Any, "*batch near 1+feature"] | None = None


def cut(
    features: Features,
    task: TaskConfig,
    depot_b: Int[np.ndarray, " batch"],
    last_b: Int[np.ndarray, " batch"],
) -> Slices:
    """Cuts one window of days per row.

    Args:
      features: Features of the whole panel.
      task: Sets C and H.
      depot_b: Depot of each row.
      last_b: Step of each row's last context day. Days before the panel begins are
        not observed; days after it ends are neither.
    """
    reach = windows.lookback(task.horizon)
    n_steps = features.log_demand_dt.shape[1]
    first_b = last_b - task.context + 1 - reach
    step_bp = first_b[:, None] + np.arange(reach + task.context + task.horizon)
    inside_bp = (step_bp >= 0) & (step_bp < n_steps)
    step_bp = np.clip(step_bp, 0, n_steps - 1)
    row_b1 = depot_b[:, None]
    near_bs, near_inside = step_bp[:, reach:], inside_bp[:, reach:, None]
    group_b1 = features.group_d[depot_b][:, None]

    def days(
        value_dt: Float[np.ndarray, "depot time"],
    ) -> Float[np.ndarray, "batch day"]:
        return value_dt[row_b1, step_bp] * inside_bp

    return Slices(
        depot=features.embedding_row_d[depot_b].astype(np.float32),
        log_demand=days(features.log_demand_dt),
        observed=days(features.observed_dt),
        regular=days(features.regular_dt),
        level=days(features.level_dt),
        spread=days(features.spread_dt),
        residual_autocorrelation=days(features.residual_autocorrelation_dt),
        age=days(features.age_dt),
        smooth=days(features.smooth_dt),
        season=days(features.season_dt),
        recent_residuals=features.recent_residuals_dtf[row_b1, near_bs] * near_inside,
        yearly=features.yearly_dtf[row_b1, near_bs] * near_inside,
        event_response=features.event_response_dtf[row_b1, near_bs] * near_inside,
        calendar=features.calendar_gtf[group_b1, near_bs] * near_inside,
        lead=None
        if features.lead_gtf is None
        else features.lead_gtf[group_b1, near_bs] * near_inside,
    )


def last(features: Features, task: TaskConfig, depots: slice) -> Slices:
    """Cuts the newest window of consecutive depots, as `cut` does, mostly without copying.

    Origins of one pass know the same events, so `lead` is not needed.

    Args:
      features: Features of at least the days of the window: of the whole history, or of
        `LastDays`.
      task: Sets C and H.
      depots: Rows of the depots.
    """
    near = task.context + task.horizon
    all_days = windows.lookback(task.horizon) + near
    beyond = features.level_dt.shape[1] - features.n_steps - task.horizon

    def days(
        value_dt: Float[np.ndarray, "row time *feature"],
        wanted: int,
        rows: slice | Int[np.ndarray, " batch"] = depots,
    ) -> Float[np.ndarray, "batch {wanted} *feature"]:
        end = value_dt.shape[1] - beyond
        available = value_dt[rows, max(0, end - wanted) : end]
        padding = [(0, 0), (wanted - available.shape[1], 0), (0, 0)]
        return (
            np.pad(available, padding[: available.ndim]) if padding[1][0] else available
        )

    return Slices(
        depot=features.embedding_row_d[depots].astype(np.float32),
        log_demand=days(features.log_demand_dt, all_days),
        observed=days(features.observed_dt, all_days),
        regular=days(features.regular_dt, all_days),
        level=days(features.level_dt, all_days),
        spread=days(features.spread_dt, all_days),
        residual_autocorrelation=days(features.residual_autocorrelation_dt, all_days),
        age=days(features.age_dt, all_days),
        smooth=days(features.smooth_dt, all_days),
        season=days(features.season_dt, all_days),
        recent_residuals=days(features.recent_residuals_dtf, near),
        yearly=days(features.yearly_dtf, near),
        event_response=days(features.event_response_dtf, near),
        calendar=days(features.calendar_gtf, near, features.group_d[depots]),
    )


def n_context(slices: Slices, horizon: int) -> int:
    """C of these windows."""
    return int(slices.calendar.shape[-2]) - horizon


def past(
    xp: ModuleType, slices: Slices, horizon: int
) -> Float[Any, "*batch context 26"]:
    """Features of each context day: [..., C, 26].

    Deviation from level of the day and of the seven days before it, whether each was
    observed, then level, change of level, spread, residual autocorrelation and age, and
    the recent residuals of the baseline.
    """
    reach, context = windows.lookback(horizon), n_context(slices, horizon)

    def ago(value: Float[Any, "*batch day"], days: int) -> Float[Any, "*batch context"]:
        return value[..., reach - days : reach - days + context]

    level = ago(slices.level, 0)
    known = [ago(slices.observed, day) for day in range(RECENT_DAYS + 1)]
    recent = [
        (ago(slices.log_demand, day) - level) * known[day]
        for day in range(RECENT_DAYS + 1)
    ]
    change = xp.where(ago(slices.age, 28) > 0, level - ago(slices.level, 28), 0.0)
    scaled = [
        (level - LEVEL_CENTRE) / LEVEL_WIDTH,
        change,
        xp.log(xp.maximum(ago(slices.spread, 0), 1e-3)) + 2.0,
        ago(slices.residual_autocorrelation, 0),
        ago(slices.age, 0) / 6.0,
    ]
    days = xp.stack([*recent, *known, *scaled], axis=-1)
    return xp.concatenate([days, slices.recent_residuals[..., :context, :]], axis=-1)


class Targets(NamedTuple):
    """Features of the days ahead that derive from the past, and the baseline forecast."""

    # [..., C, H, 29]: the last four same weekdays less the level, whether each was observed
    # and regular, deviations a year ago, the event response, the trimmed mean less the
    # level, residuals of earlier years, and the smoothed forecast less the trimmed mean.
    features: Float[Any, "*batch context horizon 29"]
    # [..., C, H] log counts: the trimmed mean of the last four same weekdays.
    trimmed_mean: Float[Any, "*batch context horizon"]
    # [..., C, H] log counts: the mean of that and of the smoothed forecast. The network
    # corrects it.
    baseline: Float[Any, "*batch context horizon"]


def targets(xp: ModuleType, slices: Slices, horizon: int) -> Targets:
    """Features of the H days ahead of every origin, without the calendar."""
    context = n_context(slices, horizon)
    days = (slices.log_demand, slices.observed, slices.regular)
    weekdays = windows.same_weekdays(xp, xp.stack(days, axis=-2), context, horizon)
    log_demand, observed, regular = (weekdays[..., n, :, :, :] for n in range(3))
    level = _of_context(slices.level, slices, horizon)
    trimmed_mean = windows.baseline_forecast(xp, log_demand, regular, level)
    smoothed = _smoothed_forecast(xp, slices, horizon)
    anomaly = (log_demand - level[..., None, None]) * observed
    yearly = windows.days_ahead(xp, slices.yearly, context, horizon)
    response = windows.days_ahead(xp, slices.event_response, context, horizon)
    # Where the kind of day was not known yet, there is no response to such days either.
    response = _as_known(xp, response, slices, slice(1))
    lift = (trimmed_mean - level[..., None])[..., None]
    gap = (smoothed - trimmed_mean)[..., None]
    deviations, past_residuals = (
        yearly[..., :-YEARLY_RESIDUALS],
        yearly[..., -YEARLY_RESIDUALS:],
    )
    features = xp.concatenate(
        [anomaly, observed, regular, deviations, response, lift, past_residuals, gap],
        axis=-1,
    )
    return Targets(features, trimmed_mean, 0.5 * (trimmed_mean + smoothed))


def calendar_of_today(
    xp: ModuleType, slices: Slices
) -> Float[Any, "*batch near feature"]:
    """The calendar of each day as it was known on that day: [..., C + H, F]."""
    if slices.lead is None:
        return slices.calendar
    return xp.where(slices.lead[..., 1:] >= 0.0, slices.calendar, 0.0)


def calendar_ahead(
    xp: ModuleType, slices: Slices, horizon: int
) -> Float[Any, "*batch context {horizon} feature"]:
    """The calendar of each day ahead as every origin knew it: [..., C, H, F]."""
    context = n_context(slices, horizon)
    calendar = windows.days_ahead(xp, slices.calendar, context, horizon)
    return _as_known(xp, calendar, slices, slice(1, None))


def _as_known(
    xp: ModuleType,
    ahead: Float[Any, "*batch context horizon feature"],
    slices: Slices,
    lead: slice,
) -> Float[Any, "*batch context horizon feature"]:
    """Masks features of the H days ahead with 0 where the origin did not know them yet.

    Args:
      xp: numpy or jax.numpy.
      ahead: [..., C, H, F].
      slices: The windows that `ahead` was cut from.
      lead: Their columns of `slices.lead`: F of them, or one for all.
    """
    if slices.lead is None:
        return ahead
    context, horizon = ahead.shape[-3:-1]
    lead_chf = windows.days_ahead(xp, slices.lead[..., lead], context, horizon)
    days_h1 = xp.arange(1, horizon + 1, dtype=np.float32)[:, None]
    return xp.where(lead_chf >= days_h1, ahead, 0.0)


def actuals(
    xp: ModuleType, slices: Slices, horizon: int
) -> tuple[
    Float[Any, "*batch context {horizon}"], Float[Any, "*batch context {horizon}"]
]:
    """Returns log demand of the H days after every origin, and 1.0 where it is known.

    Returns:
      Two arrays [..., C, H]. Also unknown where the depot had no day before the origin.
    """
    reach, context = windows.lookback(horizon), n_context(slices, horizon)
    log_demand = slices.log_demand[..., reach:, None]
    observed = slices.observed[..., reach:, None]
    ahead = [
        windows.days_ahead(xp, value, context, horizon)[..., 0]
        for value in (log_demand, observed)
    ]
    begun = slices.age[..., reach : reach + context, None] > 0
    return ahead[0], xp.where(begun, ahead[1], 0.0)


def newest(slices: Slices, horizon: int, context: int = 1) -> Slices:
    """Cuts the windows down to their last `context` context days."""
    near = context + horizon
    tail = windows.lookback(horizon) + near
    near_only = ("recent_residuals", "yearly", "event_response", "calendar", "lead")
    days = {
        name: value[..., -near:, :] if name in near_only else value[..., -tail:]
        for name, value in slices._asdict().items()
        if name != "depot" and value is not None
    }
    return Slices(depot=slices.depot, **days)


def _smoothed_forecast(
    xp: ModuleType, slices: Slices, horizon: int
) -> Float[Any, "*batch context {horizon}"]:
    """Smoothed level at each origin plus the weekday profile of each target."""
    context = n_context(slices, horizon)
    newest = windows.same_weekdays(xp, slices.season, context, horizon)[..., 0]
    return _of_context(slices.smooth, slices, horizon)[..., None] + newest


def _of_context(
    value: Float[Any, "*batch day"], slices: Slices, horizon: int
) -> Float[Any, "*batch context"]:
    reach = windows.lookback(horizon)
    return value[..., reach : reach + n_context(slices, horizon)]
