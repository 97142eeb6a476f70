"""What is known about days in advance, beyond their date: holidays and events.

Depots with the same holidays and events share one row, so that ten thousand depots in
three cities cost three calendars.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Int

HOLIDAY = "holiday"
# Kind of one named holiday, beside the plain kind that all of them have.
NAMED_HOLIDAY = "holiday: "
CLOSED = "closed"


@dataclass(frozen=True)
class Calendar:
    """Which kinds of day each group of depots has when.

    Attributes:
      kinds: Names of the last axis: `holiday`, `holiday: NAME`, and kinds of events.
      active_gtk: Whether a day is of a kind.
      group_d: The row of each depot.
    """

    kinds: tuple[str, ...]
    active_gtk: Bool[np.ndarray, "calendar time kind"]
    group_d: Int[np.ndarray, " depot"]

    def steps(self, first: int, end: int) -> "Calendar":
        """The calendar of some of the steps."""
        return replace(self, active_gtk=self.active_gtk[:, first:end])

    def of_depots(self, rows: slice) -> "Calendar":
        """The calendar of some of the depots."""
        groups, group_d = np.unique(self.group_d[rows], return_inverse=True)
        return replace(self, active_gtk=self.active_gtk[groups], group_d=group_d)

    def of_kind(self, kind: str) -> Bool[np.ndarray, "calendar time"]:
        """Whether each day is of that kind; a kind never seen is on no day."""
        if kind not in self.kinds:
            return np.zeros(self.active_gtk.shape[:2], bool)
        return self.active_gtk[:, :, self.kinds.index(kind)]
