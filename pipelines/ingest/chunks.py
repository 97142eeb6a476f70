"""A file to parcels: checked rows ready for the database, and the bad ones beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from forecaster.errors import RefusedFileError
from pipelines.ingest.batches import Batch, Cells, RejectedRow, TableFile
from pipelines.ingest.conventions import Conventions, find_conventions
from pipelines.ingest.kind_detection import Plan
from pipelines.ingest.parquet import open_parquet
from pipelines.ingest.parsing import Rules
from pipelines.ingest.report import FileOptions
from pipelines.ingest.sources import Source
from pipelines.ingest.text import open_text
from pipelines.ingest.validation import check, rejected_rows


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file, one after the other.

    Args:
      rows: The good ones as CSV, in the order of `Plan.stored`.
      n_rows: How many they are.
      depot_ids: Depots among them.
      rejected: The bad ones.
      blank: Rows without anything in any cell.
      size: Bytes of the file it stands for, about.
    """

    rows: bytes | memoryview
    n_rows: int
    depot_ids: Sequence[str]
    rejected: Sequence[RejectedRow]
    blank: int
    size: int


class ParsedFile(Protocol):
    """A file whose header has been understood, by whoever parses it."""

    @property
    def plan(self) -> Plan:
        """How it is read."""

    def conventions(self) -> Conventions:
        """How its dates and numbers are written, where nobody said.

        Raises:
          RefusedFileError: nothing in the file tells.
        """

    def chunks(self, found: Conventions) -> Iterator[Chunk]:
        """Its rows, once.

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
        """Looks at the header.

        Raises:
          RefusedFileError: the file cannot be understood.
        """
        opener = open_text if source.is_text else open_parquet
        return cls(source, options, opener(source, options), today)

    @property
    def plan(self) -> Plan:
        """How it is read."""
        return self.file.plan

    def conventions(self) -> Conventions:
        """As `ParsedFile.conventions`."""
        name, separator = self.source.name, self.file.separator
        return find_conventions(self._cells, self.plan, self.options, name, separator)

    def chunks(self, found: Conventions) -> Iterator[Chunk]:
        """As `ParsedFile.chunks`."""
        rules = found.rules(self.options, self.today)
        for batch in self.file.batches():
            yield self._chunk(batch, rules)

    def _chunk(self, batch: Batch, rules: Rules) -> Chunk:
        """Only a batch with a bad row is looked at row by row."""
        cells = batch.cells()
        if cells is not None:
            checked = check(self.plan.kind, cells, rules)
            if checked.is_clean:
                return _packed(checked.rows, batch.size)
        detail = batch.detail()
        checked = check(self.plan.kind, detail.cells, rules)
        rejected = rejected_rows(checked, detail)
        if detail.unfinished in {row.line for row in rejected}:
            raise RefusedFileError(
                f"{self.source.name} ends in the middle of line {detail.unfinished}, so it "
                "is not whole. Send it again."
            )
        return _packed(checked.good_rows(), batch.size, rejected, detail.blank)

    def _cells(self) -> Iterator[Cells]:
        for batch in self.file.batches():
            yield batch.cells() or batch.detail().cells


def _packed(
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
    """Rows as the database copies them in."""
    sink = pa.BufferOutputStream()
    arrow_csv.write_csv(rows, sink, arrow_csv.WriteOptions(include_header=False))
    return memoryview(sink.getvalue())
