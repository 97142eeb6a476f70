"""Loads one file in one transaction: its ledger entry, rows and rejected rows."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from forecaster.errors import RefusedFileError
from pipelines.ingest.batches import RejectedRow
from pipelines.ingest.conventions import Conventions
from pipelines.ingest.file_schemas import DAILY, EVENTS, ORDERS, Kind
from pipelines.ingest.kind_detection import Plan
from pipelines.ingest.options import DEFAULT_SOURCE, FileOptions
from pipelines.ingest.parser import RemoteFile
from pipelines.ingest.plausibility import OrderIdCheck
from pipelines.ingest.report import Counts, FileReport, file_notes
from pipelines.ingest.sources import Source
from pipelines.ingest.validation import Chunk, ParsedFile
from pipelines.settings import Settings
from pipelines.store import commit_order, events, order_counts, quarantine, score_totals
from pipelines.store import ingest as store

UNASSIGNED_CITY = "Unassigned"
"""City of depots that no depots file has described."""

MAX_REJECTED_ROWS = 10_000
"""Rejected rows after which the rejected share is checked without reading on."""
MAX_VALUE_CHARS_SHOWN = 60
MIB = 1 << 20

Progress = Callable[[int, int], None]
"""Called with the bytes and rows read since the last call."""


@dataclass(frozen=True)
class BufferedFile:
    """A small file that was parsed to its end and is kept in memory."""

    plan: Plan
    conventions: Conventions
    chunks: tuple[Chunk, ...]

    def parse(self) -> tuple[Conventions, Iterator[Chunk]]:
        """As `ParsedFile.parse`."""
        return self.conventions, iter(self.chunks)


@dataclass(frozen=True)
class LoadRequest:
    """A parsed file and how to load it; a dry run is rolled back and not announced."""

    source: Source
    options: FileOptions
    file: ParsedFile | RemoteFile | BufferedFile
    settings: Settings
    is_dry_run: bool = False


def load(
    connection: sa.Connection, request: LoadRequest, progress: Progress
) -> FileReport:
    """Loads a file, unless the ledger has it already.

    Args:
      connection: Inside a transaction, which the caller rolls back on an error.
      request: The file and its options.
      progress: Called as the file is read.

    Raises:
      RefusedFileError: the file is unreadable, incomplete or empty.
    """
    entry = ledger_entry(request)
    key = str(entry["sha256"]), str(entry["options_sha256"])
    store.lock(connection, request.file.plan.kind.name)
    known = store.known_files(connection, [key]).get(key)
    if known is not None:
        progress(request.source.size, known.accepted + known.unchanged + known.rejected)
        return unchanged_report(request, known)
    (file_id,) = store.add_files(connection, [entry])
    return _Loading(connection, request, file_id).run(progress)


def ledger_entry(request: LoadRequest, accepted: int = 0) -> dict[str, object]:
    """Returns the ledger's row of a file, of whose rows none are unchanged or rejected."""
    source, plan, options = request.source, request.file.plan, request.options
    return {
        "path": source.address,
        "sha256": source.sha256(),
        "options_sha256": options.fingerprint(plan.kind.name, plan.names),
        "kind": plan.kind.name,
        "source": options.source or DEFAULT_SOURCE,
        "size_bytes": source.size,
        "ignored_columns": plan.ignored,
        "accepted": accepted,
        "unchanged": 0,
        "rejected": 0,
    }


def unchanged_report(request: LoadRequest, known: sa.Row[Any]) -> FileReport:
    """Returns the report of a file that the ledger has already."""
    counts = Counts(0, known.accepted + known.unchanged, known.rejected)
    kind = request.file.plan.kind.name
    return FileReport(request.source.display_path, kind, "unchanged", counts)


@dataclass
class _Loading:
    """A load in progress, and the totals of the file so far."""

    connection: sa.Connection
    request: LoadRequest
    file_id: int
    rows: int = 0
    rejected: int = 0
    blank: int = 0
    decoded_bytes: int = 0
    first_rejected: RejectedRow | None = None
    depot_ids: set[str] = field(default_factory=set)
    regions_without_calendar: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.source, self.settings = self.request.source, self.request.settings
        self.kind = self.request.file.plan.kind

    def run(self, progress: Progress) -> FileReport:
        """Copies every chunk, merges the rows into the table, and completes the ledger."""
        stored = self.request.file.plan.stored
        incoming = store.Incoming.create(self.connection, self.kind.table, stored)
        conventions, chunks = self.request.file.parse()
        for chunk in chunks:
            self._add_chunk(chunk)
            self._require_bounded()
            if self.rejected > MAX_REJECTED_ROWS:
                self._require_few_rejected()
            incoming.write(chunk.rows)
            progress(chunk.size, chunk.n_rows + len(chunk.rejected))
        self._require_rows()
        self._require_few_rejected()
        self.source.require_unchanged()
        accepted, moved = self._merge_rows(incoming)
        incoming.drop()
        counts = Counts(accepted, self.rows - accepted, self.rejected)
        if not self.request.is_dry_run:
            commit_order.arrive(self.connection)
        store.set_counts(self.connection, self.file_id, vars(counts))
        return self._report(counts, conventions, moved)

    def _report(
        self, counts: Counts, conventions: Conventions, moved: int
    ) -> FileReport:
        notes = [
            *file_notes(
                self.request.file.plan,
                conventions,
                self.depot_ids,
                self.rejected,
                self.blank,
                self.regions_without_calendar,
                is_dry_run=self.request.is_dry_run,
            )
        ]
        if moved:
            notes.append(f"Orders moved to another depot or day: {moved:,}.")
        path, kind = self.source.display_path, self.kind.name
        return FileReport(path, kind, "loaded", counts, tuple(notes))

    def _merge_rows(self, incoming: store.Incoming) -> tuple[int, int]:
        """Merges the rows into their table, and creates the depots they name.

        Returns:
          The number of rows that changed the table, and that of orders that were known at
          another depot or on another day (0 if that is not checked).
        """
        if self.kind is EVENTS and not self.request.is_dry_run:
            # Before the versions note when they became known.
            commit_order.arrive(self.connection)
        options, plan, moved = self.request.options, self.request.file.plan, 0
        namespace = options.id_namespace
        ids = OrderIdCheck(self.source.name, plan, self.rows, namespace)
        is_checked = self.kind is ORDERS and not options.force
        if is_checked:
            moved = ids.require_not_moved(incoming)
        with (
            order_counts.marked(self.connection, self.kind.table),
            score_totals.in_step(self.connection, self.kind.table),
        ):
            accepted = merge(incoming, self.kind, self.file_id, namespace)
            if accepted < self.rows:
                incoming.note_repeats(self.kind.key, self.file_id, namespace)
            if is_checked:
                ids.require_distinct_ids(incoming, accepted)
            add_first_seen(self.connection, self.kind, self.depot_ids, self.settings)
        return accepted, moved

    def _add_chunk(self, chunk: Chunk) -> None:
        quarantine.add_rows(self.connection, self.file_id, map(vars, chunk.rejected))
        if self.first_rejected is None and chunk.rejected:
            self.first_rejected = min(chunk.rejected, key=lambda row: row.line)
        self.rows += chunk.n_rows
        self.rejected += len(chunk.rejected)
        self.blank += chunk.blank
        # The larger of the text read and the rows produced: Parquet can unpack enormously.
        self.decoded_bytes += max(chunk.size, len(chunk.rows))
        self.depot_ids.update(chunk.depot_ids)
        self.regions_without_calendar.update(chunk.regions_without_calendar)

    def _require_bounded(self) -> None:
        max_mib = self.settings.max_file_mib
        if self.decoded_bytes > max_mib * MIB:
            raise RefusedFileError(
                f"{self.source.name} holds more than {max_mib:,} MiB once unpacked "
                "(HARBOR_MAX_FILE_MIB). Look at what wrote it; if it is right, split it or "
                "raise the setting."
            )

    def _require_few_rejected(self) -> None:
        max_share = self.settings.max_rejected_ratio
        n_rows = self.rows + self.rejected
        first = self.first_rejected
        if first is None or self.rejected <= max_share * n_rows:
            return
        column = first.column_name or "the row"
        value = (
            "" if first.value is None else f" '{first.value[:MAX_VALUE_CHARS_SHOWN]}'"
        )
        raise RefusedFileError(
            f"{self.source.name} has {self.rejected:,} bad rows of {n_rows:,}, "
            f"more than the {max_share:.0%} that may be put aside (HARBOR_MAX_REJECTED_RATIO). "
            f"The first is line {first.line}: {column}{value} {first.reason}. Correct "
            "the file, or say how it is written with --column, --date-format, --decimal "
            "or --encoding."
        )

    def _require_rows(self) -> None:
        if self.rows + self.rejected == 0:
            raise RefusedFileError(
                f"{self.source.name} has a header and no rows, so there is nothing "
                "to load. Send it again when it has some."
            )


def merge(
    incoming: store.Incoming,
    kind: Kind,
    file_id: int,
    id_namespace: str,
    *,
    over_later: bool = True,
) -> int:
    """Merges rows into their table, events as versions; returns how many changed it.

    Args:
      incoming: The rows.
      kind: Kind of the file.
      file_id: Id of the file.
      id_namespace: Namespace in which its order ids are unique.
      over_later: Whether rows of later files are replaced too.
    """
    if kind is EVENTS:
        return events.append(incoming, file_id, over_later=over_later)
    return incoming.merge(kind.key, file_id, id_namespace, over_later=over_later)


def add_first_seen(
    connection: sa.Connection, kind: Kind, depot_ids: Iterable[str], settings: Settings
) -> None:
    """Creates the depots that orders or counts name and no depots file has described."""
    if kind in (ORDERS, DAILY):
        store.add_first_seen(
            connection,
            sorted(depot_ids),
            city=UNASSIGNED_CITY,
            timezone=settings.timezone,
            country=settings.country,
        )
