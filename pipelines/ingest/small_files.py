"""Loads many small files in one transaction if all of their rows are new.

Loading files singly takes about 20 statements and a commit each: six times slower. If rows
are in the database already, are rejected or repeat each other, it is done all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import sqlalchemy as sa

from pipelines.ingest.file_schemas import SIGNALS
from pipelines.ingest.loading import (
    BufferedFile,
    LoadRequest,
    add_first_seen,
    file_record,
    unchanged_report,
)
from pipelines.ingest.report import Counts, FileReport, file_notes
from pipelines.ingest.validation import as_csv, from_csv
from pipelines.store import commit_order, order_counts
from pipelines.store import ingest as store

MAX_SMALL_FILE_BYTES = 64 << 10
MAX_BATCH_FILES = 500
"""Bounds what waits in memory: 500 files of 64 KiB are 32 MiB."""


@dataclass(frozen=True)
class SmallFile:
    """A small file, parsed into memory; `request.file` and `parsed` are the same object."""

    request: LoadRequest
    parsed: BufferedFile

    @property
    def n_rows(self) -> int:
        """Number of accepted rows."""
        return sum(chunk.n_rows for chunk in self.parsed.chunks)

    @property
    def depot_ids(self) -> set[str]:
        """Depots of the accepted rows."""
        return {depot for chunk in self.parsed.chunks for depot in chunk.depot_ids}

    @property
    def batch_key(self) -> tuple[object, ...]:
        """Files with the same key can be loaded in one batch: same table, columns, namespace."""
        mapping = self.parsed.mapping
        return (
            mapping.schema.name,
            tuple(mapping.stored),
            self.request.options.id_namespace,
        )

    @property
    def is_batchable(self) -> bool:
        """Whether it has rows, none is rejected, and they can be withdrawn file by file."""
        has_rejected = any(chunk.rejected for chunk in self.parsed.chunks)
        is_withdrawable = self.parsed.mapping.schema.table in store.WITHDRAWABLE_TABLES
        return is_withdrawable and self.n_rows > 0 and not has_rejected


def parse_if_small(request: LoadRequest) -> SmallFile | None:
    """Parses a file if it is small and not compressed; returns None otherwise.

    Raises:
      RefusedFileError: the bytes cannot be read as what they claim to be.
    """
    source = request.source
    if source.size > MAX_SMALL_FILE_BYTES or not source.is_plain_text:
        return None
    if request.file.mapping.schema is SIGNALS:
        # Which depots it may name is known once the files before it are loaded.
        return None
    conventions, chunks = request.file.parse()
    parsed = BufferedFile(request.file.mapping, conventions, tuple(chunks))
    return SmallFile(replace(request, file=parsed), parsed)


class BatchNotPossibleError(Exception):
    """The files must be loaded one by one, and the transaction rolled back."""


def load_batch(
    connection: sa.Connection, files: Sequence[SmallFile]
) -> list[FileReport]:
    """Loads batchable files of one `batch_key`, and reports on each in order.

    Raises:
      BatchNotPossibleError: a row exists already or is repeated, or a file has changed.
    """
    store.lock(connection, files[0].parsed.mapping.schema.name)
    entries = [file_record(file.request, file.n_rows) for file in files]
    keys = [(str(entry["sha256"]), str(entry["options_sha256"])) for entry in entries]
    loaded = store.loaded_files(connection, keys)
    new = [index for index, key in enumerate(keys) if key not in loaded]
    if len({keys[index] for index in new}) < len(new):
        raise BatchNotPossibleError
    if new:
        if not files[0].request.is_dry_run:
            commit_order.block_new_runs(connection)
        file_ids = store.add_files(connection, [entries[index] for index in new])
        _add_rows(connection, [files[index] for index in new], file_ids)
    if not all(file.request.source.is_unchanged() for file in files):
        raise BatchNotPossibleError
    return [
        _loaded_report(file)
        if key not in loaded
        else unchanged_report(file.request, loaded[key])
        for file, key in zip(files, keys, strict=True)
    ]


def _add_rows(
    connection: sa.Connection, files: Sequence[SmallFile], file_ids: Sequence[int]
) -> None:
    mapping, request = files[0].parsed.mapping, files[0].request
    columns = [*mapping.stored, "file_id"]
    staging = store.StagingTable.create(connection, mapping.schema.table, columns)
    tables = [
        from_csv(chunk.rows, mapping.stored).append_column(
            "file_id", pa.repeat(file_id, chunk.n_rows)
        )
        for file, file_id in zip(files, file_ids, strict=True)
        for chunk in file.parsed.chunks
    ]
    staging.write(as_csv(pa.concat_tables(tables)))
    with order_counts.mark_changed_days(connection, mapping.schema.table):
        n_added = staging.add_new(mapping.schema.key, request.options.id_namespace)
        if n_added != sum(file.n_rows for file in files):
            raise BatchNotPossibleError
        depot_ids = set().union(*(file.depot_ids for file in files))
        add_first_seen(connection, mapping.schema, depot_ids, request.settings)
    staging.drop()


def _loaded_report(file: SmallFile) -> FileReport:
    mapping, n_blank = (
        file.parsed.mapping,
        sum(chunk.n_blank for chunk in file.parsed.chunks),
    )
    notes = file_notes(mapping, file.parsed.conventions, file.depot_ids, 0, n_blank)
    path, counts = file.request.source.display_path, Counts(accepted=file.n_rows)
    return FileReport(path, mapping.schema.name, "loaded", counts, tuple(notes))
