"""Promotions, Black Friday and closures: what is known before it moves demand."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import pandas as pd

from pipelines.demo.calendar import BLACK_FRIDAY, black_friday
from pipelines.demo.places import CITIES, City, Depot, Stream, random_numbers

DISCOUNTS = (0.10, 0.15, 0.20)
ANNOUNCED_DAYS = 21
AHEAD_DAYS = 14
"""How far the partner's list of events looks beyond the last day of orders."""
SHORTEST_FLEET_WITH_CLOSURES = 28
CLOSING_SHARE = 0.3
COLUMNS = ("kind", "starts_on", "ends_on", "depot_id", "city", "value", "known_from")


@dataclass(frozen=True)
class Event:
    """One row of events.csv; at most one of city and depot_id."""

    kind: str
    starts_on: date
    ends_on: date
    depot_id: str | None = None
    city: str | None = None
    value: float | None = None
    known_from: date | None = None


def invent_events(
    seed: int, depots: Sequence[Depot], starts_on: date, ends_on: date
) -> tuple[Event, ...]:
    """Every event of the fleet that is known on its last day, by first day.

    Args:
      seed: Of their days and sizes.
      depots: Of the fleet.
      starts_on: First day of the fleet's data.
      ends_on: Last day of the fleet's data.
    """
    events = [
        *(event for city in CITIES for event in _promotions(seed, city, ends_on)),
        *_black_fridays(starts_on, ends_on),
        *_closures(seed, depots, starts_on, ends_on),
    ]
    there = {depot.city.name for depot in depots}
    known = [
        event
        for event in events
        if event.ends_on >= starts_on and (event.city is None or event.city in there)
        if event.known_from is None or event.known_from <= ends_on
    ]
    return tuple(sorted(known, key=_order))


def events_table(events: Sequence[Event]) -> pd.DataFrame:
    """The events as the contract has them."""
    rows = [[getattr(event, column) for column in COLUMNS] for event in events]
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)


def _promotions(seed: int, city: City, ends_on: date) -> list[Event]:
    """One every month or so, counted back from one that lies ahead of the data."""
    rng = random_numbers(seed, Stream.EVENTS, city.number)
    first = ends_on + timedelta(days=2 + 3 * city.number)
    promotions = []
    for _ in range(200):
        discount, days = rng.choice(DISCOUNTS), int(rng.integers(3, 7))
        event = Event(
            kind="promotion",
            starts_on=first,
            ends_on=first + timedelta(days=days - 1),
            city=city.name,
            value=float(discount),
            known_from=first - timedelta(days=ANNOUNCED_DAYS),
        )
        promotions.append(event)
        first -= timedelta(days=int(rng.integers(28, 50)))
    return promotions


def _black_fridays(starts_on: date, ends_on: date) -> list[Event]:
    fridays = [black_friday(year) for year in range(starts_on.year, ends_on.year + 1)]
    return [
        Event(
            kind="black_friday",
            starts_on=friday,
            ends_on=friday + timedelta(days=len(BLACK_FRIDAY) - 1),
            known_from=friday - timedelta(days=180),
        )
        for friday in fridays
        if friday <= ends_on + timedelta(days=AHEAD_DAYS)
    ]


def _closures(
    seed: int, depots: Sequence[Depot], starts_on: date, ends_on: date
) -> list[Event]:
    """The first depot and some others for a few days, and one depot ahead."""
    n_days = (ends_on - starts_on).days + 1
    ahead = ends_on + timedelta(days=5)
    closures = [_closure(depots[len(depots) // 2], ahead, 1)]
    if n_days < SHORTEST_FLEET_WITH_CLOSURES:
        return closures
    rng = random_numbers(seed, Stream.EVENTS, len(CITIES))
    for number, depot in enumerate(depots):
        days = 2 if number == 0 else int(rng.integers(1, 4))
        closes = number == 0 or rng.random() < CLOSING_SHARE
        first = starts_on + timedelta(days=int(rng.integers(7, n_days - 7)))
        if closes and (depot.opened_on is None or first > depot.opened_on):
            closures.append(_closure(depot, first, days))
    return closures


def _closure(depot: Depot, first: date, days: int) -> Event:
    return Event(
        kind="closed",
        starts_on=first,
        ends_on=first + timedelta(days=days - 1),
        depot_id=depot.depot_id,
        known_from=first - timedelta(days=ANNOUNCED_DAYS),
    )


def _order(event: Event) -> tuple[date, str, str, str]:
    return event.starts_on, event.kind, event.city or "", event.depot_id or ""


def days_of(event: Event, days: Sequence[date]) -> np.ndarray:
    """Whether each day belongs to an event."""
    return np.array([event.starts_on <= day <= event.ends_on for day in days])
