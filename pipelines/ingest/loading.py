"""Loads one file in one transaction: its ledger entry, rows and rejected rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from forecaster.errors import RefusedFileError
from pipelines.ingest import messages
from pipelines.ingest.batches import RejectedRow
from pipelines.ingest.chunks import Chunk, ParsedFile
from pipelines.ingest.conventions import Conventions
from pipelines.ingest.file_schemas import EVENTS, Kind
from pipelines.ingest.plausibility import OrderIdCheck
from pipelines.ingest.report import DEFAULT_SOURCE, Counts, FileOptions, FileReport
from pipelines.ingest.sources import Source
from pipelines.settings import Settings
from pipelines.store import commit_order, events, order_counts, score_totals
from pipelines.store import ingest as store

UNASSIGNED_CITY = "Unassigned"
"""City of depots that no depots file has described."""

MAX_REJECTED_ROWS = 10_000
"""Rejected rows after which the rejected share is checked without reading on."""
MAX_VALUE_CHARS_SHOWN = 60
MIB = 1 << 20


@dataclass(frozen=True)
class LoadRequest:
    """A parsed file and how to load it; a dry run is rolled back and not announced."""

    source: Source
    options: FileOptions
    file: ParsedFile
    settings: Settings
    is_dry_run: bool = False


def load(
    connection: sa.Connection,
    request: LoadRequest,
    progress: Callable[[int, int], None],
) -> FileReport:
    """Loads a file, unless the ledger has it already.

    Args:
      connection: Inside a transaction, which the caller rolls back on an error.
      request: The file and its options.
      progress: Called with the bytes and rows read since the last call.

    Raises:
      RefusedFileError: the file is unreadable, incomplete or empty.
    """
    source, plan = request.source, request.file.plan
    sha256 = source.sha256()
    options_sha256 = request.options.fingerprint(plan.kind.name, plan.names)
    store.lock(connection, plan.kind.name)
    known = store.known_file(connection, sha256, options_sha256)
    if known is not None:
        progress(source.size, known.accepted + known.unchanged + known.rejected)
        return unchanged(request, known)
    file_id = store.add_file(
        connection,
        path=source.address,
        sha256=sha256,
        options_sha256=options_sha256,
        kind=plan.kind.name,
        source=request.options.source or DEFAULT_SOURCE,
        size_bytes=source.size,
        ignored_columns=plan.ignored,
    )
    return _Loading(connection, request, file_id, request.file.conventions()).run(
        progress
    )


def unchanged(request: LoadRequest, known: sa.Row[Any]) -> FileReport:
    """Returns the report of a file that the ledger has already.

    Args:
      request: The file and its options.
      known: Its row of `files`.
    """
    counts = Counts(0, known.accepted + known.unchanged, known.rejected)
    kind = request.file.plan.kind.name
    return FileReport(request.source.display_path, kind, "unchanged", counts)


@dataclass
class _Loading:
    """A load in progress, and the totals of the file so far."""

    connection: sa.Connection
    request: LoadRequest
    file_id: int
    conventions: Conventions
    rows: int = 0
    rejected: int = 0
    blank: int = 0
    decoded_bytes: int = 0
    moved: int = 0
    first_rejected: RejectedRow | None = None
    depot_ids: set[str] = field(default_factory=set)

    def run(self, progress: Callable[[int, int], None]) -> FileReport:
        """Copies every chunk, merges the rows into the table, and completes the ledger."""
        source, plan = self.request.source, self.request.file.plan
        incoming = store.Incoming.create(self.connection, plan.kind.table, plan.stored)
        for chunk in self.request.file.chunks(self.conventions):
            self._add_chunk(chunk)
            self._require_bounded()
            if self.rejected > MAX_REJECTED_ROWS:
                self._require_few_rejected()
            incoming.write(chunk.rows)
            progress(chunk.size, chunk.n_rows + len(chunk.rejected))
        self._require_rows()
        self._require_few_rejected()
        source.require_unchanged()
        accepted = self._merge_rows(incoming)
        incoming.drop()
        counts = Counts(accepted, self.rows - accepted, self.rejected)
        if not self.request.is_dry_run:
            commit_order.arrive(self.connection)
        store.set_counts(self.connection, self.file_id, vars(counts))
        notes = [
            *messages.file_notes(
                plan,
                self.conventions,
                self.depot_ids,
                self.rejected,
                self.blank,
                is_dry_run=self.request.is_dry_run,
            ),
            *messages.moved_orders_note(self.moved),
        ]
        return FileReport(
            source.display_path,
            plan.kind.name,
            "loaded",
            counts,
            self.blank,
            tuple(notes),
        )

    def _merge_rows(self, incoming: store.Incoming) -> int:
        """Merges the incoming rows into the table and creates the depots they name."""
        table, options = incoming.target.name, self.request.options
        name, plan = self.request.source.name, self.request.file.plan
        ids = OrderIdCheck(name, plan, self.rows, options.id_namespace)
        if not options.force:
            self.moved = ids.require_not_moved(incoming)
        with (
            order_counts.marked(self.connection, table),
            score_totals.in_step(self.connection, table),
        ):
            namespace = options.id_namespace
            accepted = merge(incoming, plan.kind, self.file_id, namespace)
            if accepted < self.rows:
                incoming.note_repeats(plan.kind.key, self.file_id, namespace)
            if not options.force:
                ids.require_distinct_ids(incoming, accepted)
            self._add_first_seen()
        return accepted

    def _add_chunk(self, chunk: Chunk) -> None:
        store.add_rejected(self.connection, self.file_id, map(vars, chunk.rejected))
        if self.first_rejected is None and chunk.rejected:
            self.first_rejected = min(chunk.rejected, key=lambda row: row.line)
        self.rows += chunk.n_rows
        self.rejected += len(chunk.rejected)
        self.blank += chunk.blank
        # The larger of the text read and the rows produced: Parquet can unpack enormously.
        self.decoded_bytes += max(chunk.size, len(chunk.rows))
        self.depot_ids.update(chunk.depot_ids)

    def _require_bounded(self) -> None:
        settings = self.request.settings
        n_rows = self.rows + self.rejected + self.blank
        if n_rows > settings.max_file_rows:
            holds = f"{settings.max_file_rows:,} rows (HARBOR_MAX_FILE_ROWS)"
        elif self.decoded_bytes > settings.max_file_mib * MIB:
            holds = f"{settings.max_file_mib:,} MiB once unpacked (HARBOR_MAX_FILE_MIB)"
        else:
            return
        raise RefusedFileError(
            f"{self.request.source.name} holds more than {holds}. Look at what wrote it; if "
            "it is right, split it or raise the setting."
        )

    def _require_few_rejected(self) -> None:
        max_share = self.request.settings.max_rejected_ratio
        n_rows = self.rows + self.rejected
        first = self.first_rejected
        if first is None or self.rejected <= max_share * n_rows:
            return
        column = first.column_name or "the row"
        value = (
            "" if first.value is None else f" '{first.value[:MAX_VALUE_CHARS_SHOWN]}'"
        )
        raise RefusedFileError(
            f"{self.request.source.name} has {self.rejected:,} bad rows of {n_rows:,}, "
            f"more than the {max_share:.0%} that may be put aside (HARBOR_MAX_REJECTED_RATIO). "
            f"The first is line {first.line}: {column}{value} {first.reason}. Correct "
            "the file, or say how it is written with --column, --date-format, --decimal "
            "or --encoding."
        )

    def _require_rows(self) -> None:
        if self.rows + self.rejected == 0:
            raise RefusedFileError(
                f"{self.request.source.name} has a header and no rows, so there is nothing "
                "to load. Send it again when it has some."
            )

    def _add_first_seen(self) -> None:
        if self.request.file.plan.kind.name in ("orders", "daily"):
            add_first_seen(self.connection, self.depot_ids, self.request.settings)


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
    connection: sa.Connection, depot_ids: Iterable[str], settings: Settings
) -> None:
    """Creates the depots that orders or counts name and no depots file has described."""
    store.add_first_seen(
        connection,
        sorted(depot_ids),
        city=UNASSIGNED_CITY,
        timezone=settings.timezone,
        country=settings.country,
    )
