"""Loads many small files in one transaction if all of their rows are new.

Loading files singly takes about 20 statements and a commit each: six times slower. If rows
are in the database already, are rejected or repeat each other, the files are loaded singly.
"""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import sqlalchemy as sa

from pipelines.ingest.file_schemas import DAILY, SIGNALS
from pipelines.ingest.loading import (
    BufferedFile,
    LoadRequest,
    add_first_seen,
    file_record,
    unchanged_report,
)
from pipelines.ingest.report import Counts, FileReport, file_notes
from pipelines.store import commit_order, order_counts, order_retention
from pipelines.store import ingest as store
from pipelines.store.table_csv import as_csv, from_csv

MAX_SMALL_FILE_BYTES = 64 << 10
MAX_BATCH_FILES = 500
"""Bounds what waits in memory: 500 files of 64 KiB are 32 MiB."""


def parse_if_small(request: LoadRequest) -> LoadRequest:
    """Parses a file into memory if it is small and not compressed.

    Raises:
      RefusedFileError: the bytes cannot be read as what they claim to be.
    """
    source, file = request.source, request.file
    is_small = source.is_plain_text and source.size <= MAX_SMALL_FILE_BYTES
    # Which depots a file of signals may name is known once the files before it are loaded.
    if not is_small or file.mapping.schema is SIGNALS:
        return request
    conventions, chunks = file.parse()
    return replace(request, file=BufferedFile(file.mapping, conventions, tuple(chunks)))


def batch_key(request: LoadRequest) -> tuple[object, ...] | None:
    """Table, columns and namespace, which are the same for all files of a batch.

    Returns:
      None if the file must be loaded alone: it is not in memory, has no rows, has rejected
      ones, or is of a kind whose replaced rows are not kept.
    """
    file = request.file
    if not isinstance(file, BufferedFile) or not file.n_rows:
        return None
    schema, columns = file.mapping.schema, tuple(file.mapping.stored)
    has_rejected = any(chunk.rejected for chunk in file.chunks)
    if has_rejected or schema.table not in store.WITHDRAWABLE_TABLES:
        return None
    return schema.name, columns, request.options.id_namespace


class BatchNotPossibleError(Exception):
    """The files must be loaded one by one, and the transaction rolled back."""


def load_batch(
    connection: sa.Connection, requests: Sequence[LoadRequest]
) -> list[FileReport]:
    """Loads files of one `batch_key`, and reports on each in order.

    Raises:
      BatchNotPossibleError: a row exists already, is repeated or of a frozen day, or a file
        has changed.
    """
    store.lock(connection, requests[0].file.mapping.schema.name)
    records = [file_record(each, _buffered(each).n_rows) for each in requests]
    keys = [(str(each["sha256"]), str(each["options_sha256"])) for each in records]
    loaded = store.loaded_files(connection, keys)
    new = [index for index, key in enumerate(keys) if key not in loaded]
    if len({keys[index] for index in new}) < len(new):
        raise BatchNotPossibleError
    if loaded and requests[0].file.mapping.schema is DAILY:
        raise BatchNotPossibleError
    if new:
        if not requests[0].is_dry_run:
            commit_order.block_new_runs(connection)
        file_ids = store.add_files(connection, [records[index] for index in new])
        _add_rows(connection, [requests[index] for index in new], file_ids)
    if not all(each.source.is_unchanged() for each in requests):
        raise BatchNotPossibleError
    return [
        unchanged_report(each, loaded[key]) if key in loaded else _loaded_report(each)
        for each, key in zip(requests, keys, strict=True)
    ]


def _buffered(request: LoadRequest) -> BufferedFile:
    assert isinstance(request.file, BufferedFile), "it has a batch_key"
    return request.file


def _add_rows(
    connection: sa.Connection,
    requests: Sequence[LoadRequest],
    file_ids: Sequence[int],
) -> None:
    files = [_buffered(request) for request in requests]
    schema, columns = files[0].mapping.schema, files[0].mapping.stored
    options, settings = requests[0].options, requests[0].settings
    staging = store.StagingTable.create(connection, schema.table, [*columns, "file_id"])
    tables = [
        from_csv(chunk.rows, columns).append_column(
            "file_id", pa.repeat(file_id, chunk.n_rows)
        )
        for file, file_id in zip(files, file_ids, strict=True)
        for chunk in file.chunks
    ]
    staging.write(as_csv(pa.concat_tables(tables)))
    if staging.n_frozen(order_retention.frozen_before(connection)):
        raise BatchNotPossibleError
    if staging.n_partial(settings.timezone):
        raise BatchNotPossibleError
    with order_counts.mark_changed_days(connection, schema.table):
        n_added = staging.add_new(schema.key, options.id_namespace)
        if n_added != sum(file.n_rows for file in files):
            raise BatchNotPossibleError
        depot_ids = set().union(*(file.depot_ids for file in files))
        add_first_seen(connection, schema, depot_ids, settings)
    staging.drop()


def _loaded_report(request: LoadRequest) -> FileReport:
    file = _buffered(request)
    n_blank = sum(chunk.n_blank for chunk in file.chunks)
    notes = file_notes(file.mapping, file.conventions, file.depot_ids, 0, n_blank)
    path, counts = request.source.display_path, Counts(accepted=file.n_rows)
    return FileReport(path, file.mapping.schema.name, "loaded", counts, tuple(notes))
