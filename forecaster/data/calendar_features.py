"""Calendar features: season, weekday, holidays and events of each day.

To add a calendar column that the network reads:
  1. Add its values to `calendar_columns` and its name to `column_names`, after the columns of
     season and month, which come first and are cut off by position (`SEASON_COLUMNS` in
     `model.model`, `model.export` and `inference.numpy_model`; `n_unidentified_columns` in
     `model.two_stage_fit`).
  2. If it is built from events, extend `own_columns`, which fills three columns for each kind
     (the day, the day before, the day after) and finds them by the name of the first.
  3. If it reads more than 14 days of calendar after its day, raise `features.CALENDAR_REACH`.
  4. Add it to `test_every_calendar_column_has_its_name_and_meaning`.
  5. Train again: an artefact stores the names of its columns, and is refused if they differ.
     Rebuild the artefact of the tests, `tests/forecaster/inference/kept`, as described in the
     docstring of `test_a_kept_artefact_keeps_its_forecast`.

Columns that change the baseline beneath the network are in `effect_columns`.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Float32, Shaped

from forecaster.data.calendar import (
    HOLIDAY,
    Calendar,
    adjacent_days,
)
from forecaster.data.dates import month_phases, weekdays, year_phases

HARMONICS = 2
SEASON_COLUMNS = 2 * HARMONICS
"""Number of leading columns that encode the day of the year."""
MONTH_COLUMNS = 2 * HARMONICS
"""Number of columns, after the season's, that encode the day of the month."""
MIN_SEASON_DAYS, MIN_MONTH_DAYS = 330, 90
"""Days of history needed to separate the day of the year, or of the month, from a trend."""
HOLIDAY_DECAY_DAYS = 3.0
"""Days over which the proximity of a holiday falls by the factor e."""


def calendar_columns(
    calendar: Calendar, kinds: Sequence[str], day_t: Shaped[np.ndarray, " time"]
) -> Float32[np.ndarray, "calendar time feature"]:
    """Builds the columns of season, month, weekday, kinds of day and holiday proximity.

    Columns of single depots' events are in `own_columns`.

    Args:
      calendar: Calendar that ends with the days `day_t`; it may begin earlier.
      kinds: Kinds that get columns: for the day, the day before and the day after.
      day_t: Days returned, `datetime64[D]`: the last steps of the calendar.

    Returns:
      Columns in the order of `column_names`.
    """
    shared_tf = _date_features(day_t)
    n_groups, n_steps, _ = calendar.active_gtk.shape
    first = n_steps - len(day_t)
    columns = [np.broadcast_to(shared_tf, (n_groups, *shared_tf.shape))]
    for kind in kinds:
        active_gt = calendar.shared_days(kind).astype(np.float32)
        near = [
            value_gt[:, first:] for value_gt in (active_gt, *adjacent_days(active_gt))
        ]
        columns.append(np.stack(near, axis=-1))
    columns.append(_proximity(calendar.shared_days(HOLIDAY))[:, first:])
    return np.concatenate(columns, axis=-1).astype(np.float32)


def column_names(kinds: Sequence[str]) -> tuple[str, ...]:
    """Names of the columns of `calendar_columns`, in order."""
    season_and_month = (
        f"{period} {wave} {order}"
        for period in ("year", "month")
        for order in range(1, HARMONICS + 1)
        for wave in ("sin", "cos")
    )
    of_kinds = (
        name
        for kind in kinds
        for name in (kind, f"{kind}, the day before", f"{kind}, the day after")
    )
    weekday_names = (f"weekday {number}" for number in range(1, 8))
    near = ("holiday is near", "holiday was near")
    return (*season_and_month, *weekday_names, *of_kinds, *near)


def n_unidentified_columns(n_steps: int) -> int:
    """Number of leading columns whose effect cannot be learned from `n_steps` days of history.

    Within less than a year, the day of the year only measures elapsed time: a network would
    mistake a trend for a season and continue it.
    """
    if n_steps >= MIN_SEASON_DAYS:
        return 0
    return SEASON_COLUMNS + (MONTH_COLUMNS if n_steps < MIN_MONTH_DAYS else 0)


def _date_features(
    day_t: Shaped[np.ndarray, " time"],
) -> Float32[np.ndarray, "time feature"]:
    columns = [
        *_sin_cos(year_phases(day_t)),
        *_sin_cos(month_phases(day_t)),
        weekdays(day_t)[:, None] == np.arange(7),
    ]
    return np.concatenate(columns, axis=-1).astype(np.float32)


def _sin_cos(phase_t: Float[np.ndarray, " time"]) -> list[Float[np.ndarray, "time 2"]]:
    turns = [2 * np.pi * order * phase_t for order in range(1, HARMONICS + 1)]
    return [np.stack([np.sin(turn_t), np.cos(turn_t)], axis=-1) for turn_t in turns]


def _proximity(
    active_gt: Bool[np.ndarray, "calendar time"],
) -> Float32[np.ndarray, "calendar time 2"]:
    """Proximity of the next and the last holiday: 1 on the day, decaying exponentially."""
    since_gt = _days_since(active_gt)
    until_gt = _days_since(active_gt[:, ::-1])[:, ::-1]
    days = np.stack([until_gt, since_gt], axis=-1)
    return np.exp(-days / HOLIDAY_DECAY_DAYS).astype(np.float32)


def _days_since(
    active_gt: Bool[np.ndarray, "calendar time"],
) -> Float32[np.ndarray, "calendar time"]:
    step_t = np.arange(active_gt.shape[1])
    last_gt = np.maximum.accumulate(np.where(active_gt, step_t, -1000), axis=1)
    return (step_t - last_gt).astype(np.float32)
