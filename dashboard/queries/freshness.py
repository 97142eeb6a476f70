"""Freshness of data and forecast; the cache key of all queries."""

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True)
class Freshness:
    """Freshness of everything shown; any change of the data changes it.

    Attributes:
      depots: How many are known.
      last_on: The newest day of which any depot's demand is known.
      champion: Version of the model whose forecasts are to be shown.
      origin_on: Of the forecast shown: the last day it may have seen.
      until_on: The last day it is of.
      model: Version of the model that made it.
      trained_through: The last day that model learnt from.
      filename: Of that model's artefact.
      sha256: Of that file.
      made_at: When the forecast was written, in UTC.
      worked_at: When a step of the pipeline last began or ended, in UTC.
      last_override: Of the planners; each has a greater number than those before.
      late_cities: Cities whose depots had not all reported when the forecast was made,
        each with how many were missing.
      alarms: What the newest night said of the accuracy of live forecasts.
      zones: Time zones, and how many active depots lie in each.
    """

    depots: int
    last_on: date | None
    champion: str | None
    origin_on: date | None
    until_on: date | None
    model: str | None
    trained_through: date | None
    filename: str | None
    sha256: str | None
    made_at: datetime | None
    worked_at: datetime | None
    last_override: int | None = None
    late_cities: tuple[tuple[str, int], ...] = ()
    alarms: tuple[str, ...] = ()
    zones: tuple[tuple[str, int], ...] = ()

    @property
    def origin(self) -> date:
        """The origin of a forecast that is there."""
        assert self.origin_on is not None, "requires a forecast"
        return self.origin_on

    @property
    def until(self) -> date:
        """The last day ahead of a forecast that is there."""
        assert self.until_on is not None, "requires a forecast"
        return self.until_on

    @property
    def horizon(self) -> int:
        """Days ahead of a forecast that is there."""
        return (self.until - self.origin).days

    @property
    def newest(self) -> date:
        """The last day that is not ahead: the origin, or the newest known demand."""
        assert self.last_on is not None, "requires known demand"
        return max(self.last_on, self.origin_on or self.last_on)

    @property
    def lagging_day(self) -> date:
        """The earlier of the origin and the newest known demand."""
        assert self.last_on is not None, "requires known demand"
        return min(self.last_on, self.origin_on or self.last_on)
