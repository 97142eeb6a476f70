"""Parses a file into chunks: validated rows for the database, and rejected rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from forecaster.errors import RefusedFileError
from pipelines.ingest.batches import Batch, Cells, RejectedRow, TableFile
from pipelines.ingest.conventions import Conventions, detect_conventions
from pipelines.ingest.kind_detection import Plan
from pipelines.ingest.parquet import open_parquet
from pipelines.ingest.parsing import Rules
from pipelines.ingest.report import FileOptions
from pipelines.ingest.sources import Source
from pipelines.ingest.text import open_text
from pipelines.ingest.validation import check, rejected_rows


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
    """

    rows: bytes | memoryview
    n_rows: int
    depot_ids: Sequence[str]
    rejected: Sequence[RejectedRow]
    blank: int
    size: int


class ParsedFile(Protocol):
    """A file whose header has been parsed, in this process or another."""

    @property
    def plan(self) -> Plan:
        """Kind and column positions."""

    def conventions(self) -> Conventions:
        """Detects how dates and numbers are written, where the options do not say.

        Raises:
          RefusedFileError: the file does not determine it.
        """

    def chunks(self, conventions: Conventions) -> Iterator[Chunk]:
        """Yields its rows; can be called once.

        Raises:
          RefusedFileError: the bytes cannot be read as what they claim to be.
        """


@dataclass(frozen=True)
class LocalParse:
    """A file that this process parses."""

    source: Source
    options: FileOptions
    file: TableFile
    today: date

    @classmethod
    def open(cls, source: Source, options: FileOptions, today: date) -> "LocalParse":
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

    def conventions(self) -> Conventions:
        """As `ParsedFile.conventions`."""
        name, separator = self.source.name, self.file.separator
        return detect_conventions(self._cells, self.plan, self.options, name, separator)

    def chunks(self, conventions: Conventions) -> Iterator[Chunk]:
        """As `ParsedFile.chunks`."""
        rules = conventions.rules(self.options, self.today)
        for batch in self.file.batches():
            yield self._chunk(batch, rules)

    def _chunk(self, batch: Batch, rules: Rules) -> Chunk:
        """Validates a batch; goes through its rows one by one only if one is rejected."""
        cells = batch.cells()
        if cells is not None:
            checked = check(self.plan.kind, cells, rules)
            if checked.is_clean:
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

    def _cells(self) -> Iterator[Cells]:
        for batch in self.file.batches():
            yield batch.cells() or batch.detail().cells


def _to_chunk(
    rows: pa.Table,
    size: int,
    rejected: list[RejectedRow] | None = None,
    blank: int = 0,
) -> Chunk:
    depots = pc.unique(rows["depot_id"]) if "depot_id" in rows.column_names else []
    return Chunk(
        rows=as_csv(rows),
        n_rows=len(rows),
        depot_ids=[str(depot) for depot in depots if depot.is_valid],
        rejected=rejected or [],
        blank=blank,
        size=size,
    )


def as_csv(rows: pa.Table) -> memoryview:
    """Returns rows as CSV for COPY."""
    sink = pa.BufferOutputStream()
    arrow_csv.write_csv(rows, sink, arrow_csv.WriteOptions(include_header=False))
    return memoryview(sink.getvalue())
