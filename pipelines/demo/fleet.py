"""The invented fleet: depots, events, and the orders counted per depot and day."""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from forecaster.errors import BadInputError
from pipelines.demo.events import Event, invent_events
from pipelines.demo.places import CITIES, City, Depot, invent_depots
from pipelines.demo.shape import draw_counts, expected_orders, open_days

MOST_DEPOTS = 200
MOST_DAYS = 3650
OUTAGE_DAYS = 2
SHORTEST_FLEET_WITH_OUTAGE = 28


@dataclass(frozen=True)
class Outage:
    """Days on which one city's whole feed was silent; `ends_on` is inclusive."""

    city: str
    starts_on: date
    ends_on: date


@dataclass(frozen=True)
class Month:
    """The steps of one calendar month that the fleet has data for; `end` is exclusive."""

    year: int
    month: int
    first: int
    end: int

    def __str__(self) -> str:
        return f"{self.year}-{self.month:02d}"


@dataclass(frozen=True)
class InventedFleet:
    """A fleet that does not exist.

    Attributes:
      seed: Gives the same fleet again.
      starts_on: First day of its data.
      ends_on: Last day of its data.
      depots: In the order of the rows of `counts_dt`.
      events: Known on `ends_on`, some of them ahead of it.
      outage: None in a fleet of less than four weeks.
      reported_dt: Whether a depot was open and its city's feed was up.
      counts_dt: Orders as first sent; 0 where not reported. Corrections move some.
    """

    seed: int
    starts_on: date
    ends_on: date
    depots: tuple[Depot, ...]
    events: tuple[Event, ...]
    outage: Outage | None
    reported_dt: Bool[np.ndarray, "depot time"]
    counts_dt: Int[np.ndarray, "depot time"]

    @property
    def n_days(self) -> int:
        """Days of data."""
        return (self.ends_on - self.starts_on).days + 1

    @property
    def n_orders(self) -> int:
        """Orders, each counted once."""
        return int(self.counts_dt.sum())

    @property
    def cities(self) -> tuple[City, ...]:
        """The cities that have a depot."""
        there = {depot.city.number for depot in self.depots}
        return tuple(city for city in CITIES if city.number in there)

    @cached_property
    def months(self) -> tuple[Month, ...]:
        """Every calendar month, the first and last perhaps in part."""
        days = _days(self.starts_on, self.n_days)
        firsts = [step for step, day in enumerate(days) if day.day == 1 or step == 0]
        ends = [*firsts[1:], len(days)]
        return tuple(
            Month(days[first].year, days[first].month, first, end)
            for first, end in zip(firsts, ends, strict=True)
        )

    def rows_of(self, city: City) -> Int[np.ndarray, " depot"]:
        """The rows of a city's depots."""
        return np.flatnonzero([depot.city == city for depot in self.depots])


def invent(seed: int, n_depots: int, n_days: int, ends_on: date) -> InventedFleet:
    """Invents a fleet; the same arguments give the same one.

    Args:
      seed: At least 0.
      n_depots: From 1 to 200, over three cities; about 152 orders a day each.
      n_days: Days of data, from 1 to 3,650.
      ends_on: Last day of data.

    Raises:
      BadInputError: an argument is out of its range.
    """
    _require("seed", seed, 0, 2**31 - 1)
    _require("depots", n_depots, 1, MOST_DEPOTS)
    _require("days", n_days, 1, MOST_DAYS)
    starts_on = ends_on - timedelta(days=n_days - 1)
    days = _days(starts_on, n_days)
    depots = invent_depots(seed, n_depots, starts_on, n_days)
    events = invent_events(seed, depots, starts_on, ends_on)
    outage = _outage(starts_on, n_days)
    reported_dt = open_days(depots, events, days) & ~_silent(outage, depots, days)
    counts_dt = draw_counts(seed, expected_orders(seed, depots, events, days))
    return InventedFleet(
        seed=seed,
        starts_on=starts_on,
        ends_on=ends_on,
        depots=depots,
        events=events,
        outage=outage,
        reported_dt=reported_dt,
        counts_dt=counts_dt * reported_dt,
    )


def _outage(starts_on: date, n_days: int) -> Outage | None:
    """At seven tenths of the data, so that it is learnt around, not judged on."""
    if n_days < SHORTEST_FLEET_WITH_OUTAGE:
        return None
    first = starts_on + timedelta(days=n_days * 7 // 10)
    return Outage(CITIES[0].name, first, first + timedelta(days=OUTAGE_DAYS - 1))


def _silent(
    outage: Outage | None, depots: tuple[Depot, ...], days: list[date]
) -> Bool[np.ndarray, "depot time"]:
    if outage is None:
        return np.zeros((len(depots), len(days)), bool)
    down_d = np.array([depot.city.name == outage.city for depot in depots])
    down_t = np.array([outage.starts_on <= day <= outage.ends_on for day in days])
    return down_d[:, None] & down_t


def _days(starts_on: date, n_days: int) -> list[date]:
    return [starts_on + timedelta(days=step) for step in range(n_days)]


def _require(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise BadInputError(
            f"{name} is {value}, but must lie between {low} and {high}. "
            "Choose a number in between."
        )
