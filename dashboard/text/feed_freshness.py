"""Whether the orders of one depot have come."""

from dataclasses import dataclass
from datetime import date

from dashboard.text import formatting


@dataclass(frozen=True)
class Lateness:
    """How new a depot's orders are, and how new they should be.

    Attributes:
      last_on: Its newest day of known demand; None where none is known.
      due_on: The newest day on which it was open; None if it has not been open for two
        weeks.
      is_late: Whether the first lies before the second, or there is none.
    """

    last_on: date | None
    due_on: date | None
    is_late: bool


def warning(late: Lateness) -> str | None:
    """The sentence about a late depot; None where it is not late."""
    if not late.is_late or late.due_on is None:
        return None
    due = formatting.day(late.due_on)
    if late.last_on is None:
        return (
            f"No orders of this depot are known, although it was open on {due}. Its "
            "forecast is that of depots like it. Load its orders with "
            "`harbor ingest PATH`, then run `harbor nightly`."
        )
    return (
        f"This depot's orders are late: the newest are of {formatting.day(late.last_on)}, "
        f"and those of {due} should be there. Its forecast was made without them. Load "
        "them with `harbor ingest PATH`, then run `harbor nightly`."
    )
