"""One file, in one transaction: ledger, rows, quarantine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pyarrow import csv as arrow_csv

from forecaster.errors import RefusedFileError
from pipelines.ingest import dates, notes
from pipelines.ingest.batches import Batch, TableFile
from pipelines.ingest.checking import check, rejected_rows
from pipelines.ingest.parquet import open_parquet
from pipelines.ingest.parsing import Rules
from pipelines.ingest.report import Counts, FileReport, Reading
from pipelines.ingest.sources import Source
from pipelines.ingest.text import open_text
from pipelines.settings import Settings
from pipelines.store import ingest as store

WITHOUT_CITY = "Unassigned"
"""City of depots nobody has described. They share one, because silence is judged per
city: a day without an order is 0 where any of them reported."""


@dataclass(frozen=True)
class Load:
    """A file about to be loaded, and how."""

    source: Source
    reading: Reading
    file: TableFile
    settings: Settings
    today: date

    @classmethod
    def open(
        cls, source: Source, reading: Reading, settings: Settings, today: date
    ) -> "Load":
        """Looks at the header.

        Raises:
          RefusedFileError: the file cannot be understood.
        """
        opener = open_text if source.is_text else open_parquet
        return cls(source, reading, opener(source, reading), settings, today)


def load(
    connection: sa.Connection, asked: Load, progress: Callable[[int], None]
) -> FileReport:
    """Loads a file, unless the ledger has it already.

    Args:
      connection: Inside a transaction, which the caller rolls back on an error.
      asked: The file.
      progress: Called with the bytes done since the last call.

    Raises:
      RefusedFileError: the file turns out to be unreadable, half or empty.
    """
    source, plan = asked.source, asked.file.plan
    sha256 = source.sha256()
    reading = asked.reading.fingerprint(plan.kind.name, plan.names)
    store.lock(connection, plan.kind.name)
    known = store.known_file(connection, sha256, reading)
    if known is not None:
        progress(source.size)
        counts = Counts(0, known.accepted + known.unchanged, known.rejected)
        return FileReport(source.shown, plan.kind.name, "unchanged", counts)
    file_id = store.add_file(
        connection,
        path=source.address,
        sha256=sha256,
        reading=reading,
        kind=plan.kind.name,
        size_bytes=source.size,
        ignored_columns=plan.ignored,
    )
    return _Loading(connection, asked, file_id, _order_of_dates(asked)).run(progress)


@dataclass
class _Loading:
    """A load under way: what has been seen of the file so far."""

    connection: sa.Connection
    asked: Load
    file_id: int
    order: dates.Order | None
    rows: int = 0
    rejected: int = 0
    blank: int = 0
    depot_ids: set[str] = field(default_factory=set)

    def run(self, progress: Callable[[int], None]) -> FileReport:
        """Copies every batch, merges them into the table, and settles the ledger."""
        source, plan = self.asked.source, self.asked.file.plan
        incoming = store.Incoming.create(self.connection, plan.kind.table, plan.stored)
        for batch in self.asked.file.batches():
            rows = self._judged(batch)
            self._count(rows)
            incoming.write(_as_csv(rows))
            progress(batch.size)
        self._require_rows()
        source.require_unchanged()
        accepted = incoming.merge(plan.kind.key, self.file_id)
        incoming.drop()
        self._add_first_seen()
        counts = Counts(accepted, self.rows - accepted, self.rejected)
        store.set_counts(self.connection, self.file_id, vars(counts))
        said = notes.of_file(
            plan, self.order, self.depot_ids, self.rejected, self.blank
        )
        return FileReport(
            source.shown, plan.kind.name, "loaded", counts, self.blank, tuple(said)
        )

    def _judged(self, batch: Batch) -> pa.Table:
        """The good rows of a batch; the bad ones are in quarantine then.

        Only a batch with a bad row is looked at row by row.
        """
        kind, rules = self.asked.file.plan.kind, self._rules()
        cells = batch.cells()
        if cells is not None:
            checked = check(kind, cells, rules)
            if checked.is_clean:
                return checked.rows
        detail = batch.detail()
        checked = check(kind, detail.cells, rules)
        rejected = rejected_rows(checked, detail)
        if detail.unfinished in {row.line for row in rejected}:
            raise RefusedFileError(
                f"{self.asked.source.name} ends in the middle of line "
                f"{detail.unfinished}, so it is not whole. Send it again."
            )
        store.add_rejected(self.connection, self.file_id, map(vars, rejected))
        self.rejected += len(rejected)
        self.blank += detail.blank
        return checked.good_rows()

    def _rules(self) -> Rules:
        said = self.asked.reading.date_format
        return Rules(self.asked.today, self.order.date_format if self.order else said)

    def _count(self, rows: pa.Table) -> None:
        self.rows += len(rows)
        if "depot_id" in rows.column_names:
            self.depot_ids.update(pc.unique(rows["depot_id"]).to_pylist())

    def _require_rows(self) -> None:
        if self.rows + self.rejected == 0:
            raise RefusedFileError(
                f"{self.asked.source.name} has a header and no rows, so there is nothing "
                "to load. Send it again when it has some."
            )

    def _add_first_seen(self) -> None:
        if self.asked.file.plan.kind.name in ("orders", "daily"):
            store.add_first_seen(
                self.connection,
                sorted(self.depot_ids),
                city=WITHOUT_CITY,
                timezone=self.asked.settings.timezone,
                country=self.asked.settings.country,
            )


def _as_csv(rows: pa.Table) -> memoryview:
    sink = pa.BufferOutputStream()
    arrow_csv.write_csv(rows, sink, arrow_csv.WriteOptions(include_header=False))
    return memoryview(sink.getvalue())


def _order_of_dates(asked: Load) -> dates.Order | None:
    """How the file's dates are written, where they are not ISO 8601 and nobody said."""
    if asked.reading.date_format is not None:
        return None
    return dates.find_order(_date_cells(asked.file), asked.source.name)


def _date_cells(file: TableFile) -> Iterator[pa.Array]:
    dated = [
        name for name in file.plan.positions if file.plan.kind.column(name).is_dated
    ]
    for batch in file.batches():
        cells = batch.cells() or batch.detail().cells
        texts = [cells[name] for name in dated if pa.types.is_string(cells[name].type)]
        if not texts:
            return
        yield pa.concat_arrays(texts)
