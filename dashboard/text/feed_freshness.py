"""The warning about a depot's missing data."""

from dashboard.queries.types import FeedFreshness
from dashboard.text import formatting


def warning(feed: FeedFreshness) -> str | None:
    """Writes the warning for a depot with missing data; None if none is missing."""
    if not feed.is_late or feed.due_on is None:
        return None
    due = formatting.day(feed.due_on)
    if feed.last_on is None:
        return (
            f"This depot has no data, although it was open on {due}. Its forecast is "
            "based on similar depots. Load its orders with "
            "`harbor ingest PATH`, then run `harbor nightly`."
        )
    return (
        f"Missing data: this depot's newest orders are from {formatting.day(feed.last_on)}, "
        f"but those of {due} are due. The forecast was made without them. Load them with "
        "`harbor ingest PATH`, then run `harbor nightly`."
    )
