"""What happened a year ago, on the same weekday or around the same holiday."""

import numpy as np
from jaxtyping import Bool, Float32, Int, Shaped

from forecaster.calendar import NAMED_HOLIDAY, Calendar
from forecaster.misses import Misses

YEARLY_LAGS = (357, 364, 371)
"""Same weekday a year ago, and a week to either side."""
YEARLY_COLUMNS, YEARLY_MISSES = 13, 5
"""All, and the last of them: those that tell of misses."""
LONGEST_YEAR = 390
LONGEST_LAG = 2 * LONGEST_YEAR + 20
"""Days of history before the first day of a window that can matter to it."""
HOLIDAY_REACH = 2
USUAL_SPREADS = 2.0
"""Misses up to so many spreads are not called an occasion."""


def a_year_ago(
    calendar: Calendar, misses: Misses
) -> Float32[np.ndarray, "depot time 13"]:
    """How that day a year ago lay, and what was out of the ordinary about it.

    Args:
      calendar: Of these days.
      misses: Of the depots.

    Returns:
      Of the three lags and of the day matched by holiday how far it lay from its level,
      then whether each is known; then what a plain forecast missed on the matched day, and
      a week after it and before; by how much more than usual it missed the matched day;
      and what it missed both a year ago and two, the smaller where they agree, else 0.
    """
    anomaly_dt = misses.log_dt - misses.level_dt
    step_t = np.arange(anomaly_dt.shape[1])
    matched_dt = _holiday_matched(calendar)[calendar.group_d]
    lagged = [np.broadcast_to(step_t - lag, anomaly_dt.shape) for lag in YEARLY_LAGS]
    sources = (*lagged, matched_dt)
    knowns = [_at(source_dt, misses.observed_dt) for source_dt in sources]
    lay = [
        np.where(known_dt, _at(source_dt, anomaly_dt), 0.0)
        for source_dt, known_dt in zip(sources, knowns, strict=True)
    ]
    week_after_dt, week_before_dt = (
        _at(source_dt, misses.own_dt) for source_dt in (lagged[0], lagged[-1])
    )
    missed_dt = _at(matched_dt, misses.own_dt)
    told = [
        missed_dt,
        week_after_dt,
        week_before_dt,
        _beyond(missed_dt, USUAL_SPREADS * _at(matched_dt, misses.spread_dt)),
        _agreed(missed_dt, _at(matched_dt, missed_dt)),
    ]
    return np.stack([*lay, *knowns, *told], axis=-1).astype(np.float32)


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
    source_dt: Int[np.ndarray, "depot time"],
    value_dt: Shaped[np.ndarray, "depot time"],
) -> Shaped[np.ndarray, "depot time"]:
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
    for offset in sorted(
        range(-HOLIDAY_REACH, HOLIDAY_REACH + 1), key=abs, reverse=True
    ):
        for group in range(n_groups):
            for kind in named:
                _match(matched_gt[group], calendar.active_gtk[group, :, kind], offset)
    return matched_gt


def _match(
    matched_t: Int[np.ndarray, " time"],
    active_t: Bool[np.ndarray, " time"],
    offset: int,
) -> None:
    """Points the days at one offset from a holiday at its last year's, in place."""
    steps = np.flatnonzero(active_t)
    for step in steps:
        before = steps[(steps >= step - LONGEST_YEAR) & (steps <= step - 330)]
        if len(before) and 0 <= step + offset < len(matched_t):
            matched_t[step + offset] = before[-1] + offset
