"""Panel: the demand of all depots on one line of days, gaps stated."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float32

from forecaster.calendar import CLOSED, Calendar, build_calendar, span, step_of
from forecaster.errors import CutoffError, NoDataError


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


@dataclass(frozen=True)
class Announced:
    """Depots, events and holidays as tidy rows, events with the day they were known."""

    depots: pd.DataFrame
    events: pd.DataFrame
    holidays: pd.DataFrame

    def lay_out(
        self, origin: date, start_on: date, n_steps: int
    ) -> tuple[Bool[np.ndarray, "depot time"], Calendar]:
        """Closed days and the calendar, by the events known at an origin."""
        events = self.events[self._known_from() <= pd.Timestamp(origin)]
        closed_dt = _closed(self.depots, events, start_on, n_steps)
        parts = (self.depots, events, self.holidays)
        return closed_dt, build_calendar(*parts, start_on, n_steps)

    def tells_later_than(self, day: date) -> bool:
        """Whether an event was announced after a day."""
        return bool((self._known_from() > pd.Timestamp(day)).any())

    def _known_from(self) -> pd.Series:
        """The day each event was known; one without was known always."""
        always = pd.Timestamp(1900, 1, 1)
        return pd.to_datetime(self.events["known_from"]).fillna(always)


def build_panel(
    depots: pd.DataFrame,
    demand: pd.DataFrame,
    events: pd.DataFrame,
    holidays: pd.DataFrame,
    through: date,
    ahead: int,
) -> Panel:
    """Lays tidy rows out on one line of days, from the first day of demand.

    Args:
      depots: depot_id, city, country, subdivision, opened_on, closed_on,
        closed_weekdays (ISO weekdays, Monday is 1); sets the order of depots.
      demand: depot_id, service_on, orders (NaN where not observed). A day without a
        row is not observed.
      events: kind, starts_on, ends_on, city, depot_id, value, known_from. Kind
        `closed` closes; events known only after `through` are left out.
      holidays: country, subdivision, day_on, name.
      through: The origin: the last day whose actuals the panel shows.
      ahead: Days after it whose calendar is needed.

    Raises:
      NoDataError: there is no depot, or no demand up to `through`.
    """
    demand = demand[pd.to_datetime(demand["service_on"]) <= pd.Timestamp(through)]
    if depots.empty or demand.empty:
        raise NoDataError(
            f"There is no demand up to {through}. Load orders with 'harbor ingest'."
        )
    start_on = pd.to_datetime(demand["service_on"]).min().date()
    n_steps = (through - start_on).days + 1
    announced = Announced(depots, events, holidays)
    closed_dt, calendar = announced.lay_out(through, start_on, n_steps + ahead)
    demand_dt = _demand(list(depots["depot_id"]), demand, start_on, n_steps)
    demand_dt[closed_dt[:, :n_steps]] = np.nan
    return Panel(
        depot_ids=tuple(depots["depot_id"]),
        cities=tuple(depots["city"]),
        start_on=start_on,
        demand_dt=demand_dt,
        closed_dt=closed_dt,
        calendar=calendar,
        announced=announced if announced.tells_later_than(start_on) else None,
    )


def _demand(
    depot_ids: Sequence[str], demand: pd.DataFrame, start_on: date, n_steps: int
) -> Float32[np.ndarray, "depot time"]:
    row = pd.Index(depot_ids).get_indexer(pd.Index(demand["depot_id"]))
    day = pd.to_datetime(demand["service_on"])
    step = (day - pd.Timestamp(start_on)).dt.days.to_numpy()
    demand_dt = np.full((len(depot_ids), n_steps), np.nan, np.float32)
    known = row >= 0
    orders = demand["orders"].to_numpy(np.float32, na_value=np.nan)
    demand_dt[row[known], step[known]] = orders[known]
    return demand_dt


def _closed(
    depots: pd.DataFrame, events: pd.DataFrame, start_on: date, n_steps: int
) -> Bool[np.ndarray, "depot time"]:
    """Weekly closing days, closures given as events, and the days outside its life."""
    closed_dt = np.zeros((len(depots), n_steps), bool)
    weekday_t = (start_on.isoweekday() - 1 + np.arange(n_steps)) % 7 + 1
    for row, depot in enumerate(depots.to_dict("records")):
        closed_dt[row] = np.isin(weekday_t, list(depot["closed_weekdays"]))
        if pd.notna(depot["opened_on"]):
            opened = step_of(depot["opened_on"], start_on)
            closed_dt[row, : max(0, opened)] = True
        if pd.notna(depot["closed_on"]):
            gone = step_of(depot["closed_on"], start_on)
            closed_dt[row, max(0, gone) :] = True
    for event in events[events["kind"] == CLOSED].to_dict("records"):
        first, end = span(event["starts_on"], event["ends_on"], start_on, n_steps)
        closed_dt[_in_scope(depots, event), first:end] = True
    return closed_dt


def _in_scope(
    depots: pd.DataFrame, event: dict[Hashable, Any]
) -> Bool[np.ndarray, " depot"]:
    if not pd.isna(event["depot_id"]):
        return np.asarray(depots["depot_id"] == event["depot_id"])
    if not pd.isna(event["city"]):
        return np.asarray(depots["city"] == event["city"])
    return np.ones(len(depots), bool)


def log_counts(
    demand_dt: Float[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """log(1 + orders), 0 where not observed: the unit the network works in."""
    return np.log1p(np.nan_to_num(demand_dt, nan=0.0)).astype(np.float32)
