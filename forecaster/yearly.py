"""What happened a year ago, on the same weekday or around the same holiday."""

import numpy as np
from jaxtyping import Bool, Float32, Int, Shaped

from forecaster.calendar import NAMED_HOLIDAY, Calendar

YEARLY_LAGS = (357, 364, 371)
"""Same weekday a year ago, and a week to either side."""
YEARLY_COLUMNS, YEARLY_MISSES = 11, 3
LONGEST_LAG = 400
"""Days of history before the first day of a window that can matter to it."""
HOLIDAY_REACH = 2


def a_year_ago(
    calendar: Calendar,
    anomaly_dt: Float32[np.ndarray, "depot time"],
    observed_dt: Bool[np.ndarray, "depot time"],
    miss_dt: Float32[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time 11"]:
    """How that day a year ago lay, and what was out of the ordinary about it.

    Args:
      calendar: Of these days.
      anomaly_dt: Log counts against the level.
      observed_dt: Where they are known.
      miss_dt: What a plain forecast missed each day by; 0 where not known.

    Returns:
      Of the three lags and of the day matched by holiday how far it lay from its level,
      then whether each is known; last what was missed on the matched day, and a week
      after it and before.
    """
    n_steps = anomaly_dt.shape[1]
    step_t = np.arange(n_steps)
    matched_dt = _holiday_matched(calendar)[calendar.group_d]
    lagged = [np.broadcast_to(step_t - lag, anomaly_dt.shape) for lag in YEARLY_LAGS]
    anomalies = [_at(source_dt, anomaly_dt) for source_dt in (*lagged, matched_dt)]
    knowns = [_at(source_dt, observed_dt) for source_dt in (*lagged, matched_dt)]
    known_only = [
        np.where(known_dt, value_dt, 0.0)
        for value_dt, known_dt in zip(anomalies, knowns, strict=True)
    ]
    misses = [
        _at(source_dt, miss_dt) for source_dt in (matched_dt, lagged[0], lagged[-1])
    ]
    return np.stack([*known_only, *knowns, *misses], axis=-1).astype(np.float32)


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
        before = steps[(steps >= step - LONGEST_LAG + 10) & (steps <= step - 330)]
        if len(before) and 0 <= step + offset < len(matched_t):
            matched_t[step + offset] = before[-1] + offset
