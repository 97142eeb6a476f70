"""Panel: the demand of all depots on one line of days, gaps stated; see `rows`."""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Protocol

import numpy as np
from jaxtyping import Bool, Float, Float32

from forecaster.data.calendar import Calendar
from forecaster.errors import CutoffError


@dataclass(frozen=True)
class Panel:
    """Demand up to an origin, and what is known of the days after it.

    Attributes:
      depot_ids: In the order of every depot axis.
      cities: City of each depot.
      start_on: Day of step 0.
      demand_dt: Orders per day, NaN where not observed or closed.
      closed_dt: Days known to be closed; reaches past the last step of `demand_dt` by
        the days ahead.
      calendar: Holidays and events of the same steps as `closed_dt`.
      announced: What `closed_dt` and `calendar` were laid out from, where some of it was
        announced on a day of the panel: an earlier origin did not know of it.
    """

    depot_ids: tuple[str, ...]
    cities: tuple[str, ...]
    start_on: date
    demand_dt: Float32[np.ndarray, "depot time"]
    closed_dt: Bool[np.ndarray, "depot time_ahead"]
    calendar: Calendar
    announced: "Announced | None" = None

    @property
    def n_depots(self) -> int:
        """D."""
        return len(self.depot_ids)

    @property
    def n_steps(self) -> int:
        """T: steps whose actuals may be seen."""
        return self.demand_dt.shape[1]

    @property
    def ahead(self) -> int:
        """Steps known in advance only."""
        return self.closed_dt.shape[1] - self.n_steps

    @property
    def origin(self) -> date:
        """The last day whose actuals may be seen."""
        return self.day(self.n_steps - 1)

    @property
    def observed_dt(self) -> Bool[np.ndarray, "depot time"]:
        """Whether a day's demand is known; a closed day is not observed."""
        return np.isfinite(self.demand_dt)

    def day(self, step: int) -> date:
        """The day of a step."""
        return self.start_on + timedelta(days=step)

    def step(self, day: date) -> int:
        """The step of a day, which may lie outside the panel."""
        return (day - self.start_on).days

    def as_of(self, origin: date) -> "Panel":
        """The panel as one at an earlier origin saw it; later actuals are gone.

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
        if self.announced is not None:
            closed_dt, calendar = self.announced.lay_out(origin, self.start_on, end)
        return replace(
            self,
            demand_dt=self.demand_dt[:, :cutoff],
            closed_dt=closed_dt,
            calendar=calendar,
        )

    def knows_the_same(self, earlier: date, later: date, days: int) -> bool:
        """Whether two origins know the same of the days up to so many after the earlier."""
        if self.announced is None:
            return True
        return self.announced.agrees(earlier, later, earlier + timedelta(days=days))

    def last(self, steps: int) -> "Panel":
        """The same panel without the days before its last `steps` actuals."""
        first = max(0, self.n_steps - steps)
        return replace(
            self,
            start_on=self.day(first),
            demand_dt=self.demand_dt[:, first:],
            closed_dt=self.closed_dt[:, first:],
            calendar=self.calendar.steps(first, self.n_steps + self.ahead),
        )

    def part(self, first: int, end: int) -> "Panel":
        """The same days of some of the depots."""
        rows = slice(first, end)
        return replace(
            self,
            depot_ids=self.depot_ids[rows],
            cities=self.cities[rows],
            demand_dt=self.demand_dt[rows],
            closed_dt=self.closed_dt[rows],
            calendar=self.calendar.of_depots(rows),
            announced=None,
        )


class Announced(Protocol):
    """What days were laid out from, events with the day they were known; see `rows`."""

    def lay_out(
        self, origin: date, start_on: date, n_steps: int
    ) -> tuple[Bool[np.ndarray, "depot time"], Calendar]:
        """Closed days and the calendar, by the events known at an origin."""

    def agrees(self, earlier: date, later: date, until: date) -> bool:
        """Whether two origins know the same of all days up to one."""


def log_counts(
    demand_dt: Float[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """log(1 + orders), 0 where not observed: the unit the network works in."""
    return np.log1p(np.nan_to_num(demand_dt, nan=0.0)).astype(np.float32)
