"""Records that queries return and pages read."""

from dataclasses import dataclass
from datetime import date


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


@dataclass(frozen=True)
class Before:
    """The forecast before the one shown, and what has come since it was made.

    Attributes:
      origin_on: The last day it may have seen.
      model: Version of the model that made it.
      corrected: Earlier counts of the depot that were corrected since.
      events: Kinds of events of the days ahead that were loaded since.
    """

    origin_on: date
    model: str
    corrected: int
    events: tuple[str, ...]


@dataclass(frozen=True)
class News:
    """What a reader should know of a depot before its numbers.

    Attributes:
      late: Whether its orders have come.
      before: The forecast before; None where there was none.
      is_gated: Whether its forecast is the plain one, because the model's own were worse
        than the seasonal naive's.
    """

    late: Lateness
    before: Before | None
    is_gated: bool
