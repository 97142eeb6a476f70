"""Writes an invented fleet as the files its partners would send, month by month."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from pipelines.demo.events import events_table
from pipelines.demo.fleet import InventedFleet, Month
from pipelines.demo.manifest import MANIFEST, write_manifest
from pipelines.demo.orders import Orders, draw_corrections, draw_orders, with_repeats
from pipelines.demo.places import City

ORDERS_FILE = re.compile(r"orders_[a-z]+_\d{4}-\d\d(_corrected)?\.(csv|parquet)")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
AS_CSV = csv.WriteOptions(quoting_style="none")

Progress = Callable[[int, int], None]
"""Told how many files of orders are done, and of how many."""


def write_files(
    fleet: InventedFleet, folder: Path, progress: Progress = lambda _done, _of: None
) -> list[Path]:
    """Writes orders, depots, events and the manifest.

    Files of orders that another fleet has left in the folder are removed.

    Args:
      fleet: To write.
      folder: Made if it is not there.
      progress: Told after every file.

    Returns:
      The files to ingest, in the order of their names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    for path in folder.iterdir():
        if ORDERS_FILE.fullmatch(path.name):
            path.unlink()
    paths = [_write_depots(fleet, folder), _write_events(fleet, folder)]
    rows, n_files = 0, len(_planned(fleet))
    for done, (name, city, orders) in enumerate(_order_files(fleet), start=1):
        # A partner with nothing to say sends nothing.
        if len(orders):
            paths.append(_write(fleet, city, orders, folder / name))
            rows += len(orders)
        progress(done, n_files)
    paths.sort()
    write_manifest(fleet, folder, rows, paths)
    return paths


def _write_depots(fleet: InventedFleet, folder: Path) -> Path:
    rows = [
        {
            "depot_id": depot.depot_id,
            "name": depot.name,
            "city": depot.city.name,
            "timezone": depot.city.timezone,
            "country": depot.city.country,
            "subdivision": depot.city.subdivision,
            "vans": depot.vans,
            "opened_on": depot.opened_on,
            "closed_on": None,
            "closed_weekdays": ",".join(
                WEEKDAYS[number - 1] for number in depot.closed_weekdays
            ),
        }
        for depot in fleet.depots
    ]
    return _write_table(pd.DataFrame(rows), folder / "depots.csv")


def _write_events(fleet: InventedFleet, folder: Path) -> Path:
    return _write_table(events_table(fleet.events), folder / "events.csv")


def _write_table(table: pd.DataFrame, path: Path) -> Path:
    table.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")
    return path


def _planned(fleet: InventedFleet) -> list[tuple[City, Month, bool]]:
    """City and month of every file of orders, and whether it mends another one."""
    n_months = len(fleet.months)
    # One in each half of the data, so that one mends CSV and one Parquet.
    mended = {n_months // 3, n_months * 5 // 6}
    return [
        (city, month, is_correction)
        for position, month in enumerate(fleet.months)
        for city in fleet.cities
        for is_correction in ((False, True) if position in mended else (False,))
    ]


def _order_files(fleet: InventedFleet) -> Iterator[tuple[str, City, Orders]]:
    """Name and rows of every file, one month of one city in memory at a time."""
    csv_months = fleet.months[: len(fleet.months) // 2]
    for city, month, is_correction in _planned(fleet):
        name = f"orders_{city.name.lower()}_{month}"
        once = draw_orders(fleet, city, month)
        if is_correction:
            # '_' sorts after '.', so it is loaded after the file that it mends.
            corrections = draw_corrections(fleet, city, month, once)
            yield f"{name}_corrected.csv", city, corrections
        else:
            suffix = "csv" if month in csv_months else "parquet"
            yield f"{name}.{suffix}", city, with_repeats(fleet, city, month, once)


def _write(fleet: InventedFleet, city: City, orders: Orders, path: Path) -> Path:
    depot_ids = pa.array([depot.depot_id for depot in fleet.depots], pa.string())
    numbers = pc.utf8_lpad(pa.array(orders.number_n).cast(pa.string()), 8, "0")
    as_csv = path.suffix == ".csv"
    columns = {
        "order_id": pc.binary_join_element_wise(city.code, numbers, ""),
        "depot_id": depot_ids.take(pa.array(orders.depot_n)),
        "ordered_at": _as_text(city, orders) if as_csv else _as_moment(city, orders),
    }
    table = pa.table(columns)
    if as_csv:
        csv.write_csv(table, path, AS_CSV)
    else:
        pq.write_table(table, path)
    return path


def _as_text(city: City, orders: Orders) -> pa.Array:
    """ISO 8601, with the city's offset where its partner writes one."""
    local = orders.ordered_n.tz_localize(None).to_numpy().astype("datetime64[s]")
    text = pc.strftime(pa.array(local), format="%Y-%m-%dT%H:%M:%S")
    if not city.with_offset:
        return text
    utc = orders.ordered_n.tz_convert(None).to_numpy().astype("datetime64[s]")
    hours = (local - utc).astype("timedelta64[h]").astype(int)
    offsets, which = np.unique(hours, return_inverse=True)
    texts = pa.array([f"{hour:+03d}:00" for hour in offsets], pa.string())
    return pc.binary_join_element_wise(text, texts.take(pa.array(which)), "")


def _as_moment(city: City, orders: Orders) -> pa.Array:
    """A timestamp, with the city's zone where its partner writes offsets."""
    moments = (
        orders.ordered_n if city.with_offset else orders.ordered_n.tz_localize(None)
    )
    zone = city.timezone if city.with_offset else None
    return pa.array(moments, type=pa.timestamp("us", tz=zone))
