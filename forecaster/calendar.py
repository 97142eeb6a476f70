"""What is known about days in advance, beyond their date: holidays and events.

Depots with the same holidays and events share one row, so that ten thousand depots in
three cities cost three calendars.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

HOLIDAY = "holiday"
# Kind of one named holiday, beside the plain kind that all of them have.
NAMED_HOLIDAY = "holiday: "
CLOSED = "closed"


@dataclass(frozen=True)
class Calendar:
    """Which kinds of day each group of depots has when.

    Attributes:
      kinds: Names of the last axis: `holiday`, `holiday: NAME`, and kinds of events.
      active_gtk: Whether a day is of a kind.
      group_d: The row of each depot.
    """

    kinds: tuple[str, ...]
    active_gtk: Bool[np.ndarray, "calendar time kind"]
    group_d: Int[np.ndarray, " depot"]

    def steps(self, first: int, end: int) -> "Calendar":
        """The calendar of some of the steps."""
        return replace(self, active_gtk=self.active_gtk[:, first:end])

    def of_depots(self, rows: slice) -> "Calendar":
        """The calendar of some of the depots."""
        groups, group_d = np.unique(self.group_d[rows], return_inverse=True)
        return replace(self, active_gtk=self.active_gtk[groups], group_d=group_d)

    def of_kind(self, kind: str) -> Bool[np.ndarray, "calendar time"]:
        """Whether each day is of that kind; a kind never seen is on no day."""
        if kind not in self.kinds:
            return np.zeros(self.active_gtk.shape[:2], bool)
        return self.active_gtk[:, :, self.kinds.index(kind)]


def build_calendar(
    depots: pd.DataFrame,
    events: pd.DataFrame,
    holidays: pd.DataFrame,
    start_on: date,
    n_steps: int,
) -> Calendar:
    """Lays holidays and events out on the line of days.

    Args:
      depots: depot_id, city, country, subdivision.
      events: kind, starts_on, ends_on, city, depot_id; kind `closed` is left out.
      holidays: country, subdivision ('' or missing: the whole country), day_on, name.
      start_on: Day of step 0.
      n_steps: Steps to lay out.
    """
    events = events[events["kind"] != CLOSED]
    names = [NAMED_HOLIDAY + name for name in sorted(set(holidays["name"]))]
    kinds = (HOLIDAY, *names, *sorted(set(events["kind"])))
    keys = _group_keys(depots, events)
    groups = list(dict.fromkeys(keys))
    active_gtk = np.zeros((len(groups), n_steps, len(kinds)), bool)
    holidays_of = dict(list(holidays.groupby("country"))) if len(holidays) else {}
    for row, (country, subdivision, city, depot_id) in enumerate(groups):
        own_holidays = holidays_of.get(country)
        if own_holidays is not None:
            _mark_holidays(active_gtk[row], kinds, own_holidays, subdivision, start_on)
        for event in _events_of(events, city, depot_id).to_dict("records"):
            first, end = span(event["starts_on"], event["ends_on"], start_on, n_steps)
            active_gtk[row, first:end, kinds.index(event["kind"])] = True
    position = {key: row for row, key in enumerate(groups)}
    return Calendar(kinds, active_gtk, np.array([position[key] for key in keys], int))


def span(starts_on: Any, ends_on: Any, start_on: date, n_steps: int) -> tuple[int, int]:
    """First step and end (exclusive) of a stretch of days, cut to the line of days."""
    first, end = step_of(starts_on, start_on), step_of(ends_on, start_on) + 1
    return min(max(first, 0), n_steps), min(max(end, 0), n_steps)


def step_of(day: Any, start_on: date) -> int:
    """Days from step 0 to a day, which may be a date, a timestamp, or ISO text."""
    return (pd.Timestamp(day).date() - start_on).days


def _group_keys(depots: pd.DataFrame, events: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Country, subdivision, city, and the depot where it has events of its own."""
    own = set(events["depot_id"].dropna())
    return [
        (
            depot["country"],
            depot["subdivision"] if pd.notna(depot["subdivision"]) else "",
            depot["city"],
            depot["depot_id"] if depot["depot_id"] in own else None,
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
    here = holidays[holidays["subdivision"].fillna("").isin(["", subdivision])]
    for holiday in here.to_dict("records"):
        day_on = holiday["day_on"]
        first, end = span(day_on, day_on, start_on, len(active_tk))
        active_tk[first:end, 0] = True
        named = NAMED_HOLIDAY + holiday["name"]
        active_tk[first:end, kinds.index(named)] = True
