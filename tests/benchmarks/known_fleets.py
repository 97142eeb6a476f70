"""Invented fleets whose truth is known: each shows one thing that real fleets do.

Orders are drawn from a negative binomial around a mean that is the product of a level, a
weekday profile, a season, the days of the calendar and shocks. The same seed gives the
same fleet.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np
import pandas as pd

from forecaster.data.panel import Panel
from pipelines.demand.public_holidays import holidays_of
from tests.benchmarks.real_fleets import EVENT_COLUMNS, no_events, panel_of_rows

FIRST, DAYS, DEPOTS = date(2021, 8, 2), 1248, 50
COUNTRIES = {"Delft": "NL", "Essen": "DE", "Turku": "FI", "Reno": "US"}
CALM = (1.0, 1.02, 1.0, 1.03, 1.1, 0.8, 0.7)
SHOPS = (0.85, 0.85, 0.9, 1.0, 1.3, 1.5, 0.0)
RIDES = (1.2, 1.3, 1.3, 1.25, 1.1, 0.5, 0.45)
OFFICES = (1.2, 1.15, 1.1, 1.1, 1.0, 0.35, 0.25)
BOOKED_WIDTH = 0.25
"""Standard deviation of log demand from day to day, of which only bookings tell."""
BOOKED_SHARES = {7: 0.1, 3: 0.15, 1: 0.2}
"""Share of a day's orders that are booked again, by days ahead."""


@dataclass
class Fleet:
    """Means of a fleet in the making, [depot, day].

    Attributes:
      rng: Source of all chance.
      cities: City of each depot.
      mean_dt: Mean orders per day so far.
      events: Rows of `EVENT_COLUMNS`.
      dispersion: Variance over the square of the mean, besides Poisson's.
      opened_d: First step of each depot.
      closed_weekdays: ISO weekdays on which all depots are closed.
      signals: As `build_panel` takes them; None: the fleet has none.
    """

    rng: np.random.Generator
    cities: list[str]
    mean_dt: np.ndarray
    events: list[tuple[object, ...]] = field(default_factory=list)
    dispersion: float = 0.01
    opened_d: np.ndarray = field(default_factory=lambda: np.zeros(DEPOTS, int))
    closed_weekdays: tuple[int, ...] = ()
    signals: pd.DataFrame | None = None

    @property
    def depot_ids(self) -> list[str]:
        """Names of the depots."""
        return [f"D{row:02d}" for row in range(DEPOTS)]

    def panel(self) -> Panel:
        """Draws the orders and builds the panel."""
        shape = 1 / self.dispersion
        rate_dt = self.mean_dt * self.rng.gamma(shape, 1 / shape, self.mean_dt.shape)
        orders_dt = self.rng.poisson(rate_dt)
        days = pd.date_range(FIRST, periods=DAYS)
        open_dt = np.arange(DAYS) >= self.opened_d[:, None]
        row, step = np.nonzero(open_dt)
        demand = pd.DataFrame(
            {
                "depot_id": np.array(self.depot_ids)[row],
                "service_on": days[step],
                "orders": orders_dt[row, step],
            }
        )
        depots = pd.DataFrame({"depot_id": self.depot_ids, "city": self.cities})
        depots["country"] = depots["city"].map(COUNTRIES)
        depots["closed_weekdays"] = [self.closed_weekdays] * DEPOTS
        events = pd.DataFrame(self.events, columns=EVENT_COLUMNS)
        events = events if self.events else no_events()
        return panel_of_rows(depots, demand, events, self.signals)


def known_fleets() -> dict[str, Panel]:
    """Builds every invented fleet, by name."""
    return {name: make(number) for number, (name, make) in enumerate(FLEETS.items())}


def chain(seed: int) -> Panel:
    """Shops closed on Sundays, with promotions of known depth and school breaks."""
    fleet = _fleet(seed, (80, 600), SHOPS, season=0.08)
    fleet.closed_weekdays = (7,)
    _holiday_effects(fleet, major=0.0, minor=0.7)
    for row in range(DEPOTS):
        step = int(fleet.rng.integers(5, 40))
        while step < DAYS - 12:
            depth = float(fleet.rng.choice([0.1, 0.2, 0.3, 0.4]))
            fleet.mean_dt[row, step : step + 6] *= 1 + 2.0 * depth
            _announce(fleet, "promotion", step, 6, depot=row, value=depth)
            step += int(fleet.rng.integers(25, 70))
    for city in COUNTRIES:
        here_d = np.array(fleet.cities) == city
        for step in range(40, DAYS - 30, 90):
            begin = step + int(fleet.rng.integers(0, 20))
            fleet.mean_dt[here_d, begin : begin + 14] *= 0.85
            _announce(fleet, "school break", begin, 14, city=city)
    return fleet.panel()


def growth(seed: int) -> Panel:
    """Grows by half each spring and stops; every third depot shifts its level once."""
    fleet = _fleet(seed, (40, 400), CALM, season=0.0)
    year_t = _day_of_year()
    grown_t = np.cumsum(np.where((year_t > 60) & (year_t < 170), 0.4 / 110, 0.0))
    fleet.mean_dt *= np.exp(grown_t)
    for row in range(0, DEPOTS, 3):
        fleet.mean_dt[row, int(fleet.rng.integers(60, DAYS)) :] *= fleet.rng.choice(
            [0.75, 1.3]
        )
    _holiday_effects(fleet, major=0.4, minor=0.9)
    return fleet.panel()


def newcomers(seed: int) -> Panel:
    """Most depots open one after another, and take six weeks to find their level."""
    fleet = _fleet(seed, (30, 250), OFFICES, season=0.1)
    fleet.opened_d = np.sort(fleet.rng.integers(0, DAYS - 20, DEPOTS))
    fleet.opened_d[:12] = 0
    since_dt = np.arange(DAYS) - fleet.opened_d[:, None]
    fleet.mean_dt *= np.clip(0.4 + 0.6 * since_dt / 42, 0.4, 1.0)
    _holiday_effects(fleet, major=0.2, minor=0.6)
    return fleet.panel()


def tiny(seed: int) -> Panel:
    """A handful of orders a day, and stillness on major holidays."""
    fleet = _fleet(seed, (0.7, 9), RIDES, season=0.3)
    fleet.dispersion = 0.15
    _holiday_effects(fleet, major=0.25, minor=0.5)
    return fleet.panel()


def bookings(seed: int) -> Panel:
    """Orders booked ahead, which tell of the day, and a weather forecast, which does not."""
    fleet = _fleet(seed, (60, 500), OFFICES, season=0.05)
    fleet.mean_dt *= np.exp(fleet.rng.normal(0, BOOKED_WIDTH, fleet.mean_dt.shape))
    _holiday_effects(fleet, major=0.3, minor=0.7)
    booked, parts = np.zeros_like(fleet.mean_dt), []
    for days_ahead, share in BOOKED_SHARES.items():
        booked = booked + fleet.rng.poisson(share * fleet.mean_dt)
        parts.append(_signal("booked", "depot_id", fleet.depot_ids, booked, days_ahead))
    wind_ct = fleet.rng.gamma(2, 3, (len(COUNTRIES), DAYS))
    parts.append(_signal("wind", "city", list(COUNTRIES), wind_ct, 5))
    fleet.signals = pd.concat(parts, ignore_index=True)
    return fleet.panel()


FLEETS: dict[str, Callable[[int], Panel]] = {
    "chain": chain,
    "growth": growth,
    "newcomers": newcomers,
    "tiny": tiny,
    "bookings": bookings,
}


def _fleet(
    seed: int, levels: tuple[float, float], week: tuple[float, ...], season: float
) -> Fleet:
    """Levels drawn on a log scale; each depot's week and season differ a little."""
    rng = np.random.default_rng(seed)
    cities = [list(COUNTRIES)[row % len(COUNTRIES)] for row in range(DEPOTS)]
    level_d = np.exp(rng.uniform(*np.log(levels), DEPOTS))
    week_dw = np.array(week) * np.exp(rng.normal(0, 0.12, (DEPOTS, 7)))
    weekday_t = (FIRST.weekday() + np.arange(DAYS)) % 7
    turn_t = 2 * np.pi * (_day_of_year() - 200) / 365.25
    height_d = season * rng.uniform(0.6, 1.4, DEPOTS)
    walk_dt = np.cumsum(rng.normal(0, 0.006, (DEPOTS, DAYS)), axis=1)
    mean_dt = level_d[:, None] * week_dw[:, weekday_t]
    mean_dt *= np.exp(height_d[:, None] * np.cos(turn_t) + walk_dt)
    return Fleet(rng, cities, mean_dt)


def _holiday_effects(fleet: Fleet, major: float, minor: float) -> None:
    """Factors of the days that each country stands still, and of its other holidays."""
    for city, country in COUNTRIES.items():
        here_d = np.array(fleet.cities) == city
        names = holidays_of(country, "", range(2021, 2027))
        for step in range(DAYS):
            day = FIRST + timedelta(days=step)
            name = names.get(day, "")
            factor = major if _stands_still(day, name) else minor if name else 1.0
            fleet.mean_dt[here_d, step] *= factor


def _stands_still(day: date, name: str) -> bool:
    is_named = any(each in name for each in ("Christmas", "New Year", "Thanksgiving"))
    return is_named or (day.month, day.day) in {(12, 24), (12, 31)}


def _announce(
    fleet: Fleet,
    kind: str,
    step: int,
    days: int,
    city: str | None = None,
    depot: int | None = None,
    value: float = np.nan,
) -> None:
    """Adds an event, known two weeks ahead."""
    starts_on = FIRST + timedelta(days=step)
    depot_id = None if depot is None else fleet.depot_ids[depot]
    fleet.events.append(
        (
            kind,
            starts_on,
            starts_on + timedelta(days=days - 1),
            city,
            depot_id,
            value,
            starts_on - timedelta(days=14),
        )
    )


def _signal(
    name: str, place: str, places: list[str], value_pt: np.ndarray, days_ahead: int
) -> pd.DataFrame:
    """Rows of a signal's values by place and day, known so many days ahead."""
    days = np.tile(pd.date_range(FIRST, periods=DAYS), len(places))
    rows = pd.DataFrame(
        {
            "signal": name,
            "depot_id": None,
            "city": None,
            "day_on": days,
            "value": value_pt.ravel(),
            "known_from": days - np.timedelta64(days_ahead, "D"),
        }
    )
    return rows.assign(**{place: np.repeat(places, DAYS)})


def _day_of_year() -> np.ndarray:
    return pd.date_range(FIRST, periods=DAYS).day_of_year.to_numpy()
