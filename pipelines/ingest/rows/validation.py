"""Validates the batches of a file against its schema: typed rows, and rejected rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from forecaster.errors import RefusedFileError
from pipelines.ingest.rows.batches import Cells, RejectedRow, RowwiseBatch, cell_text
from pipelines.ingest.rows.conventions import Conventions, detect_conventions
from pipelines.ingest.rows.file_schemas import FileSchema
from pipelines.ingest.rows.kind_detection import FileMapping
from pipelines.ingest.rows.options import FileOptions
from pipelines.ingest.rows.parquet import open_parquet
from pipelines.ingest.rows.parsing import ParseOptions, Places
from pipelines.ingest.rows.text import open_text
from pipelines.ingest.sources.files import Source
from pipelines.store.table_csv import as_csv


class Batch(Protocol):
    """Rows of a file, as columns (None if a row does not fit the header) or parsed one by one."""

    @property
    def size(self) -> int: ...
    def cells(self) -> Cells | None: ...
    def parse_rows(self) -> RowwiseBatch: ...


class TableFile(Protocol):
    """A file whose header has been read; `separator` is None if it is not CSV."""

    @property
    def mapping(self) -> FileMapping: ...
    @property
    def separator(self) -> str | None: ...
    def batches(self) -> Iterator[Batch]: ...


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a file after validation.

    Args:
      rows: Accepted rows as CSV, columns in the order of `FileMapping.stored`.
      depot_ids: Depots of the accepted rows.
      n_blank: Number of rows whose cells are all empty.
      size: Approximate size of the chunk in the file, in bytes.
    """

    rows: bytes | memoryview
    n_rows: int
    depot_ids: Sequence[str]
    rejected: Sequence[RejectedRow]
    n_blank: int
    size: int


@dataclass(frozen=True)
class ParsedFile:
    """A file whose header has been read; its rows are parsed lazily in this process."""

    name: str
    options: FileOptions
    file: TableFile
    today: date

    @classmethod
    def open(cls, source: Source, options: FileOptions, today: date) -> "ParsedFile":
        """Parses the header.

        Raises:
          RefusedFileError: the file cannot be read, or its kind or columns are not found.
        """
        opener = open_text if source.is_text else open_parquet
        return cls(source.name, options, opener(source, options), today)

    @property
    def mapping(self) -> FileMapping:
        """Schema of the file, and the positions of its columns."""
        return self.file.mapping

    def parse(
        self, places: Places | None = None
    ) -> tuple[Conventions, Iterator[Chunk]]:
        """Returns the conventions, and a lazy iterator of validated chunks.

        Raises:
          RefusedFileError: the conventions cannot be determined, or (raised by the iterator)
            rows cannot be read.
        """
        conventions = detect_conventions(
            self._cells, self.mapping, self.options, self.name, self.file.separator
        )
        parse_options = conventions.parse_options(self.options, self.today, places)
        return conventions, (
            self._chunk(batch, parse_options) for batch in self.file.batches()
        )

    def _cells(self) -> Iterator[Cells]:
        for batch in self.file.batches():
            yield batch.cells() or batch.parse_rows().cells

    def _chunk(self, batch: Batch, parse_options: ParseOptions) -> Chunk:
        """Validates a batch; parses it row by row only if a row is rejected or does not fit."""
        cells = batch.cells()
        if cells is not None:
            validated = validate_batch(self.mapping.schema, cells, parse_options)
            if not validated.rejections:
                return _to_chunk(validated.rows, batch.size)
        rowwise = batch.parse_rows()
        validated = validate_batch(self.mapping.schema, rowwise.cells, parse_options)
        rejected = rejected_rows(validated, rowwise)
        if rowwise.truncated_line in {row.line for row in rejected}:
            raise RefusedFileError(
                f"{self.name} ends in the middle of line {rowwise.truncated_line}, so it "
                "is not whole. Send it again."
            )
        return _to_chunk(validated.good_rows(), batch.size, rejected, rowwise.n_blank)


def _to_chunk(
    rows: pa.Table, size: int, rejected: Sequence[RejectedRow] = (), n_blank: int = 0
) -> Chunk:
    depots = pc.unique(rows["depot_id"]) if "depot_id" in rows.column_names else []
    depot_ids = [str(depot) for depot in depots if depot.is_valid]
    return Chunk(as_csv(rows), len(rows), depot_ids, list(rejected), n_blank, size)


class ColumnRejections(NamedTuple):
    """A column that rejects rows, and the reason for each row (null if it accepts the row)."""

    column: str
    reasons: pa.Array


@dataclass(frozen=True)
class ValidatedBatch:
    """A batch after validation: all rows, rejected ones included, and the rejections.

    There is one entry per column or rule that rejects a row: columns in schema order, then rules.
    """

    rows: pa.Table
    rejections: list[ColumnRejections]

    def good_rows(self) -> pa.Table:
        """Returns the rows that no column rejects."""
        good = pa.repeat(True, len(self.rows))
        for rejection in self.rejections:
            good = pc.and_(good, pc.is_null(rejection.reasons))
        return self.rows.filter(good)


def validate_batch(
    schema: FileSchema, cells: Cells, parse_options: ParseOptions
) -> ValidatedBatch:
    """Parses every column, then applies the rules between columns."""
    stored: dict[str, pa.Array] = {}
    rejections: list[ColumnRejections] = []
    for column in schema.columns:
        if column.name not in cells:
            continue
        texts = cells[column.name]
        parsed = column.parse(texts, parse_options)
        values, reasons = parsed.values, parsed.reasons
        if texts.null_count and not column.is_nullable:
            reasons = pc.if_else(pc.is_null(texts), "is empty", reasons)
        if column.default is not None:
            values = tuple(pc.fill_null(value, column.default) for value in values)
        if reasons.null_count < len(reasons):
            rejections.append(ColumnRejections(column.name, reasons))
        stored |= zip(column.table_columns, values, strict=True)
    rejections += _rule_rejections(schema, stored)
    for name, constant in (schema.constants or {}).items():
        stored[name] = pa.repeat(constant, len(next(iter(stored.values()))))
    return ValidatedBatch(pa.table(stored), rejections)


def _rule_rejections(
    schema: FileSchema, stored: dict[str, pa.Array]
) -> Iterator[ColumnRejections]:
    """Rejects rows that break a rule, or in which all columns of `schema.one_of` are empty."""
    broken = [
        (rule.column, rule.is_broken(*map(stored.get, rule.requires)), rule.reason)
        for rule in schema.rules
        if stored.keys() >= set(rule.requires)
    ]
    if present := [name for name in schema.one_of if name in stored]:
        empty = reduce(pc.and_, (pc.is_null(stored[name]) for name in present))
        reason = f"is empty; give {' or '.join(schema.one_of)}"
        broken.append((present[0], empty, reason))
    for column, mask, reason in broken:
        if pc.any(mask).as_py():
            reasons = pc.if_else(pc.fill_null(mask, False), reason, None)
            yield ColumnRejections(column, reasons)


def rejected_rows(
    validated: ValidatedBatch, rowwise: RowwiseBatch
) -> list[RejectedRow]:
    """Returns every rejected row once, with the first column that rejects it."""
    rejected: dict[int, RejectedRow] = {}
    for rejection in validated.rejections:
        cells = rowwise.cells[rejection.column]
        for index in pc.indices_nonzero(pc.is_valid(rejection.reasons)).to_pylist():
            if index not in rejected:
                rejected[index] = RejectedRow(
                    line=rowwise.lines[index],
                    column_name=rejection.column,
                    value=cell_text(cells[index]) or "",
                    reason=rejection.reasons[index].as_py(),
                    raw=rowwise.raw(index),
                )
    return [*rowwise.rejected, *rejected.values()]
