"""Panel: the demand of all depots on consecutive days, with gaps marked."""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Protocol

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped

from forecaster.data.calendar import Calendar
from forecaster.data.signals import Signals
from forecaster.errors import CutoffError


@dataclass(frozen=True)
class Panel:
    """Demand up to an origin, and the calendar of the days after it.

    Attributes:
      depot_ids: Depots, in the order of every depot axis.
      cities: City of each depot.
      start_on: Day of step 0.
      demand_dt: Orders per day, NaN where not observed or closed.
      closed_dt: Days known to be closed; reaches past the last step of `demand_dt` by
        the days ahead.
      calendar: Holidays and events for the same steps as `closed_dt`.
      source: Builds `closed_dt` and `calendar` as known at an earlier origin; None where no
        event was announced or changed within the panel.
      signals: Numbers known in advance, for the same steps as `closed_dt`; None where the
        fleet has none.
    """

    depot_ids: tuple[str, ...]
    cities: tuple[str, ...]
    start_on: date
    demand_dt: Float32[np.ndarray, "depot time"]
    closed_dt: Bool[np.ndarray, "depot time_ahead"]
    calendar: Calendar
    source: "CalendarSource | None" = None
    signals: Signals | None = None

    @property
    def n_depots(self) -> int:
        """Number of depots, D."""
        return len(self.depot_ids)

    @property
    def n_steps(self) -> int:
        """Number of steps with actuals, T."""
        return self.demand_dt.shape[1]

    @property
    def ahead(self) -> int:
        """Number of steps after the origin."""
        return self.closed_dt.shape[1] - self.n_steps

    @property
    def origin(self) -> date:
        """The last day with actuals."""
        return self.day(self.n_steps - 1)

    @property
    def observed_dt(self) -> Bool[np.ndarray, "depot time"]:
        """Whether a day's demand is in the data; a closed day is not observed."""
        return np.isfinite(self.demand_dt)

    def day(self, step: int) -> date:
        """The day of a step."""
        return self.start_on + timedelta(days=step)

    def days(self, first: int = 0) -> Shaped[np.ndarray, " time_ahead"]:
        """The days from a step on, days ahead included, as `datetime64[D]`."""
        day = np.datetime64(self.start_on)
        return np.arange(day + first, day + self.closed_dt.shape[1])

    def step(self, day: date) -> int:
        """The step of a day, which may lie outside the panel."""
        return (day - self.start_on).days

    def as_of(self, origin: date) -> "Panel":
        """Returns the panel as known at an earlier origin, without later actuals.

        Raises:
          CutoffError: the origin lies outside the panel's actuals.
        """
        cutoff = self.step(origin) + 1
        if not 1 <= cutoff <= self.n_steps:
            raise CutoffError(
                f"origin is {origin}, but must lie between {self.start_on} and "
                f"{self.origin}, the days of the panel. Choose an origin in between."
            )
        end = cutoff + self.ahead
        closed_dt, calendar = self.closed_dt[:, :end], self.calendar.steps(0, end)
        if self.source is not None:
            closed_dt, calendar = self.source.build(origin, self.start_on, end)
        signals = self.signals and self.signals.steps(0, end).as_of(cutoff - 1)
        return replace(
            self,
            demand_dt=self.demand_dt[:, :cutoff],
            closed_dt=closed_dt,
            calendar=calendar,
            signals=signals if signals and signals.names else None,
        )

    def last(self, steps: int) -> "Panel":
        """Returns the panel of the last `steps` days with actuals and of the days ahead."""
        first = max(0, self.n_steps - steps)
        return replace(
            self,
            start_on=self.day(first),
            demand_dt=self.demand_dt[:, first:],
            closed_dt=self.closed_dt[:, first:],
            calendar=self.calendar.steps(first, self.n_steps + self.ahead),
            signals=self.signals
            and self.signals.steps(first, self.n_steps + self.ahead),
        )

    def of_depots(self, rows: slice | Int[np.ndarray, " some"]) -> "Panel":
        """Returns the panel of some of the depots."""
        return replace(
            self,
            depot_ids=tuple(np.array(self.depot_ids, object)[rows]),
            cities=tuple(np.array(self.cities, object)[rows]),
            demand_dt=self.demand_dt[rows],
            closed_dt=self.closed_dt[rows],
            calendar=self.calendar.of_depots(rows),
            source=self.source and self.source.of_depots(rows),
            signals=self.signals and self.signals.of_depots(rows),
        )


class CalendarSource(Protocol):
    """Builds closed days and calendars as known at an origin; see `EventCalendarSource`."""

    def build(
        self, origin: date, start_on: date, n_steps: int
    ) -> tuple[Bool[np.ndarray, "depot time"], Calendar]: ...
    def of_depots(self, rows: slice | Int[np.ndarray, " some"]) -> "CalendarSource": ...


def log_counts(
    demand_dt: Float[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """Converts orders to log counts, log(1 + orders); 0 where not observed."""
    known_dt = demand_dt.astype(np.float32)
    np.copyto(known_dt, 0.0, where=~np.isfinite(known_dt))
    return np.log1p(known_dt, out=known_dt)
