"""Builds a panel from tidy rows of depots, demand, events and holidays.

Separate from `panel`, because serving must not import pandas.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float32, Int8

from forecaster.config import MAX_HORIZON
from forecaster.data.calendar import (
    CLOSED,
    HOLIDAY,
    MAX_LEAD_DAYS,
    NAMED_HOLIDAY,
    Calendar,
)
from forecaster.data.panel import Panel
from forecaster.errors import NoDataError

ALWAYS, NEVER = np.datetime64("1900-01-01"), np.datetime64("2200-01-01")
"""Stand for a missing announcement, and for a version that nothing replaces."""
DayLike = date | pd.Timestamp | str
"""A day as tables hold it: a date, a timestamp or ISO text."""


@dataclass(frozen=True)
class EventCalendarSource:
    """Depots, events and holidays as tidy rows, from which closed days and calendars are built."""

    depots: pd.DataFrame
    events: pd.DataFrame
    holidays: pd.DataFrame

    def build(
        self, origin: date, start_on: date, n_steps: int
    ) -> tuple[Bool[np.ndarray, "depot time"], Calendar]:
        """Builds closed days and the calendar from the events known at an origin."""
        events = self.events[self._announced_at(origin)]
        closed_dt = _closed(self.depots, events, start_on, n_steps)
        parts = (self.depots, events, self.holidays)
        return closed_dt, build_calendar(*parts, start_on, n_steps)

    def same_events_known(self, earlier: date, later: date, until: date) -> bool:
        """Whether the same events, starting by `until`, were known at both origins."""
        differs = self._announced_at(earlier) != self._announced_at(later)
        return not (differs & (self._starts <= np.datetime64(until))).any()

    def changes_after(self, day: date) -> bool:
        """Whether an event was announced, corrected or withdrawn after a day."""
        changes = np.concatenate(self._validity_periods)
        return bool(((changes > np.datetime64(day)) & (changes < NEVER)).any())

    def _announced_at(self, origin: date) -> Bool[np.ndarray, " event"]:
        known_from, known_until = self._validity_periods
        day = np.datetime64(origin)
        return (known_from <= day) & (day < known_until)

    @cached_property
    def _validity_periods(self) -> tuple[np.ndarray, np.ndarray]:
        """First origin at which each event is known, and the first at which it no longer is."""
        return self._days("known_from", ALWAYS), self._days("known_until", NEVER)

    @cached_property
    def _starts(self) -> np.ndarray:
        return self._days("starts_on")

    def _days(self, column: str, missing: np.datetime64 = NEVER) -> np.ndarray:
        if column not in self.events:
            return np.full(len(self.events), missing)
        days = pd.to_datetime(self.events[column]).to_numpy("datetime64[D]")
        return np.where(np.isnat(days), missing, days)


def build_panel(
    depots: pd.DataFrame,
    demand: pd.DataFrame,
    events: pd.DataFrame,
    holidays: pd.DataFrame,
    through: date,
    ahead: int,
) -> Panel:
    """Builds a panel from tidy rows, from the first day of demand to `through`.

    Args:
      depots: depot_id, city, country, subdivision, opened_on, closed_on,
        closed_weekdays (ISO weekdays, Monday is 1); sets the order of depots.
      demand: depot_id, service_on, orders (NaN where not observed). A day without a
        row is not observed.
      events: kind, starts_on, ends_on, city, depot_id, value, known_from; known_until
        (optional): first origin at which a newer version replaces this one. Kind `closed`
        closes; events not known at `through` are left out.
      holidays: country, subdivision, day_on, name.
      through: The origin: the last day with actuals in the panel.
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
    source = EventCalendarSource(depots, events, holidays)
    closed_dt, calendar = source.build(through, start_on, n_steps + ahead)
    demand_dt = np.full((len(depots), n_steps), np.nan, np.float32)
    fill_demand(demand_dt, list(depots["depot_id"]), start_on, demand)
    demand_dt[closed_dt[:, :n_steps]] = np.nan
    return Panel(
        depot_ids=tuple(depots["depot_id"]),
        cities=tuple(depots["city"]),
        start_on=start_on,
        demand_dt=demand_dt,
        closed_dt=closed_dt,
        calendar=calendar,
        source=source if source.changes_after(start_on) else None,
    )


def fill_demand(
    demand_dt: Float32[np.ndarray, "depot time"],
    depot_ids: Sequence[str],
    start_on: date,
    demand: pd.DataFrame,
) -> None:
    """Writes rows of demand into the matrix, in place.

    Rows of a depot outside the matrix are left out.

    Args:
      demand_dt: Orders per day; cells without a row stay as they are.
      depot_ids: Depots, in the order of the matrix.
      start_on: Day of step 0; every row lies within the days of the matrix.
      demand: depot_id, service_on, orders (NaN where not observed).
    """
    row = pd.Index(depot_ids).get_indexer(pd.Index(demand["depot_id"]))
    day = pd.to_datetime(demand["service_on"]) - pd.Timestamp(start_on)
    orders = demand["orders"].to_numpy(np.float32, na_value=np.nan)
    in_matrix = row >= 0
    step = day.dt.days.to_numpy(int)[in_matrix]
    demand_dt[row[in_matrix], step] = orders[in_matrix]


def _closed(
    depots: pd.DataFrame, events: pd.DataFrame, start_on: date, n_steps: int
) -> Bool[np.ndarray, "depot time"]:
    """Weekly closing days, closure events, and days before opening or after closing."""
    closed_dt = np.zeros((len(depots), n_steps), bool)
    weekday_t = (start_on.isoweekday() - 1 + np.arange(n_steps)) % 7 + 1
    for row, depot in enumerate(depots.to_dict("records")):
        closed_dt[row] = np.isin(weekday_t, list(depot["closed_weekdays"]))
        if pd.notna(depot["opened_on"]):
            first_open = step_of(depot["opened_on"], start_on)
            closed_dt[row, : max(0, first_open)] = True
        if pd.notna(depot["closed_on"]):
            first_closed = step_of(depot["closed_on"], start_on)
            closed_dt[row, max(0, first_closed) :] = True
    for event in events[events["kind"] == CLOSED].to_dict("records"):
        first, end = step_range(event["starts_on"], event["ends_on"], start_on, n_steps)
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


def build_calendar(
    depots: pd.DataFrame,
    events: pd.DataFrame,
    holidays: pd.DataFrame,
    start_on: date,
    n_steps: int,
) -> Calendar:
    """Builds the calendar of holidays and events.

    Args:
      depots: depot_id, city, country, subdivision.
      events: kind, starts_on, ends_on, city, depot_id, known_from; kind `closed` is
        left out.
      holidays: country, subdivision ('' or missing: the whole country), day_on, name.
      start_on: Day of step 0.
      n_steps: Number of steps.
    """
    events = events[events["kind"] != CLOSED]
    names = [NAMED_HOLIDAY + name for name in sorted(set(holidays["name"]))]
    kinds = (HOLIDAY, *names, *sorted(set(events["kind"])))
    keys = _group_keys(depots, events)
    groups = list(dict.fromkeys(keys))
    active_gtk = np.zeros((len(groups), n_steps, len(kinds)), bool)
    lead_gtk = (
        np.full(active_gtk.shape, -MAX_LEAD_DAYS, np.int8)
        if _has_short_notice_events(events)
        else None
    )
    holidays_of = dict(list(holidays.groupby("country"))) if len(holidays) else {}
    for row, (country, subdivision, city, depot_id) in enumerate(groups):
        own_holidays = holidays_of.get(country)
        if own_holidays is not None:
            _mark_holidays(active_gtk[row], kinds, own_holidays, subdivision, start_on)
        for event in _events_of(events, city, depot_id).to_dict("records"):
            first, end = step_range(
                event["starts_on"], event["ends_on"], start_on, n_steps
            )
            days = (row, slice(first, end), kinds.index(event["kind"]))
            active_gtk[days] = True
            if lead_gtk is not None:
                lead_t = _lead(event["known_from"], start_on, first, end)
                lead_gtk[days] = np.maximum(lead_gtk[days], lead_t)
        if lead_gtk is not None:
            # Days without the kind, and public holidays, have the largest lead.
            unset_tk = lead_gtk[row] == -MAX_LEAD_DAYS
            lead_gtk[row][unset_tk] = MAX_LEAD_DAYS
    position = {key: row for row, key in enumerate(groups)}
    group_d = np.array([position[key] for key in keys], int)
    return Calendar(kinds, active_gtk, group_d, lead_gtk)


def _has_short_notice_events(events: pd.DataFrame) -> bool:
    """Whether any event was announced fewer than MAX_HORIZON days before it starts."""
    starts, announced = (
        pd.to_datetime(events[name]) for name in ("starts_on", "known_from")
    )
    return bool((starts - announced < pd.Timedelta(MAX_HORIZON, "D")).any())


def _lead(
    known_from: DayLike | float | None, start_on: date, first: int, end: int
) -> Int8[np.ndarray, " time"]:
    """Days from the announcement of an event to each of its days; missing means long before."""
    if known_from is None or isinstance(known_from, float) or pd.isna(known_from):
        return np.full(end - first, MAX_LEAD_DAYS, np.int8)
    lead_t = np.arange(first, end) - step_of(known_from, start_on)
    return np.clip(lead_t, 1 - MAX_LEAD_DAYS, MAX_LEAD_DAYS).astype(np.int8)


def step_range(
    starts_on: DayLike, ends_on: DayLike, start_on: date, n_steps: int
) -> tuple[int, int]:
    """First step and end (exclusive) of a range of days, clipped to the panel."""
    first, end = step_of(starts_on, start_on), step_of(ends_on, start_on) + 1
    return min(max(first, 0), n_steps), min(max(end, 0), n_steps)


def step_of(day: DayLike, start_on: date) -> int:
    """Step of a day."""
    return (pd.Timestamp(day).date() - start_on).days


def _group_keys(
    depots: pd.DataFrame, events: pd.DataFrame
) -> list[tuple[str, str, str, str | None]]:
    """Key of each depot's calendar: country, subdivision, city, and its id if it has events."""
    has_events = set(events["depot_id"].dropna())
    return [
        (
            depot["country"],
            depot["subdivision"] if pd.notna(depot["subdivision"]) else "",
            depot["city"],
            depot["depot_id"] if depot["depot_id"] in has_events else None,
        )
        for depot in depots.to_dict("records")
    ]


def _events_of(
    events: pd.DataFrame, city: Hashable, depot_id: Hashable
) -> pd.DataFrame:
    everywhere = events["city"].isna() & events["depot_id"].isna()
    return events[
        everywhere | (events["city"] == city) | (events["depot_id"] == depot_id)
    ]


def _mark_holidays(
    active_tk: Bool[np.ndarray, "time kind"],
    kinds: tuple[str, ...],
    holidays: pd.DataFrame,
    subdivision: str,
    start_on: date,
) -> None:
    """Marks the country's and the subdivision's holidays in place."""
    applicable = holidays[holidays["subdivision"].fillna("").isin(["", subdivision])]
    for holiday in applicable.to_dict("records"):
        day_on = holiday["day_on"]
        first, end = step_range(day_on, day_on, start_on, len(active_tk))
        active_tk[first:end, 0] = True
        named = NAMED_HOLIDAY + holiday["name"]
        active_tk[first:end, kinds.index(named)] = True
