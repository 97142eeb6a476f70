"""Validates the batches of a file against its schema: typed rows, and rejected rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from forecaster.errors import RefusedFileError
from pipelines.ingest.batches import Cells, Detail, RejectedRow, cell_text
from pipelines.ingest.conventions import Conventions, detect_conventions
from pipelines.ingest.file_schemas import Kind
from pipelines.ingest.kind_detection import Plan
from pipelines.ingest.options import FileOptions
from pipelines.ingest.parquet import ParquetBatch, ParquetFile, open_parquet
from pipelines.ingest.parsing import Rules, regions_without_calendar
from pipelines.ingest.sources import Source
from pipelines.ingest.text import TextBatch, TextFile, open_text


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a file after validation.

    Args:
      rows: Accepted rows as CSV, columns in the order of `Plan.stored`.
      n_rows: Number of accepted rows.
      depot_ids: Depots of the accepted rows.
      rejected: Rejected rows.
      blank: Number of rows without anything in any cell.
      size: Approximate bytes of the file that the chunk comes from.
      regions_without_calendar: Of the depots in the accepted rows, such as BE-VLG.
    """

    rows: bytes | memoryview
    n_rows: int
    depot_ids: Sequence[str]
    rejected: Sequence[RejectedRow]
    blank: int
    size: int
    regions_without_calendar: Sequence[str] = ()


@dataclass(frozen=True)
class ParsedFile:
    """A file whose header has been parsed, and that this process goes on to parse."""

    source: Source
    options: FileOptions
    file: TextFile | ParquetFile
    today: date

    @classmethod
    def open(cls, source: Source, options: FileOptions, today: date) -> "ParsedFile":
        """Parses the header.

        Raises:
          RefusedFileError: the file cannot be understood.
        """
        opener = open_text if source.is_text else open_parquet
        return cls(source, options, opener(source, options), today)

    @property
    def plan(self) -> Plan:
        """Kind and column positions."""
        return self.file.plan

    def parse(self) -> tuple[Conventions, Iterator[Chunk]]:
        """Returns how the file writes dates and numbers, and its rows as they are read.

        Raises:
          RefusedFileError: the conventions cannot be determined, or (while the rows are
            read) the bytes are not what they claim to be.
        """
        name, separator = self.source.name, self.file.separator
        conventions = detect_conventions(
            self._cells, self.plan, self.options, name, separator
        )
        rules = conventions.rules(self.options, self.today)
        return conventions, (self._chunk(batch, rules) for batch in self.file.batches())

    def _cells(self) -> Iterator[Cells]:
        for batch in self.file.batches():
            yield batch.cells() or batch.detail().cells

    def _chunk(self, batch: TextBatch | ParquetBatch, rules: Rules) -> Chunk:
        """Validates a batch; goes through its rows one by one only if one is rejected."""
        cells = batch.cells()
        if cells is not None:
            checked = check(self.plan.kind, cells, rules)
            if not checked.verdicts:
                return _to_chunk(checked.rows, batch.size)
        detail = batch.detail()
        checked = check(self.plan.kind, detail.cells, rules)
        rejected = rejected_rows(checked, detail)
        if detail.unfinished in {row.line for row in rejected}:
            raise RefusedFileError(
                f"{self.source.name} ends in the middle of line {detail.unfinished}, so it "
                "is not whole. Send it again."
            )
        return _to_chunk(checked.good_rows(), batch.size, rejected, detail.blank)


def _to_chunk(
    rows: pa.Table, size: int, rejected: Sequence[RejectedRow] = (), blank: int = 0
) -> Chunk:
    depots = pc.unique(rows["depot_id"]) if "depot_id" in rows.column_names else []
    depot_ids = [str(depot) for depot in depots if depot.is_valid]
    regions = regions_without_calendar(rows)
    return Chunk(
        as_csv(rows), len(rows), depot_ids, list(rejected), blank, size, regions
    )


def as_csv(rows: pa.Table) -> memoryview:
    """Returns rows as CSV for COPY."""
    sink = pa.BufferOutputStream()
    arrow_csv.write_csv(rows, sink, arrow_csv.WriteOptions(include_header=False))
    return memoryview(sink.getvalue())


class ColumnVerdicts(NamedTuple):
    """A column that rejects rows, with the reason per row; null if it accepts the row."""

    column: str
    reasons: pa.Array


@dataclass(frozen=True)
class CheckedBatch:
    """A batch after validation.

    Args:
      rows: Typed rows in the table's columns, rejected ones included.
      verdicts: Of the columns that reject a row, in the order of the schema.
    """

    rows: pa.Table
    verdicts: list[ColumnVerdicts]

    def good_rows(self) -> pa.Table:
        """Returns the rows that no column rejects."""
        good = pa.repeat(True, len(self.rows))
        for verdict in self.verdicts:
            good = pc.and_(good, pc.is_null(verdict.reasons))
        return self.rows.filter(good)


def check(kind: Kind, cells: Cells, rules: Rules) -> CheckedBatch:
    """Parses every column, then applies the rules between columns."""
    stored: dict[str, pa.Array] = {}
    verdicts: list[ColumnVerdicts] = []
    for column in kind.columns:
        if column.name not in cells:
            continue
        texts = cells[column.name]
        parsed = column.read(texts, rules)
        values, reasons = parsed.values, parsed.reasons
        if texts.null_count and not column.is_nullable:
            reasons = pc.if_else(pc.is_null(texts), "is empty", reasons)
        if column.default is not None:
            values = tuple(pc.fill_null(value, column.default) for value in values)
        if reasons.null_count < len(reasons):
            verdicts.append(ColumnVerdicts(column.name, reasons))
        stored |= zip(column.table_columns, values, strict=True)
    verdicts += _row_rule_verdicts(kind, stored)
    for name, constant in (kind.constants or {}).items():
        stored[name] = pa.repeat(constant, len(next(iter(stored.values()))))
    return CheckedBatch(pa.table(stored), verdicts)


def _row_rule_verdicts(
    kind: Kind, stored: dict[str, pa.Array]
) -> Iterator[ColumnVerdicts]:
    for rule in kind.rules:
        if all(name in stored for name in rule.requires):
            violations = rule.is_broken(*(stored[name] for name in rule.requires))
            if pc.any(violations).as_py():
                nothing = pa.nulls(len(violations), pa.string())
                mask = pc.fill_null(violations, False)
                yield ColumnVerdicts(
                    rule.column, pc.if_else(mask, rule.reason, nothing)
                )


def rejected_rows(checked: CheckedBatch, detail: Detail) -> list[RejectedRow]:
    """Returns every rejected row once, with the first column that rejects it."""
    rejected: dict[int, RejectedRow] = {}
    for verdict in checked.verdicts:
        cells = detail.cells[verdict.column]
        for at in pc.indices_nonzero(pc.is_valid(verdict.reasons)).to_pylist():
            if at not in rejected:
                rejected[at] = RejectedRow(
                    line=detail.lines[at],
                    column_name=verdict.column,
                    value=cell_text(cells[at]) if cells[at].is_valid else "",
                    reason=verdict.reasons[at].as_py(),
                    raw=detail.raw(at),
                )
    return [*detail.rejected, *rejected.values()]
