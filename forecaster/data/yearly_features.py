"""What happened a year ago, on the same weekday or around the same holiday."""

import numpy as np
from jaxtyping import Bool, Float32, Int, Shaped

from forecaster.data.baseline_residuals import BaselineResiduals, earlier
from forecaster.data.calendar import NAMED_HOLIDAY, Calendar

YEARLY_LAGS = (357, 364, 371)
"""Same weekday a year ago, and a week to either side."""
YEARLY_COLUMNS, YEARLY_RESIDUALS = 13, 5
"""All, and the last of them: those that tell of residuals."""
SHORTEST_YEAR, LONGEST_YEAR = 330, 390
LONGEST_LAG = 2 * LONGEST_YEAR + 20
"""Days of history before the first day of a window that can matter to it."""
HOLIDAY_REACH = 2
USUAL_SPREADS = 2.0
"""BaselineResiduals up to so many spreads are not called an occasion."""


def yearly_lags(
    calendar: Calendar, residuals: BaselineResiduals, first: int = 0
) -> Float32[np.ndarray, "depot late 13"]:
    """How that day a year ago lay, and what was out of the ordinary about it.

    Args:
      calendar: Of these days.
      residuals: Of the depots.
      first: Step of the first day that is wanted.

    Returns:
      Of the three lags and of the day matched by holiday how far it lay from its level,
      then whether each is known; then what a plain forecast missed on the matched day, and
      a week after it and before; by how much more than usual it missed the matched day;
      and what it missed both a year ago and two, the smaller where they agree, else 0.
    """
    anomaly_dt = (residuals.log_dt - residuals.level_dt) * residuals.observed_dt
    matched_gt = _holiday_matched(calendar)
    matched_dt = matched_gt[calendar.group_d, first:]
    twice_dt = matched_gt[calendar.group_d[:, None], np.maximum(matched_dt, 0)]

    def of_sources(value_dt: np.ndarray) -> list[np.ndarray]:
        lagged = [earlier(value_dt, lag, first) for lag in YEARLY_LAGS]
        return [*lagged, _at(matched_dt, value_dt)]

    missed_dt = _at(matched_dt, residuals.clipped_residual_dt)
    missed_before_dt = _at(twice_dt, residuals.clipped_residual_dt) * (matched_dt >= 0)
    told = [
        missed_dt,
        earlier(residuals.clipped_residual_dt, YEARLY_LAGS[0], first),
        earlier(residuals.clipped_residual_dt, YEARLY_LAGS[-1], first),
        _beyond(missed_dt, USUAL_SPREADS * _at(matched_dt, residuals.spread_dt)),
        _agreed(missed_dt, missed_before_dt),
    ]
    columns = [*of_sources(anomaly_dt), *of_sources(residuals.observed_dt), *told]
    return np.stack(columns, axis=-1).astype(np.float32)


def _beyond(
    value_dt: Float32[np.ndarray, "depot time"],
    usual_dt: Float32[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """What is left of each value when the usual is taken off; 0 where it is no more."""
    return np.sign(value_dt) * np.maximum(np.abs(value_dt) - usual_dt, 0)


def _agreed(
    one_dt: Float32[np.ndarray, "depot time"],
    other_dt: Float32[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """The one nearer to 0 where both have the same sign, else 0."""
    least_dt = np.sign(one_dt) * np.minimum(np.abs(one_dt), np.abs(other_dt))
    return np.where(one_dt * other_dt > 0, least_dt, np.float32(0.0))


def _at(
    source_dt: Int[np.ndarray, "depot late"],
    value_dt: Shaped[np.ndarray, "depot time"],
) -> Shaped[np.ndarray, "depot late"]:
    """The values of other days; 0 or False before the first."""
    taken_dt = np.take_along_axis(value_dt, np.maximum(source_dt, 0), axis=1)
    return np.where(source_dt >= 0, taken_dt, value_dt.dtype.type(0))


def _holiday_matched(calendar: Calendar) -> Int[np.ndarray, "calendar time"]:
    """For each day its counterpart a year ago: by holiday near one, else by weekday."""
    n_groups, n_steps, _ = calendar.active_gtk.shape
    matched_gt = np.tile(np.arange(n_steps) - 364, (n_groups, 1))
    named = [
        k for k, kind in enumerate(calendar.kinds) if kind.startswith(NAMED_HOLIDAY)
    ]
    far_to_near = sorted(
        range(-HOLIDAY_REACH, HOLIDAY_REACH + 1), key=abs, reverse=True
    )
    for matched_t, active_tk in zip(matched_gt, calendar.active_gtk, strict=True):
        pairs = [_a_year_apart(active_tk[:, kind]) for kind in named]
        day_p, before_p = np.concatenate([np.zeros((2, 0), int), *pairs], axis=1)
        for offset in far_to_near:
            inside_p = (day_p + offset >= 0) & (day_p + offset < n_steps)
            matched_t[day_p[inside_p] + offset] = before_p[inside_p] + offset
    return matched_gt


def _a_year_apart(active_t: Bool[np.ndarray, " time"]) -> Int[np.ndarray, "2 pair"]:
    """Days of one holiday, and of the same holiday a year before."""
    steps = np.flatnonzero(active_t)
    last = np.searchsorted(steps, steps - SHORTEST_YEAR, side="right") - 1
    found = (last >= 0) & (steps[last] >= steps - LONGEST_YEAR)
    return np.stack([steps[found], steps[last[found]]])
