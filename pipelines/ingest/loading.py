"""One file, in one transaction: ledger, rows, quarantine."""

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
from pipelines.ingest.plausibility import OrderIds
from pipelines.ingest.report import DEFAULT_SOURCE, Counts, FileOptions, FileReport
from pipelines.ingest.sources import Source
from pipelines.settings import Settings
from pipelines.store import commit_order, events, order_counts, score_totals
from pipelines.store import ingest as store

WITHOUT_CITY = "Unassigned"
"""City of depots nobody has described."""

MAX_REJECTED_ROWS = 10_000
"""Bad rows after which a file need not be read to its end to be refused."""
LONGEST_VALUE_TOLD = 60
MIB = 1 << 20


@dataclass(frozen=True)
class Load:
    """A file about to be loaded, and how; a dry run is taken back, and no news."""

    source: Source
    options: FileOptions
    file: ParsedFile
    settings: Settings
    is_dry_run: bool = False


def load(
    connection: sa.Connection, asked: Load, progress: Callable[[int, int], None]
) -> FileReport:
    """Loads a file, unless the ledger has it already.

    Args:
      connection: Inside a transaction, which the caller rolls back on an error.
      asked: The file.
      progress: Called with the bytes and the rows done since the last call.

    Raises:
      RefusedFileError: the file turns out to be unreadable, half or empty.
    """
    source, plan = asked.source, asked.file.plan
    sha256 = source.sha256()
    options_sha256 = asked.options.fingerprint(plan.kind.name, plan.names)
    store.lock(connection, plan.kind.name)
    known = store.known_file(connection, sha256, options_sha256)
    if known is not None:
        progress(source.size, known.accepted + known.unchanged + known.rejected)
        return unchanged(asked, known)
    file_id = store.add_file(
        connection,
        path=source.address,
        sha256=sha256,
        options_sha256=options_sha256,
        kind=plan.kind.name,
        source=asked.options.source or DEFAULT_SOURCE,
        size_bytes=source.size,
        ignored_columns=plan.ignored,
    )
    return _Loading(connection, asked, file_id, asked.file.conventions()).run(progress)


def unchanged(asked: Load, known: sa.Row[Any]) -> FileReport:
    """Reports on a file that the ledger has already.

    Args:
      asked: The file.
      known: Its row of `files`.
    """
    counts = Counts(0, known.accepted + known.unchanged, known.rejected)
    kind = asked.file.plan.kind.name
    return FileReport(asked.source.shown, kind, "unchanged", counts)


@dataclass
class _Loading:
    """A load under way: what has been seen of the file so far."""

    connection: sa.Connection
    asked: Load
    file_id: int
    found: Conventions
    rows: int = 0
    rejected: int = 0
    blank: int = 0
    decoded_bytes: int = 0
    moved: int = 0
    first_rejected: RejectedRow | None = None
    depot_ids: set[str] = field(default_factory=set)

    def run(self, progress: Callable[[int, int], None]) -> FileReport:
        """Copies every batch, merges them into the table, and settles the ledger."""
        source, plan = self.asked.source, self.asked.file.plan
        incoming = store.Incoming.create(self.connection, plan.kind.table, plan.stored)
        for chunk in self.asked.file.chunks(self.found):
            self._take(chunk)
            self._require_bounded()
            if self.rejected > MAX_REJECTED_ROWS:
                self._require_mostly_good()
            incoming.write(chunk.rows)
            progress(chunk.size, chunk.n_rows + len(chunk.rejected))
        self._require_rows()
        self._require_mostly_good()
        source.require_unchanged()
        accepted = self._settle(incoming)
        incoming.drop()
        counts = Counts(accepted, self.rows - accepted, self.rejected)
        if not self.asked.is_dry_run:
            commit_order.arrive(self.connection)
        store.set_counts(self.connection, self.file_id, vars(counts))
        said = [
            *messages.of_file(
                plan, self.found, self.depot_ids, self.rejected, self.blank
            ),
            *messages.moved(self.moved),
        ]
        return FileReport(
            source.shown, plan.kind.name, "loaded", counts, self.blank, tuple(said)
        )

    def _settle(self, incoming: store.Incoming) -> int:
        """Merges what has come, and creates the depots it names."""
        table, options = incoming.target.name, self.asked.options
        name, plan = self.asked.source.name, self.asked.file.plan
        ids = OrderIds(name, plan, self.rows, options.id_namespace)
        if not options.force:
            self.moved = ids.require_own_orders(incoming)
        with (
            order_counts.marked(self.connection, table),
            score_totals.in_step(self.connection, table),
        ):
            namespace = options.id_namespace
            accepted = merge(incoming, plan.kind, self.file_id, namespace)
            if accepted < self.rows:
                incoming.note_repeats(plan.kind.key, self.file_id, namespace)
            if not options.force:
                ids.require_own_ids(incoming, accepted)
            self._add_first_seen()
        return accepted

    def _take(self, chunk: Chunk) -> None:
        store.add_rejected(self.connection, self.file_id, map(vars, chunk.rejected))
        if self.first_rejected is None and chunk.rejected:
            self.first_rejected = min(chunk.rejected, key=lambda row: row.line)
        self.rows += chunk.n_rows
        self.rejected += len(chunk.rejected)
        self.blank += chunk.blank
        # Of text that was read, or of rows that came out of little: whichever is more.
        self.decoded_bytes += max(chunk.size, len(chunk.rows))
        self.depot_ids.update(chunk.depot_ids)

    def _require_bounded(self) -> None:
        limits = self.asked.settings
        seen = self.rows + self.rejected + self.blank
        if seen > limits.max_file_rows:
            holds = f"{limits.max_file_rows:,} rows (HARBOR_MAX_FILE_ROWS)"
        elif self.decoded_bytes > limits.max_file_mib * MIB:
            holds = f"{limits.max_file_mib:,} MiB once unpacked (HARBOR_MAX_FILE_MIB)"
        else:
            return
        raise RefusedFileError(
            f"{self.asked.source.name} holds more than {holds}. Look at what wrote it; if "
            "it is right, split it or raise the setting."
        )

    def _require_mostly_good(self) -> None:
        share, seen = self.asked.settings.most_rejected, self.rows + self.rejected
        first = self.first_rejected
        if first is None or self.rejected <= share * seen:
            return
        what = first.column_name or "the row"
        value = "" if first.value is None else f" '{first.value[:LONGEST_VALUE_TOLD]}'"
        raise RefusedFileError(
            f"{self.asked.source.name} has {self.rejected:,} bad rows of {seen:,}, "
            f"more than the {share:.0%} that may be put aside (HARBOR_MOST_REJECTED). "
            f"The first is line {first.line}: {what}{value} {first.reason}. Correct "
            "the file, or say how it is written with --column, --date-format or "
            "--encoding."
        )

    def _require_rows(self) -> None:
        if self.rows + self.rejected == 0:
            raise RefusedFileError(
                f"{self.asked.source.name} has a header and no rows, so there is nothing "
                "to load. Send it again when it has some."
            )

    def _add_first_seen(self) -> None:
        if self.asked.file.plan.kind.name in ("orders", "daily"):
            add_first_seen(self.connection, self.depot_ids, self.asked.settings)


def merge(
    incoming: store.Incoming,
    kind: Kind,
    file_id: int,
    id_namespace: str,
    *,
    over_later: bool = True,
) -> int:
    """Takes rows into their table, events in versions; says how many changed it.

    Args:
      incoming: The rows.
      kind: Of the file.
      file_id: Of the file.
      id_namespace: In which the ids of its orders are unique.
      over_later: Whether rows of later files are replaced too.
    """
    if kind is EVENTS:
        return events.append(incoming, file_id, over_later=over_later)
    return incoming.merge(kind.key, file_id, id_namespace, over_later=over_later)


def add_first_seen(
    connection: sa.Connection, depot_ids: Iterable[str], settings: Settings
) -> None:
    """Creates depots that orders or counts name and nobody has described yet."""
    store.add_first_seen(
        connection,
        sorted(depot_ids),
        city=WITHOUT_CITY,
        timezone=settings.timezone,
        country=settings.country,
    )
