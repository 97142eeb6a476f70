"""Calendar columns of events of single depots, day by day.

They add to the columns of `calendar_features`, which all depots with one calendar share.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int

from forecaster.data.calendar import Calendar


@dataclass(frozen=True)
class OwnColumns:
    """Values of single depots' columns on single days, depots in order.

    Attributes:
      depot_r: Number of the depot.
      step_r: Step of the day.
      column_r: Number of the column.
      value_r: Value of the column.
    """

    depot_r: Int[np.ndarray, " row"]
    step_r: Int[np.ndarray, " row"]
    column_r: Int[np.ndarray, " row"]
    value_r: Float32[np.ndarray, " row"]

    def rows(self, chosen: np.ndarray) -> "OwnColumns":
        """Returns the rows selected by a mask or by indices."""
        return OwnColumns(**{name: each[chosen] for name, each in vars(self).items()})

    def and_also(self, other: "OwnColumns") -> "OwnColumns":
        """Returns the rows of both, depots in order."""
        parts = zip(vars(self).values(), vars(other).values(), strict=True)
        return OwnColumns(*map(np.concatenate, parts)).by_depot()

    def by_depot(self) -> "OwnColumns":
        """Returns the rows with the depots in order."""
        return self.rows(np.argsort(self.depot_r, kind="stable"))

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
      calendar: Calendar that ends with the returned days; it may begin earlier.
      kinds: Kinds with columns.
      names: Names of the columns, from `calendar_features.column_names`.
      days: Number of last days returned; their steps count from the first of them.
    """
    first_k = np.array(
        [names.index(kind) if kind in kinds else -1 for kind in calendar.kinds], int
    )
    own = calendar.own.rows(first_k[calendar.own.kind_r] >= 0)
    step_r = own.step_r - (calendar.active_gtk.shape[1] - days)
    column_r = first_k[own.kind_r]
    all_days = OwnColumns(
        np.tile(own.depot_r, 3),
        np.concatenate([step_r, step_r - 1, step_r + 1]),
        np.concatenate([column_r, column_r + 1, column_r + 2]),
        np.ones(3 * len(own), np.float32),
    )
    is_inside_r = (all_days.step_r >= 0) & (all_days.step_r < days)
    return all_days.rows(is_inside_r).by_depot()
