"""The orders of one city and month, one row each, and the rows that mend some of them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from pipelines.demo.fleet import InventedFleet, Month
from pipelines.demo.places import City, Stream, random_numbers

# Orders per hour from midnight, as shares of an arbitrary whole.
BUSINESS_DAY = (
    0.2, 0.1, 0.1, 0.1, 0.2, 0.4, 1.5, 4.0, 8.0, 10.5, 11.0, 9.5,
    7.5, 9.0, 9.5, 9.0, 7.5, 4.5, 2.5, 1.8, 1.2, 0.9, 0.6, 0.4,
)  # fmt: skip
HOME_DAY = (
    0.8, 0.5, 0.4, 0.3, 0.3, 0.4, 0.9, 1.8, 2.8, 3.6, 4.4, 5.2,
    6.0, 5.4, 4.8, 5.0, 5.8, 7.4, 9.2, 10.4, 9.6, 7.4, 4.4, 2.2,
)  # fmt: skip
REPEATED_SHARE = 0.002
CORRECTED_SHARE = 0.004


@dataclass(frozen=True)
class Orders:
    """Rows of one file, in the order they are written.

    Attributes:
      number_n: Of each order within its city, from 1.
      depot_n: Row of its depot in the fleet.
      ordered_n: When, on the clock of its city, which knows the offset too.
    """

    number_n: Int[np.ndarray, " row"]
    depot_n: Int[np.ndarray, " row"]
    ordered_n: pd.DatetimeIndex

    def __len__(self) -> int:
        return len(self.number_n)

    def take(self, index: Int[np.ndarray, " some"]) -> "Orders":
        """Some of the rows, any of them more than once."""
        return Orders(self.number_n[index], self.depot_n[index], self.ordered_n[index])


def first_number(fleet: InventedFleet, city: City, month: Month) -> int:
    """Of a month's first order: numbers run on from the city's months before."""
    return int(fleet.counts_dt[fleet.rows_of(city), : month.first].sum()) + 1


def draw_orders(fleet: InventedFleet, city: City, month: Month) -> Orders:
    """The month's orders as they happened, each once."""
    rng = random_numbers(fleet.seed, Stream.ORDERS, city.number, month.first)
    depots = fleet.rows_of(city)
    counts = fleet.counts_dt[depots, month.first : month.end]
    depot_n = np.repeat(depots, counts.sum(axis=1))
    step_n = np.repeat(
        np.broadcast_to(np.arange(month.first, month.end), counts.shape).ravel(),
        counts.ravel(),
    )
    residential_d = np.array([depot.residential for depot in fleet.depots])
    second_n = _seconds_of_day(rng, residential_d[depot_n])
    local = _midnights(fleet, step_n) + second_n.astype("timedelta64[s]")
    ordered = on_the_clock_of(city, local, late=rng.random(len(local)) < 0.5)
    by_time = np.argsort(ordered.asi8, kind="stable")
    number_n = first_number(fleet, city, month) + np.arange(len(local))
    return Orders(number_n, depot_n[by_time], ordered[by_time])


def with_repeats(
    fleet: InventedFleet, city: City, month: Month, once: Orders
) -> Orders:
    """The rows with a few of them sent twice."""
    rng = random_numbers(fleet.seed, Stream.ORDERS, city.number, month.first, 1)
    again = np.flatnonzero(rng.random(len(once)) < REPEATED_SHARE)
    return once.take(np.sort(np.concatenate([np.arange(len(once)), again])))


def draw_corrections(
    fleet: InventedFleet, city: City, month: Month, once: Orders
) -> Orders:
    """A few of the orders anew: half at another depot, half a day later.

    Only where that depot was open and its feed up on that day.
    """
    rng = random_numbers(fleet.seed, Stream.CORRECTIONS, city.number, month.first)
    # By daylight, so that a day later is the same time whatever the clocks did.
    by_day_n = (once.ordered_n.hour >= 8) & (once.ordered_n.hour < 20)
    chosen = np.flatnonzero(by_day_n & (rng.random(len(once)) < CORRECTED_SHARE))
    moved = once.take(chosen)
    later_n = rng.random(len(chosen)) < 0.5
    other_n = rng.choice(fleet.rows_of(city), len(chosen))
    depot_n = np.where(later_n, moved.depot_n, other_n)
    local = moved.ordered_n.tz_localize(None).to_numpy()
    local = local + later_n.astype("timedelta64[D]")
    changed_n = later_n | (other_n != moved.depot_n)
    kept = np.flatnonzero(changed_n & _reported(fleet, depot_n, local))
    ordered = on_the_clock_of(city, local, late=np.zeros(len(local), bool))
    return Orders(moved.number_n, depot_n, ordered).take(kept)


def on_the_clock_of(
    city: City, local: np.ndarray, late: Bool[np.ndarray, " row"]
) -> pd.DatetimeIndex:
    """Wall-clock times as moments.

    An hour that the clocks skip becomes the one after it; one that comes twice is the
    second time around where `late`.
    """
    return pd.DatetimeIndex(local).tz_localize(
        city.timezone, ambiguous=~late, nonexistent=pd.Timedelta(hours=1)
    )


def _seconds_of_day(
    rng: np.random.Generator, residential_n: np.ndarray
) -> Int[np.ndarray, " row"]:
    """Homes order in the evening, businesses in the morning."""
    share_ph = np.cumsum(np.array([BUSINESS_DAY, HOME_DAY]), axis=1)
    share_ph /= share_ph[:, -1:]
    at_home_n = rng.random(len(residential_n)) < residential_n
    draw_n = rng.random(len(residential_n))
    hour_n = np.where(
        at_home_n,
        np.searchsorted(share_ph[1], draw_n, side="right"),
        np.searchsorted(share_ph[0], draw_n, side="right"),
    )
    return hour_n * 3600 + rng.integers(0, 3600, len(hour_n))


def _midnights(fleet: InventedFleet, step_n: np.ndarray) -> np.ndarray:
    return np.datetime64(fleet.starts_on, "s") + step_n.astype("timedelta64[D]")


def _reported(
    fleet: InventedFleet, depot_n: np.ndarray, local: np.ndarray
) -> Bool[np.ndarray, " row"]:
    start = np.datetime64(fleet.starts_on, "D")
    step_n = (local.astype("datetime64[D]") - start).astype(int)
    inside_n = step_n < fleet.n_days
    return inside_n & fleet.reported_dt[depot_n, np.where(inside_n, step_n, 0)]
