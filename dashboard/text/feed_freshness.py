"""Whether the orders of one depot have come."""

from dashboard.queries.types import Lateness
from dashboard.text import formatting


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
