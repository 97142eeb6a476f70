"""Loads one file in one transaction: its row in `files`, its rows, and its quarantine."""

from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import date

import sqlalchemy as sa

from forecaster.errors import RefusedFileError
from pipelines.ingest.load.plausibility import OrderIdCheck
from pipelines.ingest.load.report import Counts, FileReport, file_notes
from pipelines.ingest.rows.batches import RejectedRow
from pipelines.ingest.rows.conventions import Conventions
from pipelines.ingest.rows.file_schemas import (
    DAILY,
    DEPOTS,
    EVENTS,
    ORDERS,
    SIGNALS,
    FileSchema,
)
from pipelines.ingest.rows.options import DEFAULT_SOURCE, FileOptions
from pipelines.ingest.rows.parser import RemoteFile
from pipelines.ingest.rows.parsing import Places
from pipelines.ingest.rows.validation import Chunk, ParsedFile
from pipelines.ingest.sources.files import Source
from pipelines.settings import Settings
from pipelines.settings.days import first_origin
from pipelines.store import (
    depots,
    events,
    load_timestamps,
    order_retention,
    quarantine,
    signals,
)
from pipelines.store import ingest as store

UNASSIGNED_CITY = "Unassigned"
"""City of depots that no depots file has described."""

MAX_REJECTED_ROWS = 10_000
"""Rejected rows after which the rejected share is checked without reading on."""
MAX_VALUE_CHARS_SHOWN = 60
MIB = 1 << 20

Progress = Callable[[int, int], None]
"""Called with the bytes and rows read since the last call."""


@dataclass
class FileGroup:
    """Files of one kind that go in together: in one transaction, through one staging table.

    Args:
      connection: It holds the lock of the kind.
      schema: Of the kind.
      staging: The rows of one file at a time.
      frozen_before: The first day that is not frozen; None where none is.
      counts: Of the files whose rows are in, by file_id.
      depot_ids: Depots that are there for sure.
    """

    connection: sa.Connection
    schema: FileSchema
    staging: store.StagingTable
    frozen_before: date | None
    counts: dict[int, Counts] = field(default_factory=dict)
    depot_ids: set[str] = field(default_factory=set)

    @classmethod
    def begin(cls, connection: sa.Connection, schema: FileSchema) -> "FileGroup":
        """Locks the kind, and creates the staging table."""
        store.lock(connection, schema.name)
        staging = store.StagingTable.create(connection, schema.table)
        frozen_before = order_retention.frozen_before(connection)
        return cls(connection, schema, staging, frozen_before)

    def end(self, *, is_dry_run: bool) -> None:
        """Writes the counts of the files and the time of their load, last of all."""
        if self.counts:
            if not is_dry_run:
                load_timestamps.block_new_runs(self.connection)
            counts = {file_id: vars(each) for file_id, each in self.counts.items()}
            store.finish_loads(self.connection, counts)


@dataclass(frozen=True)
class LoadRequest:
    """A parsed file and how to load it; a dry run is rolled back and not announced."""

    source: Source
    options: FileOptions
    file: ParsedFile | RemoteFile
    settings: Settings
    is_dry_run: bool = False


def load(group: FileGroup, request: LoadRequest, progress: Progress) -> FileReport:
    """Loads a file, unless `files` has it already.

    The caller rolls back what it has done, to a savepoint, on an error.

    Raises:
      RefusedFileError: the file is unreadable or incomplete, or its ids are not plausible.
    """
    row = _file_row(request)
    sha256, options_sha256 = str(row["sha256"]), str(row["options_sha256"])
    loaded = store.loaded_file(group.connection, sha256, options_sha256)
    if loaded is not None:
        before = group.counts.get(
            loaded.file_id, Counts(loaded.accepted, loaded.unchanged, loaded.rejected)
        )
        progress(request.source.size, sum(vars(before).values()))
        return _load_again(group, request, loaded.file_id, before)
    file_id = store.add_file(group.connection, row)
    report = _Loading(group, request, file_id).run(progress)
    group.staging.clear()
    group.counts[file_id] = report.counts
    return report


def _file_row(request: LoadRequest) -> dict[str, object]:
    """Returns a file's row for `files`, without the counts of its rows."""
    source, mapping, options = request.source, request.file.mapping, request.options
    return {
        "path": source.address,
        "sha256": source.sha256(),
        "options_sha256": options.fingerprint(mapping.schema.name, mapping.names),
        "kind": mapping.schema.name,
        "source": options.source or DEFAULT_SOURCE,
        "size_bytes": source.size,
        "ignored_columns": mapping.ignored,
        **vars(Counts()),
    }


def _load_again(
    group: FileGroup, request: LoadRequest, file_id: int, before: Counts
) -> FileReport:
    """Loads a file that is known: only its counts of days that are over by now are news."""
    path, kind = request.source.display_path, group.schema.name
    n_complete = 0
    if group.schema is DAILY:
        n_complete = store.complete_partial_counts(group.connection, file_id)
    n_unchanged = before.accepted + before.unchanged - n_complete
    counts = Counts(n_complete, n_unchanged, before.rejected)
    if not n_complete:
        return FileReport(path, kind, "unchanged", counts)
    group.counts[file_id] = before
    return FileReport(path, kind, "loaded", counts)


@dataclass
class _Loading:
    """A load in progress, and the totals of the file so far."""

    group: FileGroup
    request: LoadRequest
    file_id: int
    rows: int = 0
    rejected: int = 0
    n_blank: int = 0
    decoded_bytes: int = 0
    first_rejected: RejectedRow | None = None
    depot_ids: set[str] = field(default_factory=set)
    regions_without_calendar: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.source, self.settings = self.request.source, self.request.settings
        self.connection, self.schema = self.group.connection, self.group.schema
        self.staging = self.group.staging

    def run(self, progress: Progress) -> FileReport:
        """Copies every chunk, merges the rows into the table, and sets the counts in `files`."""
        staging = self.staging
        staging.columns = self.request.file.mapping.stored
        places = known_places(self.connection, self.schema)
        conventions, chunks = self.request.file.parse(places)
        for chunk in chunks:
            self._add_chunk(chunk)
            self._require_bounded()
            if self.rejected > MAX_REJECTED_ROWS:
                self._require_few_rejected()
            staging.write(chunk.rows)
            progress(chunk.size, chunk.n_rows + len(chunk.rejected))
        self._require_few_rejected()
        self.source.require_unchanged()
        frozen_before = self.group.frozen_before
        n_on_frozen_days = staging.n_on_frozen_days(frozen_before)
        n_partial = staging.n_partial(self.settings.timezone)
        accepted, moved = self._merge_rows()
        counts = Counts(accepted, self.rows - accepted, self.rejected)
        notes = []
        if not self.rows + self.rejected:
            notes.append(
                "It has no rows, and so says of no day that there were no orders; a daily "
                "count of 0 says that."
            )
        if n_partial:
            notes.append(
                f"Counts of days that are not over at their depots: {n_partial:,}. They "
                "are partial, and do not count until a file brings them again after the "
                "day."
            )
        if moved:
            notes.append(f"Orders moved to another depot or day: {moved:,}.")
        if n_on_frozen_days:
            notes.append(
                f"Rows of days before {frozen_before}: {n_on_frozen_days:,}. These days are frozen since "
                "their orders were dropped (HARBOR_KEEP_ORDERS_DAYS), so the rows are not "
                "counted."
            )
        return self._report(counts, conventions, notes, n_partial)

    def _report(
        self,
        counts: Counts,
        conventions: Conventions,
        more_notes: list[str],
        n_partial: int,
    ) -> FileReport:
        notes = list(
            file_notes(
                self.request.file.mapping,
                conventions,
                self.depot_ids,
                self.rejected,
                self.n_blank,
                self.regions_without_calendar,
                is_dry_run=self.request.is_dry_run,
            )
        )
        path, kind = self.source.display_path, self.schema.name
        return FileReport(
            path, kind, "loaded", counts, (*notes, *more_notes), partial=n_partial
        )

    def _merge_rows(self) -> tuple[int, int]:
        """Checks the order ids, and merges the rows into their table.

        Returns:
          The number of rows that changed the table, and that of orders that were at
          another depot or on another day before (0 if that is not checked).
        """
        if self.schema in (EVENTS, SIGNALS) and not self.request.is_dry_run:
            # Before the versions take the timestamp at which they became known.
            load_timestamps.block_new_runs(self.connection)
        options, mapping = self.request.options, self.request.file.mapping
        ids = OrderIdCheck(self.source.name, mapping, self.rows, options.id_namespace)
        moved, are_new = 0, False
        if self.schema is ORDERS:
            known = self.staging.existing_orders(options.id_namespace)
            are_new = not known.known
            if not options.force:
                ids.require_not_moved(known)
                moved = known.moved
        new_depots = self.depot_ids - self.group.depot_ids
        accepted = merge_rows(
            self.staging, self.schema, self.file_id, options.id_namespace, new_depots,
            self.rows, self.settings, are_new=are_new,
        )  # fmt: skip
        if self.schema is ORDERS and not options.force:
            ids.require_distinct_ids(self.staging, accepted)
        self.group.depot_ids |= new_depots
        return accepted, moved

    def _add_chunk(self, chunk: Chunk) -> None:
        quarantine.add_rows(self.connection, self.file_id, map(vars, chunk.rejected))
        if self.first_rejected is None and chunk.rejected:
            self.first_rejected = min(chunk.rejected, key=lambda row: row.line)
        self.rows += chunk.n_rows
        self.rejected += len(chunk.rejected)
        self.n_blank += chunk.n_blank
        # The larger of the text read and the rows produced: Parquet can unpack enormously.
        self.decoded_bytes += max(chunk.size, len(chunk.rows))
        self.depot_ids.update(chunk.depot_ids)
        self.regions_without_calendar.update(chunk.regions_without_calendar)

    def _require_bounded(self) -> None:
        max_mib = self.settings.max_file_mib
        if self.decoded_bytes > max_mib * MIB:
            raise RefusedFileError(
                f"{self.source.name} holds more than {max_mib:,} MiB once unpacked "
                "(HARBOR_MAX_FILE_MIB). Check the program that wrote it; if it is right, split it or "
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
        bad = "1 bad row" if self.rejected == 1 else f"{self.rejected:,} bad rows"
        raise RefusedFileError(
            f"{self.source.name} has {bad} of {n_rows:,}, "
            f"more than the {max_share:.0%} that may be rejected (HARBOR_MAX_REJECTED_RATIO). "
            f"The first is line {first.line}: {column}{value} {first.reason}. Correct "
            "the file, or say how it is written with --column, --date-format, --decimal "
            "or --encoding."
        )


def merge_rows(
    staging: store.StagingTable,
    schema: FileSchema,
    file_id: int,
    id_namespace: str,
    depot_ids: Collection[str],
    n_rows: int,
    settings: Settings,
    *,
    replace_later_files: bool = True,
    are_new: bool = False,
) -> int:
    """Merges rows into their table, or appends versions, and creates the depots they name.

    Rows of later files are replaced too if `replace_later_files`; `are_new` says that none is there.

    Returns:
      How many rows changed the table.
    """
    connection = staging.connection
    with depots.follow_changes(connection) if schema is DEPOTS else nullcontext():
        if schema is EVENTS:
            accepted = events.append(
                staging, file_id, replace_later_files=replace_later_files
            )
        elif schema is SIGNALS:
            now = store.now(connection)
            arrived_on = first_origin(now, settings.zone)
            accepted = signals.append(
                staging,
                file_id,
                now,
                arrived_on,
                replace_later_files=replace_later_files,
            )
        else:
            accepted = staging.merge(
                schema.key,
                file_id,
                id_namespace,
                replace_later_files=replace_later_files,
                are_new=are_new,
            )
        if accepted < n_rows:
            staging.record_repeats(schema.key, file_id, id_namespace)
    add_first_seen(connection, schema, depot_ids, settings)
    return accepted


def known_places(connection: sa.Connection, schema: FileSchema) -> Places | None:
    """The depots and cities that a file may name; None where it may name any."""
    return Places(*store.places(connection)) if schema is SIGNALS else None


def add_first_seen(
    connection: sa.Connection,
    schema: FileSchema,
    depot_ids: Collection[str],
    settings: Settings,
) -> None:
    """Creates the depots that orders or counts name and no depots file has described."""
    if depot_ids and schema in (ORDERS, DAILY):
        store.add_first_seen(
            connection,
            sorted(depot_ids),
            city=UNASSIGNED_CITY,
            timezone=settings.timezone,
            country=settings.country,
        )
