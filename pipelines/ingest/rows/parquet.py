"""Reads Parquet files into the same text cells as CSV; timestamps and numbers stay typed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet as pq
from pyarrow import types

from forecaster.errors import RefusedFileError
from pipelines.ingest.rows.batches import Cells, RowwiseBatch, cell_text, trim
from pipelines.ingest.rows.file_schemas import Column
from pipelines.ingest.rows.kind_detection import FileMapping, detect_mapping
from pipelines.ingest.rows.options import FileOptions
from pipelines.ingest.sources.files import Source, first_line

BATCH_ROWS = 1 << 18
"""Rows per batch: some 10 MB of orders."""


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file whose columns have been validated."""

    source: Source
    mapping: FileMapping
    # By name, the column as the file spells it, spaces included.
    columns: dict[str, str]
    bytes_per_row: float
    separator: None = None

    def batches(self) -> Iterator["ParquetBatch"]:
        """Yields its rows in order."""
        names, column = self.columns, self.mapping.schema.column
        first_row = 1
        with _opened(self.source) as file:
            for rows in file.iter_batches(BATCH_ROWS, columns=list(names.values())):
                cells = {
                    name: _normalise(rows.column(in_file), column(name))
                    for name, in_file in names.items()
                }
                size = int(len(rows) * self.bytes_per_row)
                yield ParquetBatch(cells, self.mapping.names, first_row, size)
                first_row += len(rows)


def open_parquet(source: Source, options: FileOptions) -> ParquetFile:
    """Reads the schema of a Parquet file.

    Raises:
      RefusedFileError: it is truncated, lacks a column, or has one of an unusable type.
    """
    if source.size == 0:
        raise RefusedFileError(f"{source.name} is empty. Send it again.")
    with _opened(source) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
    mapping = detect_mapping(schema.names, options, source.name)
    for name, at in mapping.positions.items():
        _require_usable(mapping.schema.column(name), schema.field(at), source)
    columns = {name: schema.names[at] for name, at in mapping.positions.items()}
    return ParquetFile(source, mapping, columns, source.size / max(n_rows, 1))


@contextmanager
def _opened(source: Source) -> Iterator[pq.ParquetFile]:
    """Opens a Parquet file; refuses it if it cannot be read."""
    try:
        with source.open_file() as stream:
            yield pq.ParquetFile(stream)
    except MemoryError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise RefusedFileError(
            f"{source.name} cannot be read as Parquet: {first_line(error)}. It may be cut "
            "short; send it again."
        ) from None


TYPE_ADVICE = {
    "text": "text",
    "number": "a number",
    "day": "a date or ISO 8601 text",
    "timestamp": "a timestamp or ISO 8601 text",
}


def _require_usable(column: Column, schema_field: pa.Field, source: Source) -> None:
    if not _is_usable(column, schema_field.type):
        raise RefusedFileError(
            f"{source.name} has the column '{schema_field.name}' as {schema_field.type}, which cannot "
            f"be read as {column.name}. Write it as {TYPE_ADVICE[column.value_type]}."
        )
    if not _has_known_zone(schema_field.type):
        raise RefusedFileError(
            f"{source.name} has the column '{schema_field.name}' in the time zone "
            f"'{schema_field.type.tz}', which is not known. Write it in an IANA time zone, in UTC "
            "or without any."
        )


def _has_known_zone(kind: pa.DataType) -> bool:
    if not types.is_timestamp(kind) or kind.tz is None:
        return True
    try:
        pc.local_timestamp(pa.array([0], pa.int64()).cast(kind))
    except pa.ArrowInvalid:
        return False
    return True


def _is_usable(column: Column, kind: pa.DataType) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind):
        return True
    if column.is_dated:
        return bool(types.is_timestamp(kind) or types.is_date(kind))
    if column.value_type == "number":
        return _is_number(kind)
    return bool(types.is_integer(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    )


def _normalise(cells: pa.Array, column: Column) -> pa.Array:
    if types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if types.is_floating(cells.type):
        cells = pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)
    if types.is_timestamp(cells.type):
        if column.value_type == "timestamp":
            return cells
        if cells.type.tz is not None:  # The local day, not the UTC day.
            cells = pc.local_timestamp(cells)
        cells = cells.cast(pa.timestamp("us"), safe=False)
        if column.is_dated:
            return cells
    if types.is_date(cells.type) and column.is_dated:
        return cells.cast(pa.timestamp("us"), safe=False)
    if column.value_type == "number" and _is_number(cells.type):
        return cells
    return trim(cells.cast(pa.string()))


@dataclass(frozen=True)
class ParquetBatch:
    """A batch of rows of a Parquet file."""

    columns: Cells
    names: dict[str, str]
    first_row: int
    size: int

    def cells(self) -> Cells:
        return self.columns

    def parse_rows(self) -> RowwiseBatch:
        """Returns its rows except those that are empty in all columns read."""
        filled = reduce(pc.or_, map(pc.is_valid, self.columns.values()))
        at = pc.indices_nonzero(filled)
        cells = {name: array.take(at) for name, array in self.columns.items()}
        lines = pc.add(at, self.first_row).to_pylist()
        return RowwiseBatch(
            cells,
            lines,
            lambda row: {
                self.names[name]: cell_text(cells[name][row]) for name in cells
            },
            n_blank=len(filled) - len(at),
        )
