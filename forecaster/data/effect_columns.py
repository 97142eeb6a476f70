"""Calendar columns whose effects, estimated by `calendar_effects`, are part of the baseline.

Columns that the network reads are in `calendar_features`, whose docstring explains how to add one.

An artefact stores the effects by position, without the names of these columns: an added or removed
column fails only when the artefact forecasts; a change of order or meaning goes unnoticed. After
a change of `effect_columns`, or of the constants below that shape its values, raise `SCHEMA` in
`inference.artefact_file`, so that older artefacts are refused, and rebuild the kept artefact of the
tests under the new number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from forecaster.data.calendar import HOLIDAY, NAMED_HOLIDAY, Calendar, adjacent_days
from forecaster.data.dates import month_days, weekdays
from forecaster.data.own_columns import OwnColumns
from forecaster.data.panel import Panel

MAJOR_HOLIDAYS = (
    "ascension",
    "boxing day",
    "christmas",
    "easter monday",
    "easter sunday",
    "german unity",
    "good friday",
    "independence day",
    "king's day",
    "labor day",
    "labour day",
    "memorial day",
    "midsummer",
    "new year",
    "stephen's day",
    "thanksgiving",
    "pentecost",
)
"""Parts of the English names of holidays on which most businesses are closed."""
SUBSTITUTE_MARKERS = ("observed", "after", "eve")
"""Parts of names that mark a substitute for a major holiday, or a day next to it."""
CHRISTMAS, NEW_YEAR = 1225, 101
BETWEEN_HOLIDAYS = (1226, 1227, 1228, 1229, 1230, 102)
"""Days of the year as numbers, see `dates.month_days`."""
EVE_COLUMN = "eve of Christmas or New Year"
BETWEEN_HOLIDAYS_COLUMN = "between Christmas and New Year"
YEAR_END_SHARE, EVE_SHARE, BETWEEN_SHARE = 1.5, 0.6, 0.4
"""Effect of Christmas and New Year's Day, of their eves, and of the days between, as shares of
any other major holiday's effect."""
CLASS, YEAR_END, NAME, EVENT, BESIDE = "class", "year end", "name", "event", "beside"
FAMILY_PRIOR_SDS = {CLASS: 0.6, YEAR_END: 0.4, NAME: 0.4, EVENT: 0.3, BESIDE: 0.1}
"""Prior standard deviation of the effects of each family, log counts."""
MAJOR_HOLIDAY_MEAN = -0.25
"""Prior mean of the effect of a major holiday, log counts."""
MAX_EFFECT_KINDS = 64
"""Maximum number of kinds of day with an effect of their own."""
RARE_SHARE = 0.08
"""Share of days below which an event is rare: its days are left out of the normal level."""


class _Column(NamedTuple):
    """One column: its name, its family, and its values by calendar and day."""

    name: str
    family: str
    value_gt: np.ndarray
    # Whether days with the column are left out of the normal level.
    is_excluded: bool = True
    prior_mean: float = 0.0


@dataclass(frozen=True)
class EffectColumns:
    """Columns of the calendar that have effects.

    Attributes:
      kinds: Kinds of day with a column of their own.
      names: Names of the columns, in order.
      prior_mean_f: Prior mean of each effect, log counts.
      prior_sd_f: Prior standard deviation of each effect, log counts.
      family_f: Index of the family, whose columns share one estimated standard deviation.
      excluded_f: Whether days with the column are left out of the normal level.
      value_gtf: Values of the columns that the depots of a calendar share, by day.
      own: Values of single depots' columns on single days, which `value_gtf` lacks.
    """

    kinds: tuple[str, ...]
    names: tuple[str, ...]
    prior_mean_f: Float[np.ndarray, " feature"]
    prior_sd_f: Float[np.ndarray, " feature"]
    family_f: Int[np.ndarray, " feature"]
    excluded_f: Bool[np.ndarray, " feature"]
    value_gtf: Float32[np.ndarray, "calendar time_ahead feature"]
    own: OwnColumns

    def until(self, n_steps: int) -> "EffectColumns":
        """Returns the columns of the first `n_steps` days."""
        own = self.own.rows(self.own.step_r < n_steps)
        return replace(self, value_gtf=self.value_gtf[:, :n_steps], own=own)


def effect_columns(panel: Panel, kinds: Sequence[str]) -> EffectColumns:
    """Builds the columns that have effects: for holidays, and for the given kinds of day."""
    calendar = panel.calendar
    n_groups, n_steps, _ = calendar.active_gtk.shape
    holiday_gt = calendar.shared_days(HOLIDAY)
    major_holiday_gt = np.zeros((n_groups, n_steps), bool)
    for kind in calendar.kinds:
        if _is_major_holiday(kind):
            major_holiday_gt |= calendar.shared_days(kind)
    day_t = panel.days()
    month_day_t = month_days(day_t)
    year_end_gt = major_holiday_gt & np.isin(month_day_t, (CHRISTMAS, NEW_YEAR))
    eve_gt, _ = adjacent_days(year_end_gt)
    has_christmas_g1 = year_end_gt[:, month_day_t == CHRISTMAS].any(
        axis=1, keepdims=True
    )
    between_gt = has_christmas_g1 & np.isin(month_day_t, BETWEEN_HOLIDAYS)
    weekday_t = weekdays(day_t)
    class_gt = np.maximum.reduce(
        [
            major_holiday_gt,
            YEAR_END_SHARE * year_end_gt,
            EVE_SHARE * eve_gt,
            BETWEEN_SHARE * between_gt,
        ]
    )
    columns = [
        _Column("holiday", CLASS, np.maximum(holiday_gt, EVE_SHARE * eve_gt)),
        _Column("major holiday", CLASS, class_gt, prior_mean=MAJOR_HOLIDAY_MEAN),
        _Column(EVE_COLUMN, YEAR_END, eve_gt & ~major_holiday_gt),
        _Column(BETWEEN_HOLIDAYS_COLUMN, YEAR_END, between_gt & ~major_holiday_gt),
        _Column("holiday on a weekend", NAME, holiday_gt & (weekday_t >= 5)),
        _Column("bridge day", BESIDE, _bridges(holiday_gt, weekday_t)),
        *_columns_beside("holiday", holiday_gt),
        *_columns_beside("major holiday", major_holiday_gt),
    ]
    for kind in kinds:
        active_gt = calendar.shared_days(kind)
        if kind.startswith(NAMED_HOLIDAY):
            columns.append(_Column(kind, NAME, active_gt))
        elif kind != HOLIDAY:
            is_rare = calendar.share_of_days(kind, panel.n_steps) < RARE_SHARE
            columns.append(_Column(kind, EVENT, active_gt, is_excluded=is_rare))
    names = tuple(column.name for column in columns)
    families = list(FAMILY_PRIOR_SDS)
    values = [np.asarray(column.value_gt, np.float32) for column in columns]
    return EffectColumns(
        kinds=tuple(kinds),
        names=names,
        prior_mean_f=np.array([column.prior_mean for column in columns]),
        prior_sd_f=np.array([FAMILY_PRIOR_SDS[column.family] for column in columns]),
        family_f=np.array([families.index(column.family) for column in columns]),
        excluded_f=np.array([column.is_excluded for column in columns]),
        value_gtf=np.stack(values, axis=-1),
        own=_own_columns(calendar, names),
    )


def _own_columns(calendar: Calendar, names: Sequence[str]) -> OwnColumns:
    """Columns of single depots' events, on days when their shared calendar lacks that kind."""
    column_k = np.array(
        [names.index(kind) if kind in names else -1 for kind in calendar.kinds], int
    )
    own = calendar.own
    is_shared_r = calendar.active_gtk[
        calendar.group_d[own.depot_r], own.step_r, own.kind_r
    ]
    own = own.rows((column_k[own.kind_r] >= 0) & ~is_shared_r)
    ones_r = np.ones(len(own), np.float32)
    return OwnColumns(own.depot_r, own.step_r, column_k[own.kind_r], ones_r)


def _is_major_holiday(kind: str) -> bool:
    name = kind.removeprefix(NAMED_HOLIDAY).lower()
    return (
        kind.startswith(NAMED_HOLIDAY)
        and any(part in name for part in MAJOR_HOLIDAYS)
        and not any(part in name for part in SUBSTITUTE_MARKERS)
    )


def _columns_beside(
    name: str, active_gt: Bool[np.ndarray, "calendar time"]
) -> list[_Column]:
    """Columns of the day before and the day after."""
    before_gt, after_gt = adjacent_days(active_gt)
    return [
        _Column(f"{name}, the day before", BESIDE, before_gt),
        _Column(f"{name}, the day after", BESIDE, after_gt),
    ]


def _bridges(
    holiday_gt: Bool[np.ndarray, "calendar time"], weekday_t: Int[np.ndarray, " time"]
) -> Bool[np.ndarray, "calendar time"]:
    """Fridays after a holiday and Mondays before one."""
    bridge_gt = np.zeros_like(holiday_gt)
    bridge_gt[:, 1:] |= holiday_gt[:, :-1] & (weekday_t[1:] == 4)
    bridge_gt[:, :-1] |= holiday_gt[:, 1:] & (weekday_t[:-1] == 0)
    return bridge_gt & ~holiday_gt
