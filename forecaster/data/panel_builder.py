"""Builds a panel from tidy rows of depots, demand, events and holidays.

Separate from `panel`, because serving must not import pandas.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float32, Int

from forecaster.data.calendar import (
    CLOSED,
    HOLIDAY,
    NAMED_HOLIDAY,
    Calendar,
    OwnDays,
)
from forecaster.data.panel import Panel
from forecaster.data.shapes import DepotTime32, DepotTimeFlags
from forecaster.data.signal_builder import known_signals
from forecaster.errors import NoDataError

ALWAYS, NEVER = np.datetime64("1900-01-01"), np.datetime64("2200-01-01")
"""Dates that stand for a missing announcement, and for a version that nothing replaces."""
NOT_OBSERVED = np.float32(np.nan)
DAY_KEY = ["group", "step", "kind"]
"""Columns that identify a day of a kind in a group of depots."""
DayLike = date | pd.Timestamp | str
"""A day as tables hold it: a date, a timestamp or ISO text."""
GroupKey = tuple[str, str, str]
"""Country, subdivision and city of the depots that share a calendar."""
Scope = tuple[str | None, str | None]
"""City and depot that an event applies to: one of them, or neither if it applies everywhere."""


@dataclass(frozen=True)
class EventCalendarSource:
    """Depots, events and holidays as tidy rows, from which closed days and calendars are built."""

    depots: pd.DataFrame
    events: pd.DataFrame
    holidays: pd.DataFrame

    def build(
        self, origin: date, start_on: date, n_steps: int
    ) -> tuple[DepotTimeFlags, Calendar]:
        """Builds closed days and the calendar from the events known at an origin."""
        events = self.events[self._announced_at(origin)]
        closed_dt = _closed(self.depots, events, start_on, n_steps)
        parts = (self.depots, events, self.holidays)
        return closed_dt, build_calendar(*parts, start_on, n_steps)

    def of_depots(
        self, rows: slice | Int[np.ndarray, " some"]
    ) -> "EventCalendarSource":
        return replace(self, depots=self.depots.iloc[rows])

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

    def _days(self, column: str, missing: np.datetime64) -> np.ndarray:
        if column not in self.events:
            return np.full(len(self.events), missing)
        days = pd.to_datetime(self.events[column]).to_numpy("datetime64[D]")
        return np.where(np.isnat(days), missing, days)


@dataclass(frozen=True)
class DayCounts:
    """Order counts as columns, with one element per depot-day.

    Attributes:
      row_n: Row of the depot in the matrix; -1 where it has none.
      day_n: The day.
      orders_n: Orders; NaN where not observed.
    """

    row_n: Int[np.ndarray, " count"]
    day_n: np.ndarray
    orders_n: Float32[np.ndarray, " count"]

    def __len__(self) -> int:
        return len(self.row_n)

    def from_first_observed(self) -> "DayCounts":
        """Returns the counts from the first observed day on; none if no day is observed."""
        is_observed_n = np.isfinite(self.orders_n)
        if not is_observed_n.any():
            return self.select(is_observed_n)
        return self.select(self.day_n >= self.day_n[is_observed_n].min())

    @property
    def first_on(self) -> date:
        """The first day of the counts."""
        return self.day_n.min().astype(date)

    def select(self, chosen_n: Bool[np.ndarray, " count"]) -> "DayCounts":
        """Returns the chosen counts."""
        if chosen_n.all():
            return self
        return DayCounts(
            self.row_n[chosen_n], self.day_n[chosen_n], self.orders_n[chosen_n]
        )

    def matrix(self, n_depots: int, start_on: date, through: date) -> DepotTime32:
        """Returns the counts as a matrix of depots and days; NaN where there is no count."""
        n_steps = (through - start_on).days + 1
        demand_dt = np.full((n_depots, n_steps), NOT_OBSERVED)
        self.write(demand_dt, start_on)
        return demand_dt

    def write(self, demand_dt: DepotTime32, start_on: date) -> None:
        """Writes the counts into a matrix, in place; every day must lie within it.

        Counts of a depot without a row are left out; cells without a count stay as they are.
        """
        known = self.select(self.row_n >= 0)
        step_n = (known.day_n - np.datetime64(start_on)).astype(np.int32)
        demand_dt[known.row_n, step_n] = known.orders_n


def build_panel(
    depots: pd.DataFrame,
    demand: pd.DataFrame,
    events: pd.DataFrame,
    holidays: pd.DataFrame,
    through: date,
    ahead: int,
    signals: pd.DataFrame | None = None,
) -> Panel:
    """Builds a panel from tidy rows, from the first observed day to `through`.

    Args:
      depots: depot_id, city, country, subdivision, opened_on, closed_on,
        closed_weekdays (ISO weekdays, Monday is 1); sets the order of depots.
      demand: depot_id, service_on, orders (NaN where not observed). A day without a
        row is not observed.
      events: kind, starts_on, ends_on, city, depot_id, value, known_from; known_until
        (optional): first origin at which a newer version replaces this one. Kind `closed`
        marks closed days; events not known at `through` are left out.
      holidays: country, subdivision, day_on, name.
      through: The origin: the last day with actuals in the panel.
      ahead: Number of days after `through` whose calendar is needed.
      signals: Rows for `signal_builder.known_signals`; None if the fleet has none.

    Raises:
      NoDataError: there is no depot, or no demand up to `through`.
    """
    days = pd.to_datetime(demand["service_on"]).to_numpy("datetime64[D]")
    counts = DayCounts(
        pd.Index(depots["depot_id"]).get_indexer(pd.Index(demand["depot_id"])),
        days,
        demand["orders"].to_numpy(np.float32, na_value=np.nan),
    )
    until = counts.select(days <= np.datetime64(through)).from_first_observed()
    if depots.empty or not len(until):
        raise no_demand(through)
    start_on = until.first_on
    demand_dt = until.matrix(len(depots), start_on, through)
    return assemble_panel(depots, demand_dt, events, holidays, start_on, ahead, signals)


def assemble_panel(
    depots: pd.DataFrame,
    demand_dt: DepotTime32,
    events: pd.DataFrame,
    holidays: pd.DataFrame,
    start_on: date,
    ahead: int,
    signals: pd.DataFrame | None = None,
) -> Panel:
    """Builds a panel from a matrix of demand, without changing the matrix.

    The matrix begins on `start_on`, its rows in the order of `depots`; the panel leaves out orders
    of closed days. The other tables are as in `build_panel`.
    """
    n_steps = demand_dt.shape[1]
    through = start_on + timedelta(days=n_steps - 1)
    source = EventCalendarSource(depots, events, holidays)
    closed_dt, calendar = source.build(through, start_on, n_steps + ahead)
    return Panel(
        depot_ids=tuple(depots["depot_id"]),
        cities=tuple(depots["city"]),
        start_on=start_on,
        demand_dt=np.where(closed_dt[:, :n_steps], NOT_OBSERVED, demand_dt),
        closed_dt=closed_dt,
        calendar=calendar,
        source=source if source.changes_after(start_on) else None,
        signals=None
        if signals is None
        else known_signals(depots, signals, start_on, n_steps, ahead),
    )


def no_demand(through: date) -> NoDataError:
    """Returns the error for a panel without demand up to a day."""
    return NoDataError(
        f"There is no demand up to {through}. Load orders with 'harbor ingest'."
    )


def _closed(
    depots: pd.DataFrame, events: pd.DataFrame, start_on: date, n_steps: int
) -> DepotTimeFlags:
    """Marks weekly closing days, closure events, and days before opening or after closing."""
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
    rows_of = _rows_by_scope(depots["city"], depots["depot_id"])
    for event in events[events["kind"] == CLOSED].to_dict("records"):
        first, end = step_range(event["starts_on"], event["ends_on"], start_on, n_steps)
        closed_dt[rows_of.get(_scope(event), []), first:end] = True
    return closed_dt


def _rows_by_scope(
    cities: Iterable[str], depot_ids: Iterable[str]
) -> dict[Scope, list[int]]:
    """Rows that an event of each scope applies to."""
    rows_of: dict[Scope, list[int]] = defaultdict(list)
    for row, (city, depot_id) in enumerate(zip(cities, depot_ids, strict=True)):
        for scope in {(None, None), (city, None), (None, depot_id)}:
            rows_of[scope].append(row)
    return rows_of


def _scope(event: dict[Hashable, Any]) -> Scope:
    """City and depot of an event: one of them, or neither if it applies everywhere."""
    if pd.notna(event["depot_id"]):
        return None, event["depot_id"]
    return (event["city"] if pd.notna(event["city"]) else None), None


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
      events: kind, starts_on, ends_on, city, depot_id, value, known_from; kind `closed`
        is left out. Where two of a kind overlap, a day has the value of the one
        announced first, or the larger of two announced together.
      holidays: country, subdivision ('' or missing: the whole country), day_on, name.
      start_on: Day of step 0.
      n_steps: Number of steps.
    """
    events = _in_order(events[events["kind"] != CLOSED])
    # Holidays on one day have one name in the library: "All Saints' Day; National Unity Day".
    holidays = holidays.assign(name=holidays["name"].str.split("; ")).explode("name")
    holidays = holidays.assign(kind=holidays["name"].map(_kind_of_holiday))
    names = sorted(set(holidays["kind"]))
    # An event may be of the kind `holiday`, or have the name of one.
    kinds = (HOLIDAY, *names, *sorted(set(events["kind"]) - {HOLIDAY, *names}))
    places = depots[["country", "subdivision", "city"]].fillna({"subdivision": ""})
    group_d = places.groupby(list(places), sort=False, dropna=False).ngroup().to_numpy()
    groups = list(places.drop_duplicates().itertuples(index=False, name=None))
    shape = (len(groups), n_steps, len(kinds))
    active_gtk = np.zeros(shape, bool)
    _mark_holidays(active_gtk, kinds, groups, holidays, start_on)
    days = _days_of_events(events, kinds, start_on, n_steps)
    is_own = days["depot_id"].notna()
    shared = _shared_days(days[~is_own], [city for *_, city in groups])
    at_shared = tuple(shared[name].to_numpy() for name in DAY_KEY)
    active_gtk[at_shared] = True
    value_gtk = None
    if events["value"].notna().any():
        value_gtk = np.full(shape, np.nan, np.float32)
        value_gtk[at_shared] = shared["value"]
    own = _own_days(days[is_own], shared, depots["depot_id"], group_d)
    return Calendar(kinds, active_gtk, group_d, value_gtk, own)


def _days_of_events(
    events: pd.DataFrame, kinds: Sequence[str], start_on: date, n_steps: int
) -> pd.DataFrame:
    """One row per event and day within the steps; `order` and `kind` are numbers."""
    ranges = [
        step_range(first, last, start_on, n_steps)
        for first, last in zip(events["starts_on"], events["ends_on"], strict=True)
    ]
    first_e, end_e = np.array(ranges, int).reshape(-1, 2).T
    count_e = np.maximum(end_e - first_e, 0)
    order_n = np.repeat(np.arange(len(events)), count_e)
    # Steps since the event's first step.
    since_n = np.arange(len(order_n)) - np.repeat(count_e.cumsum() - count_e, count_e)
    days = events[["city", "depot_id", "kind", "value"]].iloc[order_n]
    number_of = {kind: number for number, kind in enumerate(kinds)}
    return days.assign(
        order=order_n,
        step=first_e[order_n] + since_n,
        kind=days["kind"].map(number_of).to_numpy(int),
    )


def _shared_days(days: pd.DataFrame, cities: Sequence[str]) -> pd.DataFrame:
    """Event days of each group of depots (given by its city); the first event of a kind wins."""
    groups = pd.DataFrame({"group": range(len(cities)), "city": cities})
    everywhere = days[days["city"].isna()].drop(columns="city").merge(groups, "cross")
    every = pd.concat([everywhere, days.merge(groups, on="city")])
    return every.sort_values("order").drop_duplicates(DAY_KEY)


def _own_days(
    days: pd.DataFrame,
    shared: pd.DataFrame,
    depot_ids: pd.Series,
    group_d: Int[np.ndarray, " depot"],
) -> OwnDays:
    """Event days of single depots, with the value of the first event in order, shared or own."""
    depot_n = pd.Index(depot_ids).get_indexer(pd.Index(days["depot_id"]))
    own = days.assign(depot=depot_n)[depot_n >= 0]
    own = own.assign(group=group_d[own["depot"]])
    own = own.sort_values("order").drop_duplicates(["depot", "step", "kind"])
    both = own.merge(shared, "left", DAY_KEY, suffixes=("", "_shared"))
    is_later = both["order_shared"] < both["order"]
    both["value"] = both["value"].mask(is_later, both["value_shared"])
    both = both.sort_values(["depot", "step", "kind"])
    depot_r, step_r, kind_r = both[["depot", "step", "kind"]].to_numpy(np.int32).T
    return OwnDays(depot_r, step_r, kind_r, both["value"].to_numpy(np.float32))


def _in_order(events: pd.DataFrame) -> pd.DataFrame:
    """Sorts events by announcement day, undated first, then by value, largest first."""
    days = pd.to_datetime(events["known_from"])
    ordered = events.assign(announced=days, value=events["value"].astype(float))
    by_value = ordered.sort_values("value", ascending=False)
    return by_value.sort_values("announced", kind="stable", na_position="first")


def step_range(
    starts_on: DayLike, ends_on: DayLike, start_on: date, n_steps: int
) -> tuple[int, int]:
    """First step and end (exclusive) of a range of days, clipped to the panel."""
    first, end = step_of(starts_on, start_on), step_of(ends_on, start_on) + 1
    return min(max(first, 0), n_steps), min(max(end, 0), n_steps)


def step_of(day: DayLike, start_on: date) -> int:
    """Step of a day."""
    return (pd.Timestamp(day).date() - start_on).days


def _kind_of_holiday(name: str) -> str:
    """Kind of a named holiday, which does not depend on whether its date is still an estimate."""
    name = name.replace(" (estimated)", "").replace(", estimated)", ")")
    return NAMED_HOLIDAY + name


def _mark_holidays(
    active_gtk: Bool[np.ndarray, "calendar time kind"],
    kinds: tuple[str, ...],
    groups: Sequence[GroupKey],
    holidays: pd.DataFrame,
    start_on: date,
) -> None:
    """Marks, in place, the holidays of each calendar's country and subdivision."""
    rows_of = defaultdict(list)
    for row, (country, subdivision, *_) in enumerate(groups):
        for place in {(country, ""), (country, subdivision)}:
            rows_of[place].append(row)
    for holiday in holidays.fillna({"subdivision": ""}).to_dict("records"):
        rows = rows_of.get((holiday["country"], holiday["subdivision"]), [])
        day_on = holiday["day_on"]
        first, end = step_range(day_on, day_on, start_on, active_gtk.shape[1])
        for kind in (HOLIDAY, holiday["kind"]):
            active_gtk[rows, first:end, kinds.index(kind)] = True
