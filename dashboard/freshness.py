"""How new the numbers are, and the key under which answers about them are kept."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

DAYS_AHEAD = 7


@dataclass(frozen=True)
class Freshness:
    """How new everything shown is.

    Attributes:
      depots: How many are known.
      last_on: The newest day of which any depot's demand is known.
      champion: Version of the model whose forecasts are to be shown.
      origin_on: Of the forecast shown: the last day it may have seen.
      model: Version of the model that made it.
      trained_through: The last day that model learnt from.
      made_at: When the forecast was made, in UTC.
      worked_at: When a step of the pipeline last ended, in UTC.
    """

    depots: int
    last_on: date | None
    champion: str | None
    origin_on: date | None
    model: str | None
    trained_through: date | None
    made_at: datetime | None
    worked_at: datetime | None

    @property
    def origin(self) -> date:
        """The origin of a forecast that is there."""
        assert self.origin_on is not None, "asked only where there is a forecast"
        return self.origin_on

    @property
    def newest(self) -> date:
        """The last day that is not ahead: the origin, or the newest known demand."""
        assert self.last_on is not None, "asked only where there is demand"
        return max(self.last_on, self.origin_on or self.last_on)

    @property
    def until(self) -> date:
        """The last day shown ahead."""
        return self.origin + timedelta(days=DAYS_AHEAD)

    @property
    def version(self) -> str:
        """Champion and data watermark: whatever changes them changes this."""
        watermark = (self.last_on, self.origin_on, self.model, self.made_at)
        return "|".join(map(str, (self.champion, *watermark, self.worked_at)))
