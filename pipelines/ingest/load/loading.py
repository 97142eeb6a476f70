"""Loads one file in one transaction: its row in `files`, its rows and its rejected rows."""

from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from forecaster.errors import RefusedFileError, shortened_list
from pipelines.ingest.load import plausibility
from pipelines.ingest.load.report import Counts, FileReport, differing_in_case
from pipelines.ingest.rows.batches import RejectedRow
from pipelines.ingest.rows.conventions import MARK_NAMES, Conventions
from pipelines.ingest.rows.file_schemas import (
    DAILY,
    DEPOTS,
    EVENTS,
    ORDERS,
    SIGNALS,
    FileSchema,
)
from pipelines.ingest.rows.kind_detection import FileMapping
from pipelines.ingest.rows.options import DEFAULT_SOURCE, FileOptions
from pipelines.ingest.rows.parser import Parser
from pipelines.ingest.rows.parsing import Places
from pipelines.ingest.rows.validation import Chunk
from pipelines.ingest.sources.files import Source
from pipelines.settings import Settings
from pipelines.settings.days import first_origin
from pipelines.store import (
    depots,
    events,
    ingest,
    load_timestamps,
    order_retention,
    quarantine,
    signals,
)

UNASSIGNED_CITY = "Unassigned"
"""City of depots that no depots file has described."""

MAX_REJECTED_ROWS = 10_000
"""With more rejected rows than this, the rejected share is checked before the file ends."""
MAX_VALUE_CHARS_SHOWN = 60
MIB = 1 << 20

Progress = Callable[[int, int], None]
"""Called with the bytes and rows read since the last call."""


@dataclass
class FileGroup:
    """Files of one kind, loaded in one transaction through one staging table.

    Args:
      connection: Connection whose transaction holds the lock of the kind.
      staging: Staging table; it holds the rows of one file at a time.
      frozen_before: First day that is not frozen; None if no day is frozen.
      depot_ids: Ids of the depots in the database and in the files loaded so far.
      counts: Row counts of the files loaded so far, by file_id.
    """

    connection: sa.Connection
    schema: FileSchema
    staging: ingest.StagingTable
    frozen_before: date | None
    depot_ids: set[str]
    counts: dict[int, Counts] = field(default_factory=dict)

    @cached_property
    def overtaken(self) -> set[int]:
        """Files loaded before whose rows later files replaced."""
        return ingest.overtaken_files(self.connection, self.schema.name)

    @classmethod
    def begin(cls, connection: sa.Connection, schema: FileSchema) -> "FileGroup":
        """Locks the kind, and creates the staging table."""
        ingest.lock(connection, schema.name)
        staging = ingest.StagingTable.create(connection, schema.table, schema.key)
        frozen_before = order_retention.frozen_before(connection)
        depot_ids = depots.depot_ids(connection)
        return cls(connection, schema, staging, frozen_before, depot_ids)

    def end(self, *, is_dry_run: bool) -> None:
        """Writes the files' row counts and load times at the end of the group's load."""
        if self.counts:
            if not is_dry_run:
                load_timestamps.block_new_runs(self.connection)
            counts = {file_id: vars(each) for file_id, each in self.counts.items()}
            ingest.finish_loads(self.connection, counts)
        # In a dry run, the next group shares this transaction.
        self.connection.execute(sa.text("drop table staging"))


@dataclass
class FileLoad:
    """The load of the file that the parser has open, with running totals of its rows.

    A dry run is rolled back, so it does not block new runs.
    """

    group: FileGroup
    source: Source
    options: FileOptions
    mapping: FileMapping
    parser: Parser
    settings: Settings
    progress: Progress
    is_dry_run: bool = False
    n_rows: int = 0
    n_rejected: int = 0
    n_blank: int = 0
    decoded_bytes: int = 0
    first_rejected: RejectedRow | None = None
    depot_ids: set[str] = field(default_factory=set)

    def run(self) -> FileReport:
        """Loads the file; if it is in `files` already, only completes its partial counts.

        On an error the caller rolls back to a savepoint.

        Raises:
          RefusedFileError: the file is unreadable, incomplete, too large or implausible.
        """
        row = self._file_row()
        loaded = ingest.loaded_file(
            self.group.connection, row["sha256"], row["options_sha256"]
        )
        if loaded is not None:
            return self._load_again(loaded)
        file_id = ingest.add_file(self.group.connection, row)
        self.group.staging.begin_file(
            file_id, self.mapping.stored, self.options.id_namespace
        )
        report = self._load_rows()
        self.group.counts[file_id] = report.counts
        return report

    def _file_row(self) -> dict[str, Any]:
        """Returns the file's row for `files`, with row counts of 0."""
        return {
            "path": self.source.address,
            "sha256": self.source.sha256(),
            "options_sha256": self.options.fingerprint(
                self.mapping.schema.name, self.mapping.names
            ),
            "kind": self.mapping.schema.name,
            "source": self.options.source or DEFAULT_SOURCE,
            "ignored_columns": self.mapping.ignored,
            **vars(Counts()),
        }

    def _load_again(self, loaded: sa.Row[Any]) -> FileReport:
        """Reports on a file already in `files`; completes daily counts whose days have ended."""
        before = self.group.counts.get(
            loaded.file_id, Counts(loaded.accepted, loaded.unchanged, loaded.rejected)
        )
        self.progress(self.source.size, sum(vars(before).values()))
        n_complete = 0
        if self.group.schema is DAILY:
            n_complete = ingest.complete_partial_counts(
                self.group.connection, loaded.file_id
            )
        n_unchanged = before.accepted + before.unchanged - n_complete
        counts = Counts(n_complete, n_unchanged, before.rejected)
        path, kind = self.source.display_path, self.group.schema.name
        if not n_complete:
            notes = tuple(self._overtaken_notes(loaded))
            return FileReport(path, kind, "unchanged", counts, notes)
        self.group.counts[loaded.file_id] = before
        return FileReport(path, kind, "loaded", counts)

    def _overtaken_notes(self, loaded: sa.Row[Any]) -> Iterator[str]:
        """Yields a note if later files replaced rows of this one, which stay replaced."""
        if loaded.file_id not in self.group.overtaken:
            return
        again = "change a byte of it, as by an empty line at its end"
        if self.group.schema in (ORDERS, DAILY, SIGNALS):
            again = f"withdraw it with 'harbor files withdraw {loaded.file_id}'"
        yield (
            "It was loaded before, and what later files replaced stays replaced. To make it the newest "
            f"file, {again}, and load it once more."
        )

    def _load_rows(self) -> FileReport:
        """Copies every chunk into the staging table, and merges the rows into their table."""
        staging, schema = self.group.staging, self.group.schema
        known_ids = frozenset(self.group.depot_ids)
        conventions, chunks = self.parser.parse(
            known_places(self.group.connection, schema)
        )
        for chunk in chunks:
            self._add_chunk(chunk)
            self._require_bounded()
            if self.n_rejected > MAX_REJECTED_ROWS:
                self._require_few_rejected()
            staging.write(chunk.rows)
            self.progress(chunk.size, chunk.n_rows + len(chunk.rejected))
        self._require_few_rejected()
        self.source.require_unchanged()
        n_on_frozen_days = staging.n_on_frozen_days(self.group.frozen_before)
        n_partial = staging.n_partial(self.settings.timezone)
        accepted, n_moved = self._merge_rows()
        return FileReport(
            self.source.display_path,
            schema.name,
            "loaded",
            Counts(accepted, self.n_rows - accepted, self.n_rejected),
            (
                *self._format_notes(conventions),
                *self._row_notes(known_ids, n_partial, n_moved, n_on_frozen_days),
            ),
            partial=n_partial,
        )

    def _format_notes(self, conventions: Conventions) -> Iterator[str]:
        """Yields notes on detected formats, and on columns that are not read."""
        if dates := conventions.dates:
            yield f"Dates were read as {dates.value}, which {dates.proof} proves."
        if numbers := conventions.numbers:
            mark = MARK_NAMES[numbers.value]
            yield f"Numbers were read with a decimal {mark}, which {numbers.proof} proves."
        if self.mapping.ignored:
            yield f"Columns not read: {shortened_list(self.mapping.ignored)}."

    def _row_notes(
        self,
        known_ids: frozenset[str],
        n_partial: int,
        n_moved: int,
        n_on_frozen_days: int,
    ) -> Iterator[str]:
        """Yields notes on rows and ids that need attention; `known_ids` are from before."""
        frozen_before = self.group.frozen_before
        if self.n_rejected:
            one = self.n_rejected == 1
            there = (
                f"{'is' if one else 'are'} in quarantine; see 'harbor quarantine list'"
            )
            yield (
                f"{self.n_rejected:,} {'row' if one else 'rows'} "
                f"{'would be put in quarantine' if self.is_dry_run else there}."
            )
        if self.n_blank:
            yield f"Blank rows skipped: {self.n_blank:,}."
        if alike := differing_in_case(self.depot_ids, known_ids):
            yield (
                "Depots whose ids differ only in letter case, and are kept apart: "
                f"{shortened_list(alike)}."
            )
        if not self.n_rows + self.n_rejected:
            yield (
                "It has no rows. That is not read as days without orders; a daily count of "
                "0 is."
            )
        if n_partial:
            yield (
                f"Counts of days that are not over at their depots: {n_partial:,}. They "
                "are partial, and do not count until a file brings them again after the "
                "day."
            )
        if n_moved:
            yield f"Orders moved to another depot or day: {n_moved:,}."
        if n_moved and frozen_before is not None:
            yield (
                f"Orders of days before {frozen_before} are dropped "
                "(HARBOR_KEEP_ORDERS_DAYS). If this file moves some of them to a later "
                "day, they count on both days."
            )
        if n_on_frozen_days:
            yield (
                f"Rows of days before {frozen_before}: {n_on_frozen_days:,}. These days "
                "are frozen since their orders were dropped (HARBOR_KEEP_ORDERS_DAYS), so "
                "the rows are not counted."
            )

    def _merge_rows(self) -> tuple[int, int]:
        """Checks the order ids, and merges the rows into their table.

        Returns:
          The number of rows that changed the table, and the number of orders moved from
          another depot or day (0 if that is not checked).
        """
        staging, schema = self.group.staging, self.group.schema
        if schema in (EVENTS, SIGNALS) and not self.is_dry_run:
            # Must precede the timestamp that the versions take as `known_at`.
            load_timestamps.block_new_runs(self.group.connection)
        n_moved, are_new = 0, False
        id_column = self.mapping.names.get("order_id", "")
        if schema is ORDERS:
            known = staging.existing_orders()
            are_new = not known.known
            if not self.options.force:
                plausibility.require_not_moved(
                    self.source.name, id_column, self.n_rows, known,
                    self.options.id_namespace,
                )  # fmt: skip
                n_moved = known.moved
        new_depots = self.depot_ids - self.group.depot_ids
        accepted = merge_rows(
            staging, schema, new_depots, self.n_rows, self.settings, are_new=are_new
        )
        if schema is ORDERS and not self.options.force:
            plausibility.require_distinct_ids(
                self.source.name, id_column, self.n_rows, staging, accepted
            )
        self.group.depot_ids |= new_depots
        return accepted, n_moved

    def _add_chunk(self, chunk: Chunk) -> None:
        quarantine.add_rows(
            self.group.connection, self.group.staging.file_id, map(vars, chunk.rejected)
        )
        if self.first_rejected is None and chunk.rejected:
            self.first_rejected = min(chunk.rejected, key=lambda row: row.line)
        self.n_rows += chunk.n_rows
        self.n_rejected += len(chunk.rejected)
        self.n_blank += chunk.n_blank
        # The larger of the text read and the rows produced: Parquet can unpack enormously.
        self.decoded_bytes += max(chunk.size, len(chunk.rows))
        self.depot_ids.update(chunk.depot_ids)

    def _require_bounded(self) -> None:
        max_mib = self.settings.max_file_mib
        if self.decoded_bytes > max_mib * MIB:
            raise RefusedFileError(
                f"{self.source.name} holds more than {max_mib:,} MiB once unpacked "
                "(HARBOR_MAX_FILE_MIB). Check the program that wrote it; if the size is right, split "
                "the file or raise the setting."
            )

    def _require_few_rejected(self) -> None:
        max_share = self.settings.max_rejected_ratio
        n_rows = self.n_rows + self.n_rejected
        first = self.first_rejected
        if first is None or self.n_rejected <= max_share * n_rows:
            return
        column = first.column_name or "the row"
        value = (
            "" if first.value is None else f" '{first.value[:MAX_VALUE_CHARS_SHOWN]}'"
        )
        bad = "1 bad row" if self.n_rejected == 1 else f"{self.n_rejected:,} bad rows"
        raise RefusedFileError(
            f"{self.source.name} has {bad} of {n_rows:,}, "
            f"more than the {max_share:.0%} that may be rejected (HARBOR_MAX_REJECTED_RATIO). "
            f"The first is line {first.line}: {column}{value} {first.reason}. Correct "
            "the file, or say how it is written with --column, --date-format, --decimal "
            "or --encoding."
        )


def merge_rows(
    staging: ingest.StagingTable,
    schema: FileSchema,
    depot_ids: Collection[str],
    n_rows: int,
    settings: Settings,
    *,
    replace_later_files: bool = True,
    are_new: bool = False,
) -> int:
    """Merges staged rows into their table, or appends versions; creates the depots they name.

    Rows of later files stay unless `replace_later_files`; if `are_new`, no key is stored yet.

    Returns:
      Number of rows that changed the table.
    """
    connection = staging.connection
    with depots.follow_changes(connection) if schema is DEPOTS else nullcontext():
        if schema is EVENTS:
            accepted = events.append(staging, replace_later_files=replace_later_files)
        elif schema is SIGNALS:
            now = ingest.now(connection)
            arrived_on = first_origin(now, settings.zone)
            accepted = signals.append(
                staging, now, arrived_on, replace_later_files=replace_later_files
            )
        else:
            accepted = staging.merge(
                replace_later_files=replace_later_files, are_new=are_new
            )
        if accepted < n_rows:
            staging.record_repeats()
    if depot_ids and schema in (ORDERS, DAILY):
        ingest.add_first_seen(
            connection,
            sorted(depot_ids),
            city=UNASSIGNED_CITY,
            timezone=settings.timezone,
            country=settings.country,
        )
    return accepted


def known_places(connection: sa.Connection, schema: FileSchema) -> Places | None:
    """The depots and cities that a file may name; None if it may name any."""
    return Places(*ingest.places(connection)) if schema is SIGNALS else None
