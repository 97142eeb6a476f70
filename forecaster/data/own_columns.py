"""Calendar columns of events of single depots, day by day.

They complete the columns of `calendar_features`, which depots with one calendar share.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int

from forecaster.data.calendar import Calendar, OwnDays


@dataclass(frozen=True)
class OwnColumns:
    """Values of single depots' columns on single days, depots in order.

    Attributes:
      depot_r: The depot.
      step_r: The day.
      column_r: The column.
      value_r: Its value.
    """

    depot_r: Int[np.ndarray, " row"]
    step_r: Int[np.ndarray, " row"]
    column_r: Int[np.ndarray, " row"]
    value_r: Float32[np.ndarray, " row"]

    def rows(self, chosen_r: Bool[np.ndarray, " row"]) -> "OwnColumns":
        """Returns the chosen rows."""
        return OwnColumns(**{name: each[chosen_r] for name, each in vars(self).items()})

    def and_also(self, other: "OwnColumns") -> "OwnColumns":
        """Returns the rows of both, depots in order."""
        parts = zip(vars(self).values(), vars(other).values(), strict=True)
        depot_r, *rest = map(np.concatenate, parts)
        order = np.argsort(depot_r, kind="stable")
        return OwnColumns(depot_r[order], *(each[order] for each in rest))

    def write(
        self,
        value_bsf: Float32[np.ndarray, "batch day feature"],
        depot_b: Int[np.ndarray, " batch"],
        first_b: Int[np.ndarray, " batch"],
    ) -> None:
        """Writes the values, in place, into windows of days that begin at the steps `first_b`."""
        start_b = np.searchsorted(self.depot_r, depot_b)
        count_b = np.searchsorted(self.depot_r, depot_b + 1) - start_b
        before_b = np.cumsum(count_b) - count_b
        row_n = np.repeat(start_b - before_b, count_b) + np.arange(count_b.sum())
        window_n = np.repeat(np.arange(len(depot_b)), count_b)
        day_n = self.step_r[row_n] - first_b[window_n]
        inside_n = (day_n >= 0) & (day_n < value_bsf.shape[1])
        row_n, window_n, day_n = row_n[inside_n], window_n[inside_n], day_n[inside_n]
        value_bsf[window_n, day_n, self.column_r[row_n]] = self.value_r[row_n]


def own_columns(
    calendar: Calendar, kinds: Sequence[str], names: Sequence[str], days: int
) -> OwnColumns:
    """Columns of single depots' events: of the day, the day before and the day after.

    Args:
      calendar: Calendar that ends with these days; it may begin earlier.
      kinds: Kinds with columns.
      names: Names of the columns, from `calendar_features.column_names`.
      days: Number of last days returned; their steps count from the first of them.
    """
    own, column_r = _with_columns(calendar, kinds, names)
    ones_r = np.ones(len(own), np.float32)
    return _last_days(
        calendar,
        days,
        (own.depot_r, own.step_r, column_r, ones_r),
        (own.depot_r, own.step_r - 1, column_r + 1, ones_r),
        (own.depot_r, own.step_r + 1, column_r + 2, ones_r),
    )


def _with_columns(
    calendar: Calendar, kinds: Sequence[str], names: Sequence[str]
) -> tuple[OwnDays, Int[np.ndarray, " row"]]:
    """Own days of the kinds with columns, and the index of the first of each kind's columns."""
    column_k = np.array(
        [names.index(kind) if kind in kinds else -1 for kind in calendar.kinds], int
    )
    own = calendar.own.rows(column_k[calendar.own.kind_r] >= 0)
    return own, column_k[own.kind_r]


def _last_days(
    calendar: Calendar, days: int, *parts: tuple[np.ndarray, ...]
) -> OwnColumns:
    """Joins parts of (depots, steps, columns, values), limited to the calendar's last days."""
    depot_n, step_n, column_n, value_n = map(np.concatenate, zip(*parts, strict=True))
    step_n = step_n - (calendar.active_gtk.shape[1] - days)
    rows = np.flatnonzero((step_n >= 0) & (step_n < days))
    rows = rows[np.argsort(depot_n[rows], kind="stable")]
    return OwnColumns(depot_n[rows], step_n[rows], column_n[rows], value_n[rows])
