"""Columns of the calendar whose effects `calendar_effects` estimates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from forecaster.data.calendar import HOLIDAY, NAMED_HOLIDAY, Calendar
from forecaster.data.panel import Panel

STANDSTILL_NAMES = (
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
"""Parts of the English names of holidays on which most businesses stand still."""
NOT_THE_DAY = ("observed", "after", "eve")
"""Parts of names that mark a substitute for such a holiday or a day beside it."""
EVES = {(12, 24), (12, 31)}
BETWEEN = {(12, 26), (12, 27), (12, 28), (12, 29), (12, 30), (1, 2)}
EVE_SHARE, BETWEEN_SHARE = 0.6, 0.4
"""Share of a standstill expected on days near it that no calendar of holidays has."""
CLASS_WIDTH, NAME_WIDTH, EVENT_WIDTH, NEAR_WIDTH = 0.6, 0.4, 0.3, 0.1
"""Standard deviations of effects before any is observed, log counts."""
MAX_EFFECT_KINDS = 64
"""Most kinds of day with an effect of their own."""
RARE_SHARE = 0.08
"""An event on fewer of the days than this is left out of what is usual."""


@dataclass(frozen=True)
class EffectColumns:
    """Columns of the calendar that have effects.

    Attributes:
      kinds: Kinds of day that they are made of.
      names: Of the last axis.
      width_f: Standard deviation of each effect before any is observed, log counts.
      family_f: Columns of one family have one width, estimated from all of them.
      unusual_f: Whether days with the column are left out of what is usual.
      value_gtf: Columns of every calendar and day.
    """

    kinds: tuple[str, ...]
    names: tuple[str, ...]
    width_f: Float[np.ndarray, " feature"]
    family_f: Int[np.ndarray, " feature"]
    unusual_f: Bool[np.ndarray, " feature"]
    value_gtf: Float32[np.ndarray, "calendar time_ahead feature"]


def effect_kinds(calendar: Calendar, n_steps: int) -> tuple[str, ...]:
    """Chooses the most frequent kinds of day among those on any past day.

    Args:
      calendar: Calendar of the training panel.
      n_steps: Number of its steps that are past.
    """
    days_k = calendar.active_gtk[:, :n_steps].any(axis=0).sum(axis=0)
    most = np.argsort(-days_k, kind="stable")[:MAX_EFFECT_KINDS]
    return tuple(calendar.kinds[k] for k in sorted(most) if days_k[k] > 0)


def effect_columns(panel: Panel, kinds: Sequence[str]) -> EffectColumns:
    """Builds the columns that have effects, of some kinds of day.

    Args:
      panel: Its calendar is read, days ahead included.
      kinds: From `effect_kinds`.
    """
    calendar = panel.calendar
    n_groups, n_steps, _ = calendar.active_gtk.shape
    holiday_gt = calendar.of_kind(HOLIDAY)
    standstill_gt = np.zeros((n_groups, n_steps), bool)
    for kind in calendar.kinds:
        if _stands_still(kind):
            standstill_gt |= calendar.of_kind(kind)
    days = [panel.day(step) for step in range(n_steps)]
    month_days = [(day.month, day.day) for day in days]
    eve_t = np.array([each in EVES for each in month_days])
    between_t = np.array([each in BETWEEN for each in month_days])
    weekday_t = np.array([day.weekday() for day in days])
    near_t = np.maximum(EVE_SHARE * eve_t, BETWEEN_SHARE * between_t)
    class_gt = np.maximum(standstill_gt, near_t)
    columns: list[tuple[str, float, bool, np.ndarray]] = [
        ("holiday", CLASS_WIDTH, True, holiday_gt),
        ("standstill", CLASS_WIDTH, True, class_gt),
        ("eve of Christmas or New Year", NAME_WIDTH, True, eve_t & ~standstill_gt),
        ("between the years", NAME_WIDTH, True, between_t & ~standstill_gt),
        ("holiday on a weekend", NAME_WIDTH, True, holiday_gt & (weekday_t >= 5)),
        ("bridge day", NEAR_WIDTH, True, _bridges(holiday_gt, weekday_t)),
        *_beside("holiday", holiday_gt),
        *_beside("standstill", standstill_gt),
    ]
    for kind in kinds:
        active_gt = calendar.of_kind(kind)
        if kind.startswith(NAMED_HOLIDAY):
            columns.append((kind, NAME_WIDTH, True, active_gt))
        elif kind != HOLIDAY:
            is_rare = bool(active_gt[:, : panel.n_steps].mean() < RARE_SHARE)
            columns.append((kind, EVENT_WIDTH, is_rare, active_gt))
    names, widths, unusual, values = zip(*columns, strict=True)
    return EffectColumns(
        tuple(kinds),
        names,
        np.array(widths),
        _families(names, widths),
        np.array(unusual),
        np.stack([np.asarray(value, np.float32) for value in values], axis=-1),
    )


def _families(
    names: Sequence[str], widths: Sequence[float]
) -> Int[np.ndarray, " feature"]:
    """Number of each column's family: classes, names, events, and days beside either."""
    keys = [
        (width, name.startswith(("holiday", "standstill", "bridge")))
        for name, width in zip(names, widths, strict=True)
    ]
    return np.unique(keys, axis=0, return_inverse=True)[1]


def _stands_still(kind: str) -> bool:
    name = kind.removeprefix(NAMED_HOLIDAY).lower()
    return (
        kind.startswith(NAMED_HOLIDAY)
        and any(part in name for part in STANDSTILL_NAMES)
        and not any(part in name for part in NOT_THE_DAY)
    )


def _beside(
    name: str, active_gt: Bool[np.ndarray, "calendar time"]
) -> list[tuple[str, float, bool, np.ndarray]]:
    """Columns of the day before and the day after."""
    before_gt, after_gt = np.zeros_like(active_gt), np.zeros_like(active_gt)
    before_gt[:, :-1], after_gt[:, 1:] = active_gt[:, 1:], active_gt[:, :-1]
    return [
        (f"{name}, the day before", NEAR_WIDTH, True, before_gt),
        (f"{name}, the day after", NEAR_WIDTH, True, after_gt),
    ]


def _bridges(
    holiday_gt: Bool[np.ndarray, "calendar time"], weekday_t: Int[np.ndarray, " time"]
) -> Bool[np.ndarray, "calendar time"]:
    """Fridays after a holiday and Mondays before one."""
    bridge_gt = np.zeros_like(holiday_gt)
    bridge_gt[:, 1:] |= holiday_gt[:, :-1] & (weekday_t[1:] == 4)
    bridge_gt[:, :-1] |= holiday_gt[:, 1:] & (weekday_t[:-1] == 0)
    return bridge_gt & ~holiday_gt
