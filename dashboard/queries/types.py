"""Records that queries return and pages read."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class FeedFreshness:
    """The newest day of a depot's orders, and the newest day that is due.

    Attributes:
      last_on: Newest day with known demand; None where none is known.
      due_on: Newest day on which the depot was open; None if it was closed for the last
        two weeks.
      is_late: Whether `last_on` is None or before `due_on`.
    """

    last_on: date | None
    due_on: date | None
    is_late: bool


@dataclass(frozen=True)
class PreviousForecast:
    """The depot's previous forecast, and the data that changed after it was made.

    Attributes:
      origin_on: Last day the forecast may use.
      model: Version of the model that made it.
      corrected: Number of daily counts corrected since.
      events: Kinds of events in the forecast days loaded or changed since.
    """

    origin_on: date
    model: str
    corrected: int
    events: tuple[str, ...]


@dataclass(frozen=True)
class DepotStatus:
    """Notices about one depot, shown above its numbers.

    Attributes:
      feed: Freshness of its orders.
      previous: Its previous forecast; None where there is none.
      is_fallback: Whether its forecast is the baseline, because the model's live
        forecasts were worse than the seasonal naive's.
    """

    feed: FeedFreshness
    previous: PreviousForecast | None
    is_fallback: bool
