"""What happened a year ago, on the same weekday or around the same holiday."""

import numpy as np
from jaxtyping import Bool, Float32, Int

from forecaster.calendar import NAMED_HOLIDAY, Calendar

YEARLY_LAGS = (357, 364, 371)
"""Same weekday a year ago, and a week to either side."""
LONGEST_LAG = 400
"""Days of history before the first day of a window that can matter to it."""
HOLIDAY_REACH = 2


def a_year_ago(
    calendar: Calendar,
    anomaly_dt: Float32[np.ndarray, "depot time"],
    observed_dt: Bool[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time 8"]:
    """How far that day lay from its level (0 where not known), then whether it is known.

    Args:
      calendar: Of these days.
      anomaly_dt: Log counts against the level.
      observed_dt: Where they are known.
    """
    n_steps = anomaly_dt.shape[1]
    step_t = np.arange(n_steps)
    matched_gt = _holiday_matched(calendar)
    values, knowns = [], []
    for source_gt in (*(step_t[None] - lag for lag in YEARLY_LAGS), matched_gt):
        source_dt = (
            source_gt[calendar.group_d]
            if len(source_gt) > 1
            else np.broadcast_to(source_gt, anomaly_dt.shape)
        )
        index_dt = np.maximum(source_dt, 0)
        known_dt = np.take_along_axis(observed_dt, index_dt, axis=1) & (source_dt >= 0)
        value_dt = np.take_along_axis(anomaly_dt, index_dt, axis=1)
        values.append(np.where(known_dt, value_dt, 0.0))
        knowns.append(known_dt)
    return np.stack([*values, *knowns], axis=-1).astype(np.float32)


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
