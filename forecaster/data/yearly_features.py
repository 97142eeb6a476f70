"""Features of a year ago, on the same weekday or around the same holiday."""

import numpy as np
from jaxtyping import Bool, Float32, Int, Shaped

from forecaster.data.baseline import BaselineResiduals, lag
from forecaster.data.calendar import NAMED_HOLIDAY, Calendar
from forecaster.data.shapes import DepotTime32

A_YEAR_OF_WEEKS = 364
"""Days back to the same weekday a year ago."""
YEARLY_LAGS = (A_YEAR_OF_WEEKS - 7, A_YEAR_OF_WEEKS, A_YEAR_OF_WEEKS + 7)
"""Lags, in days, of the same weekday a year ago and a week to either side."""
_SOURCES = (*(f"{days} days ago" for days in YEARLY_LAGS), "a year ago by holiday")
DEVIATION_COLUMNS = (
    *(f"deviation from level, {source}" for source in _SOURCES),
    *(f"observed, {source}" for source in _SOURCES),
)
RESIDUAL_COLUMNS = (
    "residual, a year ago by holiday",
    f"residual, {YEARLY_LAGS[0]} days ago",
    f"residual, {YEARLY_LAGS[-1]} days ago",
    "excess of the residual over two spreads, a year ago by holiday",
    "the smaller residual of one and two years ago, where their signs agree",
)
SHORTEST_YEAR, LONGEST_YEAR = 330, 390
"""Minimum and maximum days from a movable holiday to the same one a year later."""
LONGEST_LAG = 2 * LONGEST_YEAR + 20
"""Maximum number of days before a window that its yearly features read."""
HOLIDAY_REACH = 2
"""Days before and after a holiday that are matched along with it."""
EXCESS_SPREADS = 2.0
"""Spreads that are subtracted from an absolute residual to give its excess."""


def yearly_lags(
    calendar: Calendar, residuals: BaselineResiduals, first_step: int
) -> Float32[np.ndarray, "depot tail yearly"]:
    """Deviation from level and baseline residuals a year ago; log counts, 0 without data.

    Returns:
      `DEVIATION_COLUMNS`, then `RESIDUAL_COLUMNS`.
    """
    deviation_dt = (residuals.log_dt - residuals.level_dt) * residuals.observed_dt
    matched_gt = _year_before(calendar)
    matched_dt = matched_gt[calendar.group_d, first_step:]
    two_years_dt = matched_gt[calendar.group_d[:, None], np.maximum(matched_dt, 0)]

    def of_sources(value_dt: np.ndarray) -> list[np.ndarray]:
        by_weekday = [lag(value_dt, days, first_step) for days in YEARLY_LAGS]
        return [*by_weekday, _at(matched_dt, value_dt)]

    residual_dt = _at(matched_dt, residuals.clipped_residual_dt)
    residual_two_years_dt = _at(two_years_dt, residuals.clipped_residual_dt) * (
        matched_dt >= 0
    )
    usual_dt = EXCESS_SPREADS * _at(matched_dt, residuals.spread_dt)
    excess_dt = np.maximum(np.abs(residual_dt) - usual_dt, 0)
    past_residuals = [
        residual_dt,
        lag(residuals.clipped_residual_dt, YEARLY_LAGS[0], first_step),
        lag(residuals.clipped_residual_dt, YEARLY_LAGS[-1], first_step),
        np.sign(residual_dt) * excess_dt,
        _smaller_if_signs_agree(residual_dt, residual_two_years_dt),
    ]
    columns = [
        *of_sources(deviation_dt),
        *of_sources(residuals.observed_dt),
        *past_residuals,
    ]
    return np.stack(columns, axis=-1).astype(np.float32)


def _smaller_if_signs_agree(one_dt: DepotTime32, other_dt: DepotTime32) -> DepotTime32:
    """The value nearer to 0 where both have the same sign, else 0."""
    least_dt = np.sign(one_dt) * np.minimum(np.abs(one_dt), np.abs(other_dt))
    return np.where(one_dt * other_dt > 0, least_dt, np.float32(0.0))


def _at(
    source_dt: Int[np.ndarray, "depot tail"],
    value_dt: Shaped[np.ndarray, "depot time"],
) -> Shaped[np.ndarray, "depot tail"]:
    """Values at the source steps; 0 or False where the step is negative."""
    taken_dt = np.take_along_axis(value_dt, np.maximum(source_dt, 0), axis=1)
    return np.where(source_dt >= 0, taken_dt, value_dt.dtype.type(0))


def _year_before(calendar: Calendar) -> Int[np.ndarray, "calendar time"]:
    """Step a year before each day: matched by holiday near a holiday, else by weekday."""
    n_groups, n_steps, _ = calendar.active_gtk.shape
    matched_gt = np.tile(np.arange(n_steps) - A_YEAR_OF_WEEKS, (n_groups, 1))
    named = [
        k for k, kind in enumerate(calendar.kinds) if kind.startswith(NAMED_HOLIDAY)
    ]
    far_to_near = sorted(
        range(-HOLIDAY_REACH, HOLIDAY_REACH + 1), key=abs, reverse=True
    )
    for matched_t, active_tk in zip(matched_gt, calendar.active_gtk, strict=True):
        pairs = [_a_year_apart(active_tk[:, kind]) for kind in named]
        day_r, before_r = np.concatenate([np.zeros((2, 0), int), *pairs], axis=1)
        for offset in far_to_near:
            is_inside_r = (day_r + offset >= 0) & (day_r + offset < n_steps)
            matched_t[day_r[is_inside_r] + offset] = before_r[is_inside_r] + offset
    return matched_gt


def _a_year_apart(active_t: Bool[np.ndarray, " time"]) -> Int[np.ndarray, "2 pair"]:
    """Steps of one holiday, and of the same holiday a year before.

    A holiday of several days is paired day by day from the first; where it had fewer days a
    year before, the surplus days are paired with the last of them.
    """
    steps = np.flatnonzero(active_t)
    is_first = np.diff(steps, prepend=-2) > 1
    first_r = steps[is_first]
    last_r = steps[np.append(is_first[1:], True)[: len(steps)]]
    before_r = np.searchsorted(first_r, first_r - SHORTEST_YEAR, side="right") - 1
    has_pair_r = (before_r >= 0) & (first_r[before_r] >= first_r - LONGEST_YEAR)
    run = np.cumsum(is_first) - 1
    same_day = first_r[before_r[run]] + steps - first_r[run]
    before = np.minimum(same_day, last_r[before_r[run]])
    return np.stack([steps, before])[:, has_pair_r[run]]
