"""Writes the invented fleet as the files its partners would send, by month or by day."""

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jaxtyping import Float, Int
from pyarrow import csv

from pipelines.demo.depots import CITIES, DEPOT_COLUMNS, City
from pipelines.demo.fleet import Fleet

# Relative numbers of orders by hour from midnight.
BUSINESS_DAY = np.array((
    0.2, 0.1, 0.1, 0.1, 0.2, 0.4, 1.5, 4.0, 8.0, 10.5, 11.0, 9.5,
    7.5, 9.0, 9.5, 9.0, 7.5, 4.5, 2.5, 1.8, 1.2, 0.9, 0.6, 0.4,
))  # fmt: skip
HOME_DAY = np.array((
    0.8, 0.5, 0.4, 0.3, 0.3, 0.4, 0.9, 1.8, 2.8, 3.6, 4.4, 5.2,
    6.0, 5.4, 4.8, 5.0, 5.8, 7.4, 9.2, 10.4, 9.6, 7.4, 4.4, 2.2,
))  # fmt: skip
REPEATED_SHARE = 0.002
FIRST_OF_DAY = 90_000_000
"""Order number of the running day's first order."""
CORRECTED_SHARE = 0.004
# City and day, counted back from the last day, of the file that arrives a night late, and of the
# file that has WRONG_SHARE of its orders at the wrong depots, which a second file corrects.
LATE_FEED = ("London", 4)
WRONG_FILE, WRONG_SHARE = ("Rotterdam", 7), 0.08

Progress = Callable[[int, int], None]
"""Called with the number of order files written so far, and their total."""


def write_files(
    fleet: Fleet,
    folder: Path,
    progress: Progress = lambda _done, _of: None,
    n_nights: int = 0,
) -> None:
    """Writes depots, events, and the orders of each city and month.

    Older months are CSV, later ones Parquet. For one month in each format, a second file, sorted
    after the first, has corrections. A file without orders is not written. The folder appears when all
    of its files are written. Monthly files omit the newest `n_nights` days: `nights/` has a
    folder for each of them, named by its date, with the files that arrive in the night after.
    """
    staging = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    depots = fleet.depots[list(DEPOT_COLUMNS)]
    depots.to_csv(staging / "depots.csv", index=False)
    fleet.events.to_csv(staging / "events.csv", index=False)
    months = fleet.days.to_period("M").unique()
    corrected = {len(months) // 3, len(months) * 5 // 6}
    cities = fleet.depots["city_index"].unique()
    for index in cities:
        city, n_before = CITIES[index], 0
        for position, month in enumerate(months):
            rng = np.random.default_rng([fleet.seed, index, position])
            orders = _draw_orders(rng, fleet, index, month)
            orders["number"] = np.arange(len(orders)) + n_before + 1
            n_before += len(orders)
            _write_nights(fleet, city, orders, n_nights, staging / "nights")
            orders = orders[orders["step"] < len(fleet.days) - n_nights]
            name = f"orders_{city.name.lower()}_{month}"
            suffix = "csv" if position < len(months) // 2 else "parquet"
            _write(
                fleet, city, _with_repeats(rng, orders), staging / f"{name}.{suffix}"
            )
            if position in corrected:
                moved = _corrections(rng, fleet, orders)
                _write(fleet, city, moved, staging / f"{name}_corrected.csv")
            progress(index * len(months) + position + 1, len(cities) * len(months))
    staging.rename(folder)


def _write_nights(
    fleet: Fleet, city: City, orders: pd.DataFrame, n_nights: int, folder: Path
) -> None:
    """Writes one file for each of a city's newest days; one arrives late, and one is wrong."""
    last_step = len(fleet.days) - 1
    for step in range(last_step + 1 - n_nights, last_step + 1):
        own = orders[orders["step"] == step]
        is_late = (city.name, last_step - step) == LATE_FEED
        night = folder / f"{fleet.days[step + is_late]:%Y-%m-%d}"
        night.mkdir(parents=True, exist_ok=True)
        name = f"orders_{city.name.lower()}_{fleet.days[step]:%Y-%m-%d}"
        _write(fleet, city, own, night / f"{name}.parquet")
        if (city.name, last_step - step) == WRONG_FILE:
            rng = np.random.default_rng([fleet.seed, step])
            moved = _corrections(rng, fleet, own, WRONG_SHARE)
            later = folder / f"{fleet.days[step + 1]:%Y-%m-%d}"
            later.mkdir(parents=True, exist_ok=True)
            _write(fleet, city, moved, later / f"{name}_corrected.csv")


def write_day(
    fleet: Fleet, city: City, city_index: int, folder: Path, until: datetime
) -> Path | None:
    """Writes the orders of a one-day fleet up to `until`; returns None if there are none.

    Order numbers start at `FIRST_OF_DAY`, above those of the monthly files.
    """
    rng = np.random.default_rng([fleet.seed, city_index, FIRST_OF_DAY])
    orders = _draw_orders(rng, fleet, city_index, fleet.days[0].to_period("M"))
    orders["number"] = np.arange(len(orders)) + FIRST_OF_DAY
    orders = orders[orders["ordered_at"] <= until]
    name = f"orders_{city.name.lower()}_{fleet.days[0]:%Y-%m-%d}_{until:%H%M}"
    path = folder / f"{name}.parquet"
    _write(fleet, city, orders, path)
    return path if len(orders) else None


def _draw_orders(
    rng: np.random.Generator, fleet: Fleet, city_index: int, month: pd.Period
) -> pd.DataFrame:
    """Draws a city's orders for a month, sorted by time: depot (row), step (day) and ordered_at."""
    depots = np.flatnonzero(fleet.depots["city_index"] == city_index)
    steps = np.flatnonzero(fleet.days.to_period("M") == month)
    counts = fleet.counts_dt[np.ix_(depots, steps)]
    depot_n = np.repeat(depots, counts.sum(axis=1))
    step_n = np.repeat(np.tile(steps, len(depots)), counts.ravel())
    second_n = _seconds_of_day(rng, fleet.depots["residential"].to_numpy()[depot_n])
    local = fleet.days[step_n] + pd.to_timedelta(second_n, "s")
    # A time in a skipped hour moves to the next hour; one in a repeated hour is put in either.
    ordered_at = local.tz_localize(
        CITIES[city_index].timezone,
        ambiguous=rng.random(len(local)) < 0.5,
        nonexistent=pd.Timedelta(hours=1),
    )
    orders = pd.DataFrame({"depot": depot_n, "step": step_n, "ordered_at": ordered_at})
    return orders.sort_values("ordered_at", kind="stable", ignore_index=True)


def _seconds_of_day(
    rng: np.random.Generator, residential_n: Float[np.ndarray, " row"]
) -> Int[np.ndarray, " row"]:
    """Draws seconds of the day: homes order in the evening, businesses in the morning."""
    hour_n = np.where(
        rng.random(len(residential_n)) < residential_n,
        rng.choice(24, len(residential_n), p=HOME_DAY / HOME_DAY.sum()),
        rng.choice(24, len(residential_n), p=BUSINESS_DAY / BUSINESS_DAY.sum()),
    )
    return 3600 * hour_n + rng.integers(0, 3600, len(hour_n))


def _with_repeats(rng: np.random.Generator, orders: pd.DataFrame) -> pd.DataFrame:
    """Returns the orders, with a few of them repeated."""
    again = rng.random(len(orders)) < REPEATED_SHARE
    return orders.loc[np.repeat(orders.index, 1 + again)]


def _corrections(
    rng: np.random.Generator,
    fleet: Fleet,
    orders: pd.DataFrame,
    share: float = CORRECTED_SHARE,
) -> pd.DataFrame:
    """Returns a few of the orders, moved to another depot of the city that was open that day."""
    moved = orders[rng.random(len(orders)) < share]
    depot_n = rng.choice(orders["depot"].unique(), len(moved))
    is_open_n = fleet.reported_dt[depot_n, moved["step"]]
    return moved.assign(depot=depot_n)[is_open_n & (depot_n != moved["depot"])]


def _write(fleet: Fleet, city: City, orders: pd.DataFrame, path: Path) -> None:
    if orders.empty:
        return
    numbers = pc.utf8_lpad(pa.array(orders["number"]).cast(pa.string()), 8, "0")
    timestamps = pa.array(orders["ordered_at"]).cast(pa.timestamp("s", city.timezone))
    if path.suffix == ".csv":
        offset = "%Ez" if city.writes_offset else ""
        ordered_at = pc.strftime(timestamps, format=f"%Y-%m-%dT%H:%M:%S{offset}")
    else:
        ordered_at = (
            timestamps if city.writes_offset else pc.local_timestamp(timestamps)
        )
    columns = {
        "order_id": pc.binary_join_element_wise(city.code, numbers, ""),
        "depot_id": pa.array(fleet.depots["depot_id"]).take(pa.array(orders["depot"])),
        "ordered_at": ordered_at,
    }
    if path.suffix == ".csv":
        csv.write_csv(pa.table(columns), path, csv.WriteOptions(quoting_style="none"))
    else:
        pq.write_table(pa.table(columns), path)
