"""The calendar: holidays and events, known in advance.

Depots with the same holidays and events share one row, so that ten thousand depots in
three cities cost three calendars.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float32, Int, Int8, Shaped

HOLIDAY = "holiday"
# Kind of one named holiday, beside the plain kind that all of them have.
NAMED_HOLIDAY = "holiday: "
CLOSED = "closed"
MAX_LEAD_DAYS = 127
"""Largest lead, in days: announced long before, or always known. Longer than any horizon."""


@dataclass(frozen=True)
class Calendar:
    """Kinds of day of each group of depots.

    Attributes:
      kinds: Names of the last axis: `holiday`, `holiday: NAME`, and kinds of events.
      active_gtk: Whether a day is of a kind.
      group_d: The row of each depot.
      lead_gtk: Days from the announcement to the day, where it is of that kind; negative
        where it was announced afterwards. None where all were announced long before.
      value_gtk: Value of the event, announced with it; NaN where it has none. None where
        no event has one.
    """

    kinds: tuple[str, ...]
    active_gtk: Bool[np.ndarray, "calendar time kind"]
    group_d: Int[np.ndarray, " depot"]
    lead_gtk: Int8[np.ndarray, "calendar time kind"] | None = None
    value_gtk: Float32[np.ndarray, "calendar time kind"] | None = None

    def steps(self, first: int, end: int) -> "Calendar":
        """Returns the calendar of the steps from `first` to `end` (exclusive)."""
        lead_gtk, value_gtk = self.lead_gtk, self.value_gtk
        return replace(
            self,
            active_gtk=self.active_gtk[:, first:end],
            lead_gtk=None if lead_gtk is None else lead_gtk[:, first:end],
            value_gtk=None if value_gtk is None else value_gtk[:, first:end],
        )

    def of_depots(self, rows: slice | Int[np.ndarray, " some"]) -> "Calendar":
        """Returns the calendar of some of the depots."""
        groups, group_d = np.unique(self.group_d[rows], return_inverse=True)
        lead_gtk, value_gtk = self.lead_gtk, self.value_gtk
        return replace(
            self,
            active_gtk=self.active_gtk[groups],
            group_d=group_d,
            lead_gtk=None if lead_gtk is None else lead_gtk[groups],
            value_gtk=None if value_gtk is None else value_gtk[groups],
        )

    def known_ahead(self, days: int) -> "Calendar":
        """Returns the calendar with only what was announced so many days before each day."""
        if self.lead_gtk is None:
            return self
        is_known_gtk = self.lead_gtk >= days
        value_gtk = self.value_gtk
        if value_gtk is not None:
            value_gtk = np.where(is_known_gtk, value_gtk, np.float32(np.nan))
        active_gtk = self.active_gtk & is_known_gtk
        return replace(self, active_gtk=active_gtk, value_gtk=value_gtk)

    def has_short_notice(self, kinds: Sequence[str], days: int) -> bool:
        """Whether a day of these kinds was announced fewer than so many days before."""
        return any(
            bool((self.of_kind(kind) & (self.lead_of(kind) < days)).any())
            for kind in kinds
        )

    def frequent_kinds(
        self, n_steps: int, max_kinds: int, min_days: int
    ) -> tuple[str, ...]:
        """Returns the most frequent kinds of day, in the calendar's order.

        Args:
          n_steps: Number of steps that are past; only they count.
          max_kinds: Largest number of kinds.
          min_days: Smallest number of days of each.
        """
        days_k = self.active_gtk[:, :n_steps].any(axis=0).sum(axis=0)
        by_frequency = np.argsort(-days_k, kind="stable")[:max_kinds]
        return tuple(
            self.kinds[k] for k in sorted(by_frequency) if days_k[k] >= min_days
        )

    def of_kind(self, kind: str) -> Bool[np.ndarray, "calendar time"]:
        """Whether each day is of a kind; False for a kind that the calendar lacks."""
        if kind not in self.kinds:
            return np.zeros(self.active_gtk.shape[:2], bool)
        return self.active_gtk[:, :, self.kinds.index(kind)]

    def lead_of(self, kind: str) -> Int8[np.ndarray, "calendar time"]:
        """Days from the announcement to each day of a kind; `MAX_LEAD_DAYS` elsewhere."""
        if self.lead_gtk is None or kind not in self.kinds:
            return np.full(self.active_gtk.shape[:2], MAX_LEAD_DAYS, np.int8)
        return self.lead_gtk[:, :, self.kinds.index(kind)]

    def value_of(self, kind: str) -> Float32[np.ndarray, "calendar time"]:
        """Value of the event of a kind on each day; NaN where there is none."""
        if self.value_gtk is None or kind not in self.kinds:
            return np.full(self.active_gtk.shape[:2], np.nan, np.float32)
        return self.value_gtk[:, :, self.kinds.index(kind)]


def adjacent_days(
    active_gt: Shaped[np.ndarray, "calendar time"],
) -> tuple[Shaped[np.ndarray, "calendar time"], Shaped[np.ndarray, "calendar time"]]:
    """Returns the days before and the days after active ones, in the same type."""
    before_gt, after_gt = np.zeros_like(active_gt), np.zeros_like(active_gt)
    before_gt[:, :-1], after_gt[:, 1:] = active_gt[:, 1:], active_gt[:, :-1]
    return before_gt, after_gt
