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
            f"This depot has no data, although it was open on {due}. Its forecast is "
            "based on similar depots. Load its orders with "
            "`harbor ingest PATH`, then run `harbor nightly`."
        )
    return (
        f"Missing data: this depot's newest orders are from {formatting.day(late.last_on)}, "
        f"but those of {due} are due. The forecast was made without them. Load them with "
        "`harbor ingest PATH`, then run `harbor nightly`."
    )
