"""The calendar: holidays and events, known in advance.

Depots with the same holidays and events share one row, so that ten thousand depots in
three cities cost three calendars. Events of single depots are stored apart, as `OwnDays`.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float32, Int, Int32, Shaped

HOLIDAY = "holiday"
# Prefix of a named holiday's kind; its days also have the plain kind `holiday`.
NAMED_HOLIDAY = "holiday: "
CLOSED = "closed"


@dataclass(frozen=True)
class OwnDays:
    """Event days of single depots: one row per depot, day and kind, sorted in this order.

    Attributes:
      depot_r: Number of the depot.
      step_r: Step of the day.
      kind_r: Number of the event's kind.
      value_r: Value of the event announced first, among the depot's own and its shared ones;
        NaN where that event has none.
    """

    depot_r: Int32[np.ndarray, " row"]
    step_r: Int32[np.ndarray, " row"]
    kind_r: Int32[np.ndarray, " row"]
    value_r: Float32[np.ndarray, " row"]

    @classmethod
    def none(cls) -> "OwnDays":
        """Returns an empty table of days."""
        number_r = np.zeros(0, np.int32)
        return cls(number_r, number_r, number_r, number_r.astype(np.float32))

    def __len__(self) -> int:
        return len(self.depot_r)

    def rows(self, chosen: np.ndarray) -> "OwnDays":
        """Returns the rows selected by a mask or by indices."""
        return OwnDays(**{name: each[chosen] for name, each in vars(self).items()})


@dataclass(frozen=True)
class Calendar:
    """The kinds of each day, for groups of depots that share them and for single depots.

    Attributes:
      kinds: Names of the last axis: `holiday`, `holiday: NAME`, and kinds of events.
      active_gtk: Whether a day is of a kind.
      group_d: Row of each depot in `active_gtk`.
      value_gtk: Value of the event; NaN where it has none. None where no event has a value.
      own: Days of single depots' events, kept out of `active_gtk` so that memory grows with
        these days and not with the number of depots that have any.
    """

    kinds: tuple[str, ...]
    active_gtk: Bool[np.ndarray, "calendar time kind"]
    group_d: Int[np.ndarray, " depot"]
    value_gtk: Float32[np.ndarray, "calendar time kind"] | None = None
    own: OwnDays = field(default_factory=OwnDays.none)

    def steps(self, first: int, end: int) -> "Calendar":
        """Returns the calendar of the steps from `first` to `end` (exclusive)."""
        value_gtk, own = self.value_gtk, self.own
        own = own.rows((own.step_r >= first) & (own.step_r < end))
        return replace(
            self,
            active_gtk=self.active_gtk[:, first:end],
            value_gtk=None if value_gtk is None else value_gtk[:, first:end],
            own=replace(own, step_r=own.step_r - np.int32(first)),
        )

    def of_depots(self, rows: slice | Int[np.ndarray, " some"]) -> "Calendar":
        """Returns the calendar of some of the depots."""
        groups, group_d = np.unique(self.group_d[rows], return_inverse=True)
        value_gtk = self.value_gtk
        return replace(
            self,
            active_gtk=self.active_gtk[groups],
            group_d=group_d,
            value_gtk=None if value_gtk is None else value_gtk[groups],
            own=self._own_of_depots(rows),
        )

    def _own_of_depots(self, rows: slice | Int[np.ndarray, " some"]) -> OwnDays:
        number_d = np.full(len(self.group_d), -1, np.int32)
        number_d[rows] = np.arange(len(number_d[rows]))
        own = self.own.rows(number_d[self.own.depot_r] >= 0)
        own = replace(own, depot_r=number_d[own.depot_r])
        return own.rows(np.argsort(own.depot_r, kind="stable"))

    def frequent_kinds(
        self, n_steps: int, max_kinds: int, min_days: int
    ) -> tuple[str, ...]:
        """Returns the most frequent kinds of day of the first `n_steps`, in the calendar's order.

        At most `max_kinds` are returned, each on at least `min_days` days.
        """
        active_tk = np.logical_or.reduce(self.active_gtk, axis=0)
        active_tk[self.own.step_r, self.own.kind_r] = True
        days_k = active_tk[:n_steps].sum(axis=0)
        by_frequency = np.argsort(-days_k, kind="stable")[:max_kinds]
        return tuple(
            self.kinds[k] for k in sorted(by_frequency) if days_k[k] >= min_days
        )

    def share_of_days(self, kind: str, n_steps: int) -> float:
        """Share of the first `n_steps` days that are of a kind.

        Depots that share all events count as one; a depot with own events counts separately.
        """
        days_g = self.shared_days(kind)[:, :n_steps].sum(axis=1)
        own = self.own.rows(self.own.step_r < n_steps)
        has_own_d = self.has_own_d
        own_days = own.rows(own.kind_r == self._number(kind))
        group_r = self.group_d[own_days.depot_r]
        is_shared_r = self.shared_days(kind)[group_r, own_days.step_r]
        groups = [*np.unique(self.group_d[~has_own_d]), *self.group_d[has_own_d]]
        days = days_g[groups].sum() + (~is_shared_r).sum()
        return float(days / (len(groups) * n_steps))

    @property
    def has_own_d(self) -> Bool[np.ndarray, " depot"]:
        """Whether a depot has events of its own."""
        return np.isin(np.arange(len(self.group_d)), self.own.depot_r)

    def is_ever(self, kind: str) -> bool:
        """Whether any day of any depot is of a kind."""
        is_own = (self.own.kind_r == self._number(kind)).any()
        return bool(self.shared_days(kind).any() or is_own)

    def of_kind(self, kind: str) -> Bool[np.ndarray, "depot time"]:
        """Whether each day is of a kind; False for a kind that the calendar lacks."""
        active_dt = self.shared_days(kind)[self.group_d]
        own = self.own.rows(self.own.kind_r == self._number(kind))
        active_dt[own.depot_r, own.step_r] = True
        return active_dt

    def value_of(self, kind: str) -> Float32[np.ndarray, "depot time"]:
        """Value of the event of a kind on each day; NaN where there is none."""
        shape = (len(self.group_d), self.active_gtk.shape[1])
        if self.value_gtk is None or kind not in self.kinds:
            return np.full(shape, np.nan, np.float32)
        value_dt = self.value_gtk[self.group_d, :, self._number(kind)]
        own = self.own.rows(self.own.kind_r == self._number(kind))
        value_dt[own.depot_r, own.step_r] = own.value_r
        return value_dt

    def shared_days(self, kind: str) -> Bool[np.ndarray, "calendar time"]:
        """Whether each day is of a kind for all depots of a group."""
        if kind not in self.kinds:
            return np.zeros(self.active_gtk.shape[:2], bool)
        return self.active_gtk[:, :, self._number(kind)]

    def _number(self, kind: str) -> int:
        return self.kinds.index(kind) if kind in self.kinds else -1


def adjacent_days(
    active_gt: Shaped[np.ndarray, "calendar time"],
) -> tuple[Shaped[np.ndarray, "calendar time"], Shaped[np.ndarray, "calendar time"]]:
    """Marks the days before and the days after active ones, in arrays of the same dtype."""
    before_gt, after_gt = np.zeros_like(active_gt), np.zeros_like(active_gt)
    before_gt[:, :-1], after_gt[:, 1:] = active_gt[:, 1:], active_gt[:, :-1]
    return before_gt, after_gt
