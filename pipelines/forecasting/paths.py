"""Paths of a stored forecast as a Parquet file: equally likely outcomes for all depots and days."""

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from forecaster.inference import paths
from forecaster.inference.totals import QuantileForecasts, Total
from pipelines.database.engine import snapshot
from pipelines.forecasting.forecast import load_recorded
from pipelines.schema import depots
from pipelines.store import models
from pipelines.store.forecasts import read_forecasts, read_totals
from pipelines.whole_file import whole_file

SCHEMA = pa.schema(
    {
        "path": pa.int32(),
        "depot_id": pa.dictionary(pa.int32(), pa.string()),
        "origin_on": pa.date32(),
        "target_on": pa.date32(),
        "orders": pa.float32(),
    }
)


def write_paths(
    engine: sa.Engine,
    artefacts: Path,
    folder: Path,
    origin: date,
    version: str,
    n_paths: int,
) -> Path:
    """Draws paths of a stored forecast and writes them, whole or not at all.

    An existing file, `ORIGIN-VERSION.parquet`, is replaced.

    Returns:
      Location of the file. Its columns: path (from 1), depot_id, origin_on, target_on, orders
      (by the model, without planners' numbers).

    Raises:
      ArtefactError: the model's artefact is missing, invalid or pruned.
    """
    with snapshot(engine) as connection:
        rows = read_forecasts(connection, origin, version)
        totals = read_totals(connection, origin, version)
        model = models.model(connection, version)
        places = connection.execute(sa.select(depots.c.depot_id, depots.c.city))
        city_of = {place.depot_id: place.city for place in places}
    assert model is not None, "a stored forecast names a recorded model"
    depot_ids = list(dict.fromkeys(row["depot_id"] for row in rows))
    days = sorted({row["target_on"] for row in rows})
    quantiles = QuantileForecasts(
        *(
            np.array([row[name] for row in rows]).reshape(len(depot_ids), len(days))
            for name in ("p10", "p50", "p90")
        )
    )
    drawn_sdh = paths.sample(
        load_recorded(artefacts, model).paths,
        quantiles,
        _bands(totals, len(days)),
        [city_of[depot] for depot in depot_ids],
        n_paths,
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{origin}-{version}.parquet"
    with whole_file(path) as unfinished, pq.ParquetWriter(unfinished, SCHEMA) as writer:
        for number, orders_dh in enumerate(drawn_sdh, start=1):
            writer.write_table(_table(number, orders_dh, depot_ids, origin, days))
    return path


def _bands(totals: list[dict[str, object]], horizon: int) -> list[Total]:
    """Bands of the totals, from rows that are sorted by city and day."""
    names = list(dict.fromkeys(str(row["city"]) for row in totals))
    parts = (
        np.array([row[name] for row in totals], float).reshape(len(names), horizon)
        for name in ("p10", "point", "p90")
    )
    return [Total(*each) for each in zip(names, *parts, strict=True)]


def _table(
    number: int,
    orders_dh: np.ndarray,
    depot_ids: list[str],
    origin: date,
    days: list[date],
) -> pa.Table:
    n_rows = orders_dh.size
    depot_r = np.repeat(np.arange(len(depot_ids), dtype=np.int32), len(days))
    columns = (
        np.full(n_rows, number, np.int32),
        pa.DictionaryArray.from_arrays(depot_r, depot_ids),
        pa.array([origin] * n_rows, pa.date32()),
        pa.array(days * len(depot_ids), pa.date32()),
        orders_dh.ravel().astype(np.float32),
    )
    return pa.table(list(columns), schema=SCHEMA)
