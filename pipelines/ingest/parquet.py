"""Parquet, brought to the same texts as CSV, and its timestamps kept."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet as pq
from pyarrow import types

from forecaster.errors import RefusedFileError
from pipelines.ingest.batches import Batch, Cells, Detail, shown, tidy
from pipelines.ingest.file_schemas import Column
from pipelines.ingest.kind_detection import Plan, recognise
from pipelines.ingest.report import FileOptions
from pipelines.ingest.sources import Source, first_line

ROWS_AT_ONCE = 1 << 18
MOST_UNPACKED = 1_000
"""Times that a file may unpack to; past what is always taken."""
ROWS_ALWAYS_TAKEN = 1_000_000
BYTES_ALWAYS_TAKEN = 64 << 20


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file whose columns are of use."""

    source: Source
    plan: Plan
    bytes_a_row: float
    separator: None = None

    def batches(self) -> Iterator[Batch]:
        """Its rows in order."""
        names = self.plan.names
        first_row = 1
        try:
            with self.source.open_file() as stream:
                file = pq.ParquetFile(stream)
                for rows in file.iter_batches(
                    ROWS_AT_ONCE, columns=list(names.values()), use_threads=True
                ):
                    yield _batch(rows, names, self, first_row)
                    first_row += len(rows)
        except MemoryError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise _broken(self.source, error) from None


def open_parquet(source: Source, options: FileOptions) -> ParquetFile:
    """Looks at the columns of a Parquet file.

    Raises:
      RefusedFileError: it is cut short, lacks a column, or has one of a type that says
        nothing here.
    """
    if source.size == 0:
        raise RefusedFileError(f"{source.name} is empty. Send it again.")
    try:
        with source.open_file() as stream:
            file = pq.ParquetFile(stream)
            schema, rows = file.schema_arrow, file.metadata.num_rows
            _require_honest(source, file.metadata)
    except MemoryError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise _broken(source, error) from None
    plan = recognise(schema.names, options, source.name)
    for name, at in plan.positions.items():
        _require_usable(plan.kind.column(name), schema.field(at), source)
    return ParquetFile(source, plan, source.size / max(rows, 1))


def _require_honest(source: Source, said: pq.FileMetaData) -> None:
    """Refuses a small file that claims to hold very much: reading it would."""
    groups = (said.row_group(at) for at in range(said.num_row_groups))
    size = sum(group.total_byte_size for group in groups)
    most = source.size * MOST_UNPACKED
    if said.num_rows > max(most, ROWS_ALWAYS_TAKEN) or size > max(
        most, BYTES_ALWAYS_TAKEN
    ):
        raise RefusedFileError(
            f"{source.name} has {source.size:,} bytes and claims to hold "
            f"{said.num_rows:,} rows in {size:,} bytes, more than {MOST_UNPACKED:,} times "
            "as much. Look at what wrote it, and write it anew."
        )


def _broken(source: Source, error: Exception) -> RefusedFileError:
    return RefusedFileError(
        f"{source.name} cannot be read as Parquet: {first_line(error)}. It may be cut "
        "short; send it again."
    )


WANTED = {
    "text": "text",
    "number": "a number",
    "day": "a date or ISO 8601 text",
    "moment": "a timestamp or ISO 8601 text",
}


def _require_usable(column: Column, found: pa.Field, source: Source) -> None:
    if not _is_usable(column, found.type):
        raise RefusedFileError(
            f"{source.name} has the column '{found.name}' as {found.type}, which cannot "
            f"be read as {column.name}. Write it as {WANTED[column.holds]}."
        )


def _is_usable(column: Column, kind: pa.DataType) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind):
        return True
    if column.is_dated:
        return bool(types.is_timestamp(kind) or types.is_date(kind))
    if types.is_floating(kind) or types.is_decimal(kind):
        return column.holds == "number"
    return bool(types.is_integer(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    )


def _batch(
    rows: pa.RecordBatch, names: Mapping[str, str], file: ParquetFile, first_row: int
) -> Batch:
    cells = {
        column: _readable(rows.column(name), file.plan.kind.column(column))
        for column, name in names.items()
    }
    return ParquetBatch(cells, file, first_row, int(len(rows) * file.bytes_a_row))


def _readable(cells: pa.Array, column: Column) -> pa.Array:
    if types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if types.is_floating(cells.type):
        cells = pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)
    if types.is_timestamp(cells.type):
        if column.holds == "moment":
            return cells
        cells = cells.cast(pa.timestamp("us"), safe=False)
    if column.holds == "number" and _is_number(cells.type):
        return cells
    return tidy(cells.cast(pa.string()))


@dataclass(frozen=True)
class ParquetBatch:
    """Some rows of a Parquet file."""

    columns: Cells = field(repr=False)
    file: ParquetFile
    first_row: int
    size: int

    def cells(self) -> Cells:
        """Its columns."""
        return self.columns

    def detail(self) -> Detail:
        """Its rows, without those that are empty in every column that is read."""
        arrays = list(self.columns.values())
        filled = pc.is_valid(arrays[0])
        for array in arrays[1:]:
            filled = pc.or_(filled, pc.is_valid(array))
        at = pc.indices_nonzero(filled)
        cells = {name: array.take(at) for name, array in self.columns.items()}
        lines = pc.add(at, self.first_row).to_pylist()
        return Detail(
            cells,
            lines,
            lambda row: {name: _told(array[row]) for name, array in cells.items()},
            blank=len(filled) - len(at),
        )


def _told(cell: Any) -> str | None:
    return None if not cell.is_valid else shown(cell)
