"""Parquet files of a table's rows, one a month; each is replaced whole or not at all."""

import os
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import sqlalchemy as sa

from forecaster.errors import BadInputError

ARROW_TYPES: dict[type[sa.types.TypeEngine[Any]], pa.DataType] = {
    sa.Text: pa.string(),
    sa.Date: pa.date32(),
    sa.Double: pa.float64(),
    sa.Boolean: pa.bool_(),
    sa.BigInteger: pa.int64(),
    sa.DateTime: pa.timestamp("us", tz="UTC"),
}
TakeRows = Callable[[date], list[tuple[Any, ...]]]
"""Takes the rows of one origin out of the table."""


def path_of(folder: Path, table: sa.Table, month: date) -> Path:
    """Path of a month's file: TABLE/YYYY-MM.parquet."""
    return folder / table.name / f"{month:%Y-%m}.parquet"


def stage(
    path: Path, table: sa.Table, origins: Iterable[date], take: TakeRows
) -> tuple[Path, int]:
    """Writes what a file holds and the rows that are taken, origin by origin, beside it.

    Of rows with the same primary key, the one that is taken replaces the one of the file.

    Args:
      path: The month's file, which may exist.
      table: Its table, with the column `origin_on`.
      origins: Origins with rows to take.
      take: Called once for each of them.

    Returns:
      The new file, on the disk, which is to replace the other one; and the rows taken.

    Raises:
      BadInputError: the file that exists is no such file.
    """
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    staged, n_rows = path.with_name(f".{path.name}.tmp"), 0
    schema, taken = _schema(table), set(origins)
    staged.unlink(missing_ok=True)
    # Forecasts tell of demand: the file is for its owner alone.
    created = os.open(staged, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(created, "wb") as file:
        with pq.ParquetWriter(file, schema) as writer:
            for origin in sorted(taken | _origins_in(path)):
                rows = take(origin) if origin in taken else []
                n_rows += len(rows)
                new = _arrow(rows, schema)
                writer.write_table(_merged(_read(path, schema, origin), new, table))
        file.flush()
        os.fsync(file.fileno())
    return staged, n_rows


def publish(staged: Path, path: Path) -> None:
    """Replaces a month's file by the staged one, for good once this returns."""
    staged.replace(path)
    # The entries of the file and of both folders, which may be new.
    for parent in path.parents[:3]:
        folder = os.open(parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _schema(table: sa.Table) -> pa.Schema:
    return pa.schema(
        [(each.name, ARROW_TYPES[type(each.type)]) for each in table.columns]
    )


def _arrow(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [
        pa.array(column, field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.table(arrays, schema=schema)


def _origins_in(path: Path) -> set[date]:
    if not path.exists():
        return set()
    try:
        return set(
            pq.read_table(path, columns=["origin_on"])["origin_on"].unique().to_pylist()
        )
    except (pa.ArrowException, OSError) as error:
        raise BadInputError(
            f"{path} cannot be read, so nothing was added to it and nothing deleted: "
            f"{error}. Move it away, or put back a copy of it."
        ) from error


def _read(path: Path, schema: pa.Schema, origin: date) -> pa.Table:
    if not path.exists():
        return schema.empty_table()
    rows = pq.read_table(path, schema=schema, filters=[("origin_on", "==", origin)])
    return _with_point(rows) if "point" in schema.names else rows


def _with_point(rows: pa.Table) -> pa.Table:
    """Fills the point with the median, which it was before migration 0005 added its column."""
    position = rows.column_names.index("point")
    point = pc.coalesce(rows["point"], rows["p50"])
    return rows.set_column(position, rows.schema.field(position), point)


def _merged(old: pa.Table, new: pa.Table, table: sa.Table) -> pa.Table:
    """Both tables by primary key; where both have a row, the new one."""
    keys = [column.name for column in table.primary_key]
    if old.num_rows:
        kept = old.join(new.select(keys), keys, join_type="left anti")
        new = pa.concat_tables([kept.select(new.column_names), new])
    return new.sort_by([(key, "ascending") for key in keys])
