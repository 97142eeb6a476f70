"""Loads many small files in one transaction if all of their rows are new.

A file by itself costs some twenty statements and a commit, six times as long. If rows are
known already, are rejected or repeat each other, the files are loaded one by one instead.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from pipelines.ingest.loading import (
    BufferedFile,
    LoadRequest,
    add_first_seen,
    ledger_entry,
    unchanged_report,
)
from pipelines.ingest.report import Counts, FileReport, file_notes
from pipelines.store import commit_order, order_counts
from pipelines.store import ingest as store

MAX_SMALL_FILE_BYTES = 64 << 10
MAX_FILES_TOGETHER = 500


@dataclass(frozen=True)
class SmallFile:
    """A file that may be loaded together with others; the file of its request is `parsed`."""

    request: LoadRequest
    parsed: BufferedFile

    @classmethod
    def of(cls, request: LoadRequest) -> "SmallFile | None":
        """Parses a file if it is small and not compressed; returns None otherwise.

        Raises:
          RefusedFileError: the bytes cannot be read as what they claim to be.
        """
        source = request.source
        if source.size > MAX_SMALL_FILE_BYTES or not source.is_plain_text:
            return None
        conventions, chunks = request.file.parse()
        parsed = BufferedFile(request.file.plan, conventions, tuple(chunks))
        return cls(replace(request, file=parsed), parsed)

    @property
    def n_rows(self) -> int:
        """Number of accepted rows."""
        return sum(chunk.n_rows for chunk in self.parsed.chunks)

    @property
    def depot_ids(self) -> set[str]:
        """Depots of the accepted rows."""
        return {depot for chunk in self.parsed.chunks for depot in chunk.depot_ids}

    @property
    def group(self) -> tuple[object, ...]:
        """Key of the group: files of one group fill the same columns of the same table."""
        plan = self.parsed.plan
        return plan.kind.name, tuple(plan.stored), self.request.options.id_namespace

    @property
    def is_simple(self) -> bool:
        """Whether it has rows, none is rejected, and its table records the file of a row."""
        has_rejected = any(chunk.rejected for chunk in self.parsed.chunks)
        is_recorded = self.parsed.plan.kind.table in store.WITHDRAWABLE
        return is_recorded and self.n_rows > 0 and not has_rejected


class NotAllNewError(Exception):
    """The files must be loaded one by one, and the transaction rolled back."""


def load_together(
    connection: sa.Connection, files: Sequence[SmallFile]
) -> list[FileReport]:
    """Loads simple files of one group, and reports on each in order.

    Raises:
      NotAllNewError: a row is known already or repeated, or a file changed meanwhile.
    """
    store.lock(connection, files[0].parsed.plan.kind.name)
    entries = [ledger_entry(file.request, file.n_rows) for file in files]
    keys = [(str(entry["sha256"]), str(entry["options_sha256"])) for entry in entries]
    known = store.known_files(connection, keys)
    new = [at for at, key in enumerate(keys) if key not in known]
    if len({keys[at] for at in new}) < len(new):
        raise NotAllNewError
    if new:
        if not files[0].request.is_dry_run:
            commit_order.arrive(connection)
        file_ids = store.add_files(connection, [entries[at] for at in new])
        _add_rows(connection, [files[at] for at in new], file_ids)
    if not all(file.request.source.is_unchanged() for file in files):
        raise NotAllNewError
    return [
        _loaded_report(file)
        if key not in known
        else unchanged_report(file.request, known[key])
        for file, key in zip(files, keys, strict=True)
    ]


def _add_rows(
    connection: sa.Connection, files: Sequence[SmallFile], file_ids: Sequence[int]
) -> None:
    plan, request = files[0].parsed.plan, files[0].request
    columns = [*plan.stored, "file_id"]
    incoming = store.Incoming.create(connection, plan.kind.table, columns)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for file, file_id in zip(files, file_ids, strict=True):
        writer.writerows([*row, file_id] for row in _rows(file))
    incoming.write(text.getvalue().encode())
    with order_counts.marked(connection, plan.kind.table):
        n_added = incoming.add_new(plan.kind.key, request.options.id_namespace)
        if n_added != sum(file.n_rows for file in files):
            raise NotAllNewError
        depot_ids = set().union(*(file.depot_ids for file in files))
        add_first_seen(connection, plan.kind, depot_ids, request.settings)
    incoming.drop()


def _rows(file: SmallFile) -> Iterator[list[str]]:
    for chunk in file.parsed.chunks:
        yield from csv.reader(io.StringIO(bytes(chunk.rows).decode(), newline=""))


def _loaded_report(file: SmallFile) -> FileReport:
    plan, blank = file.parsed.plan, sum(chunk.blank for chunk in file.parsed.chunks)
    notes = file_notes(plan, file.parsed.conventions, file.depot_ids, 0, blank)
    path, counts = file.request.source.display_path, Counts(accepted=file.n_rows)
    return FileReport(path, plan.kind.name, "loaded", counts, tuple(notes))
