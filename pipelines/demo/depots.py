"""Cities, depots and events of the invented fleet, as the tables its partners would send."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd

VANS_PER_DEPOT = 5
DISCOUNTS = (0.10, 0.15, 0.20)
ANNOUNCED_DAYS = 21
CLOSING_SHARE = 0.3
BLACK_FRIDAY_DAYS = 4
DEPOT_COLUMNS = (
    "depot_id", "name", "city", "timezone", "country", "subdivision", "vans",
    "opened_on", "closed_on", "closed_weekdays",
)  # fmt: skip
EVENT_COLUMNS = (
    "kind", "starts_on", "ends_on", "depot_id", "city", "value", "known_from",
)  # fmt: skip


@dataclass(frozen=True)
class LocalEvent:
    """An event that changes a depot's orders and is in no file; only its planner knows of it.

    It falls `days_ago` days before the last day of data, or after it if negative. `lift` is the actual
    change and `planned_lift` the planner's estimate, as a share of orders: -0.25 is a quarter less.
    """

    days_ago: int
    depot_id: str
    lift: float
    planned_lift: float
    reason: str
    planner: str


LOCAL_EVENTS = (
    LocalEvent(6, "LON-02", 0.40, 0.35, "Street festival at the door", "Ann"),
    LocalEvent(
        4, "HEL-01", -0.30, -0.25, "Bridge closed, orders go to Kallio", "Mikko"
    ),
    LocalEvent(1, "RTM-03", 0.25, 0.30, "Trade fair next door", "Ann"),
    LocalEvent(-2, "LON-04", 0.20, 0.20, "Stadium concert", "Priya"),
    LocalEvent(-3, "RTM-01", -0.15, -0.15, "Harbour road works until noon", "Ann"),
)


@dataclass(frozen=True)
class City:
    """A city with depots.

    Attributes:
      code: Prefix of the ids of its depots and orders.
      pay_day: Day of the month on which most people are paid; 31 is the month's last day.
      writes_offset: Whether its partner writes `ordered_at` with an offset.
      districts: Names of its depots.
    """

    name: str
    code: str
    timezone: str
    country: str
    subdivision: str
    pay_day: int
    writes_offset: bool
    districts: tuple[str, ...]


CITIES = (
    City(
        "Rotterdam", "RTM", "Europe/Amsterdam", "NL", "", 25, False,
        ("Waalhaven", "Kralingen", "Delfshaven", "Overschie", "Feijenoord",
         "Hillegersberg", "Charlois", "Alexander", "Hoogvliet", "IJsselmonde"),
    ),
    City(
        "London", "LON", "Europe/London", "GB", "ENG", 31, True,
        ("Rotherhithe", "Greenwich", "Wapping", "Deptford", "Poplar", "Bermondsey",
         "Woolwich", "Barking"),
    ),
    City(
        "Helsinki", "HEL", "Europe/Helsinki", "FI", "18", 15, False,
        ("Jätkäsaari", "Kallio", "Vuosaari", "Herttoniemi", "Pasila", "Munkkiniemi"),
    ),
)  # fmt: skip
TURNS = (0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 0)
"""City index of each depot in turn, repeated; of 24 depots, the cities have 10, 8 and 6."""


def invent_depots(
    rng: np.random.Generator, n_depots: int, days: pd.DatetimeIndex
) -> pd.DataFrame:
    """Invents depots; the second is closed on Sundays, the fourth opens halfway through `days`.

    Returns:
      The columns of depots.csv, city_index, size (1 is the median), residential (share of
      customers that are homes; the others are businesses) and growth (share a year).
    """
    city_d = np.resize(TURNS, n_depots)
    cities = [CITIES[index] for index in city_d]
    numbered = list(
        zip(cities, pd.Series(city_d).groupby(city_d).cumcount(), strict=True)
    )
    size_d = rng.lognormal(0, 0.30, n_depots).clip(0.5, 2.0)
    vans_d = VANS_PER_DEPOT * n_depots * size_d / size_d.sum()
    opened_on = np.full(n_depots, None, object)
    opened_on[3:4] = days[len(days) // 2].date()
    return pd.DataFrame(
        {
            "depot_id": [f"{city.code}-{number + 1:02d}" for city, number in numbered],
            "name": [_name(city, number) for city, number in numbered],
            "city": [city.name for city in cities],
            "timezone": [city.timezone for city in cities],
            "country": [city.country for city in cities],
            "subdivision": [city.subdivision for city in cities],
            # Rounded so that the sum is exact.
            "vans": np.diff(np.rint(vans_d.cumsum()), prepend=0).astype(int),
            "opened_on": opened_on,
            "closed_on": None,
            "closed_weekdays": np.where(np.arange(n_depots) == 1, "sun", ""),
            "city_index": city_d,
            "size": size_d,
            "residential": rng.beta(1.5, 1.5, n_depots),
            "growth": rng.uniform(0.02, 0.16, n_depots),
        }
    )


def _name(city: City, number: int) -> str:
    turn, district = divmod(number, len(city.districts))
    name = city.districts[district]
    return f"{name} {turn + 1}" if turn else name


def invent_events(
    rng: np.random.Generator, depots: pd.DataFrame, days: pd.DatetimeIndex
) -> pd.DataFrame:
    """Invents announced promotions, Black Fridays and closures, some after the last day."""
    first_on, last_on = days[0].date(), days[-1].date()
    ahead = depots["depot_id"].iat[len(depots) // 2]
    events = [_event("closed", last_on + timedelta(days=5), 1, depot_id=ahead)]
    for number, depot_id in enumerate(depots["depot_id"]):
        if number == 0 or rng.random() < CLOSING_SHARE:
            starts_on = first_on + timedelta(days=int(rng.integers(7, len(days) - 7)))
            n_days = int(rng.integers(1, 4))
            events.append(_event("closed", starts_on, n_days, depot_id=depot_id))
    for index in depots["city_index"].unique():
        # Backwards from a promotion after the last day of data.
        starts_on = last_on + timedelta(days=int(2 + 3 * index))
        while starts_on >= first_on:
            scope = {"city": CITIES[index].name, "value": rng.choice(DISCOUNTS)}
            n_days = int(rng.integers(3, 7))
            events.append(_event("promotion", starts_on, n_days, **scope))
            starts_on -= timedelta(days=int(rng.integers(28, 50)))
    for year in range(first_on.year, last_on.year + 1):
        friday = black_friday(year)
        if first_on <= friday <= last_on + timedelta(days=14):
            events.append(_event("black_friday_weekend", friday, BLACK_FRIDAY_DAYS))
    table = pd.DataFrame(events, columns=list(EVENT_COLUMNS))
    return table.sort_values(["starts_on", "kind", "city"], ignore_index=True)


def _event(kind: str, starts_on: date, n_days: int, **scope: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "starts_on": starts_on,
        "ends_on": starts_on + timedelta(days=n_days - 1),
        "known_from": starts_on - timedelta(days=ANNOUNCED_DAYS),
        **scope,
    }


def black_friday(year: int) -> date:
    """Returns the day after the fourth Thursday of November."""
    thursday = np.busday_offset(f"{year}-11", 3, roll="forward", weekmask="Thu")
    friday: date = (thursday + 1).astype(date)
    return friday
