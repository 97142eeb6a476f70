"""The cities and depots of the invented fleet, and what each depot is like."""

from dataclasses import dataclass
from datetime import date, timedelta
from enum import IntEnum

import numpy as np

VANS_PER_DEPOT = 5
SUNDAY = 7
SIZE_SPREAD = 0.30
SMALLEST, LARGEST = 0.5, 2.0


class Stream(IntEnum):
    """What random numbers are drawn for; each has its own, so none shifts another's."""

    DEPOTS = 1
    EVENTS = 2
    LEVELS = 3
    COUNTS = 4
    ORDERS = 5
    CORRECTIONS = 6


def random_numbers(seed: int, stream: Stream, *part: int) -> np.random.Generator:
    """The random numbers of one purpose, and of one part of it."""
    return np.random.default_rng([seed, stream, *part])


@dataclass(frozen=True)
class City:
    """A city with depots.

    Attributes:
      number: Its place in `CITIES`.
      code: Begins the ids of its depots and orders.
      pay_day: Day of the month on which most people are paid; 0 is the last.
      with_offset: Whether its partner writes `ordered_at` with an offset.
    """

    number: int
    name: str
    code: str
    timezone: str
    country: str
    subdivision: str
    pay_day: int
    with_offset: bool
    districts: tuple[str, ...]


CITIES = (
    City(
        0, "Rotterdam", "RTM", "Europe/Amsterdam", "NL", "", 25, False,
        ("Waalhaven", "Kralingen", "Delfshaven", "Overschie", "Feijenoord",
         "Hillegersberg", "Charlois", "Alexander", "Hoogvliet", "IJsselmonde"),
    ),
    City(
        1, "London", "LON", "Europe/London", "GB", "ENG", 0, True,
        ("Rotherhithe", "Greenwich", "Wapping", "Deptford", "Poplar", "Bermondsey",
         "Woolwich", "Barking"),
    ),
    City(
        2, "Helsinki", "HEL", "Europe/Helsinki", "FI", "18", 15, False,
        ("Jätkäsaari", "Kallio", "Vuosaari", "Herttoniemi", "Pasila", "Munkkiniemi"),
    ),
)  # fmt: skip
TURNS = (0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 0)
"""Which city the next depot is in: ten, eight and six of twenty-four."""


@dataclass(frozen=True)
class Depot:
    """A depot, and what it is like.

    Attributes:
      city: Where it is.
      opened_on: None: before the first day of the fleet's data.
      closed_weekdays: ISO weekdays, Monday is 1.
      size: Its orders per day against the average depot's.
      residential: From 0, all its customers are businesses, to 1, all are homes.
      growth: Of its orders per year, as a share.
      eagerness: How much it makes of promotions, against the average.
    """

    depot_id: str
    name: str
    city: City
    vans: int
    opened_on: date | None
    closed_weekdays: tuple[int, ...]
    size: float
    residential: float
    growth: float
    eagerness: float


def invent_depots(
    seed: int, n_depots: int, starts_on: date, n_days: int
) -> tuple[Depot, ...]:
    """Depots of all cities; the second is closed on Sundays, the fourth opens half way.

    Args:
      seed: Of their sizes and ways.
      n_depots: How many.
      starts_on: First day of the fleet's data.
      n_days: Days of data.
    """
    rng = random_numbers(seed, Stream.DEPOTS)
    size_d = np.exp(rng.normal(0, SIZE_SPREAD, n_depots)).clip(SMALLEST, LARGEST)
    residential_d = rng.beta(1.5, 1.5, n_depots)
    growth_d = rng.uniform(0.02, 0.16, n_depots)
    eagerness_d = rng.normal(1, 0.12, n_depots).clip(0.6, 1.4)
    vans_d = share_out(VANS_PER_DEPOT * n_depots, size_d)
    half_way = starts_on + timedelta(days=n_days // 2)
    seen = [0] * len(CITIES)
    depots = []
    for number in range(n_depots):
        city = CITIES[TURNS[number % len(TURNS)]]
        seen[city.number] += 1
        depot = Depot(
            depot_id=f"{city.code}-{seen[city.number]:02d}",
            name=_name(city, seen[city.number] - 1),
            city=city,
            vans=int(vans_d[number]),
            opened_on=half_way if number == 3 else None,
            closed_weekdays=(SUNDAY,) if number == 1 else (),
            size=float(size_d[number]),
            residential=float(residential_d[number]),
            growth=float(growth_d[number]),
            eagerness=float(eagerness_d[number]),
        )
        depots.append(depot)
    return tuple(depots)


def share_out(total: int, weight_d: np.ndarray) -> np.ndarray:
    """Whole shares of a total by weight, one each at least, by largest remainder."""
    free = total - len(weight_d)
    exact_d = free * weight_d / weight_d.sum()
    share_d = np.floor(exact_d).astype(int)
    most_cut = np.argsort(share_d - exact_d, kind="stable")
    share_d[most_cut[: free - share_d.sum()]] += 1
    return share_d + 1


def _name(city: City, number: int) -> str:
    turn, district = divmod(number, len(city.districts))
    name = f"{city.name} {city.districts[district]}"
    return f"{name} {turn + 1}" if turn else name
