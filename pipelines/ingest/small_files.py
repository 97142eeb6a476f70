"""Loads many small files in one transaction if all of their rows are new.

Loading one file costs a dozen statements and a commit. If rows are known already, are
rejected or repeat each other, the files are loaded one by one instead (`loading`).
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import sqlalchemy as sa

from pipelines.ingest import messages
from pipelines.ingest.chunks import Chunk, ParsedFile
from pipelines.ingest.conventions import Conventions
from pipelines.ingest.kind_detection import Plan
from pipelines.ingest.loading import LoadRequest, add_first_seen, unchanged
from pipelines.ingest.report import DEFAULT_SOURCE, Counts, FileReport
from pipelines.store import commit_order, order_counts
from pipelines.store import ingest as store

MAX_SMALL_FILE_BYTES = 64 << 10
MAX_FILES_TOGETHER = 500


@dataclass(frozen=True)
class BufferedParse:
    """A small file parsed to its end and kept in memory, as a `ParsedFile`."""

    plan: Plan
    detected: Conventions
    buffered: tuple[Chunk, ...]

    @classmethod
    def of(cls, file: ParsedFile) -> "BufferedParse":
        """Parses a file.

        Raises:
          RefusedFileError: the bytes cannot be read as what they claim to be.
        """
        detected = file.conventions()
        return cls(file.plan, detected, tuple(file.chunks(detected)))

    def conventions(self) -> Conventions:
        """As `ParsedFile.conventions`."""
        return self.detected

    def chunks(self, conventions: Conventions) -> Iterator[Chunk]:  # noqa: ARG002
        """As `ParsedFile.chunks`."""
        return iter(self.buffered)


@dataclass(frozen=True)
class SmallFile:
    """A file that may be loaded together with others.

    Args:
      request: The file and its options; its `file` is `parsed`.
      parsed: Its rows.
    """

    request: LoadRequest
    parsed: BufferedParse

    @classmethod
    def of(cls, request: LoadRequest) -> "SmallFile | None":
        """Parses a file if it is small and not compressed; returns None otherwise.

        Raises:
          RefusedFileError: the bytes cannot be read as what they claim to be.
        """
        source = request.source
        if source.size > MAX_SMALL_FILE_BYTES or not source.is_plain_text:
            return None
        parsed = BufferedParse.of(request.file)
        return cls(replace(request, file=parsed), parsed)

    @property
    def n_rows(self) -> int:
        """Number of accepted rows."""
        return sum(chunk.n_rows for chunk in self.parsed.buffered)

    @property
    def group(self) -> tuple[object, ...]:
        """Key of the group: files of one group fill the same columns of the same table."""
        plan = self.parsed.plan
        return plan.kind.name, tuple(plan.stored), self.request.options.id_namespace

    @property
    def is_simple(self) -> bool:
        """Whether it has rows, none is rejected, and its table records the file of a row."""
        rejected = any(chunk.rejected for chunk in self.parsed.buffered)
        is_of_rows = self.parsed.plan.kind.table in store.WITHDRAWABLE
        return is_of_rows and self.n_rows > 0 and not rejected


class NotAllNewError(Exception):
    """The files must be loaded one by one, and the transaction rolled back."""


def load_together(
    connection: sa.Connection, files: Sequence[SmallFile]
) -> list[FileReport]:
    """Loads files of one group, and reports on each in order.

    Args:
      connection: Inside a transaction.
      files: Simple ones of one group, in order.

    Raises:
      NotAllNewError: a row is known already or repeated, or a file changed meanwhile.
    """
    store.lock(connection, files[0].parsed.plan.kind.name)
    entries = [_entry(file) for file in files]
    pairs = [(str(entry["sha256"]), str(entry["options_sha256"])) for entry in entries]
    known = store.known_files(connection, pairs)
    new = [at for at, pair in enumerate(pairs) if pair not in known]
    if len({pairs[at] for at in new}) < len(new):
        raise NotAllNewError
    if new:
        if not files[0].request.is_dry_run:
            commit_order.arrive(connection)
        ids = store.add_files(connection, [entries[at] for at in new])
        _add_rows(connection, [files[at] for at in new], ids)
    if not all(file.request.source.is_unchanged() for file in files):
        raise NotAllNewError
    return [
        _report(file) if pair not in known else unchanged(file.request, known[pair])
        for file, pair in zip(files, pairs, strict=True)
    ]


def _add_rows(
    connection: sa.Connection, files: Sequence[SmallFile], ids: Sequence[int]
) -> None:
    plan, request = files[0].parsed.plan, files[0].request
    table, columns = plan.kind.table, [*plan.stored, "file_id"]
    incoming = store.Incoming.create(connection, table, columns)
    incoming.write(_as_csv(files, ids))
    with order_counts.marked(connection, table):
        added = incoming.add_new(plan.kind.key, request.options.id_namespace)
        if added != sum(file.n_rows for file in files):
            raise NotAllNewError
        depots = {depot for file in files for depot in _depot_ids(file)}
        add_first_seen(connection, depots, request.settings)
    incoming.drop()


def _entry(file: SmallFile) -> dict[str, object]:
    plan, request = file.parsed.plan, file.request
    return {
        "path": request.source.address,
        "sha256": request.source.sha256(),
        "options_sha256": request.options.fingerprint(plan.kind.name, plan.names),
        "kind": plan.kind.name,
        "source": request.options.source or DEFAULT_SOURCE,
        "size_bytes": request.source.size,
        "ignored_columns": plan.ignored,
        "accepted": file.n_rows,
        "unchanged": 0,
        "rejected": 0,
    }


def _as_csv(files: Sequence[SmallFile], ids: Sequence[int]) -> bytes:
    """Returns the rows of all files as CSV, with the file id as last column."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for file, file_id in zip(files, ids, strict=True):
        for chunk in file.parsed.buffered:
            lines = io.StringIO(bytes(chunk.rows).decode(), newline="")
            writer.writerows([*row, file_id] for row in csv.reader(lines))
    return text.getvalue().encode()


def _depot_ids(file: SmallFile) -> set[str]:
    return set(chain.from_iterable(chunk.depot_ids for chunk in file.parsed.buffered))


def _report(file: SmallFile) -> FileReport:
    plan, blank = file.parsed.plan, sum(chunk.blank for chunk in file.parsed.buffered)
    notes = messages.file_notes(plan, file.parsed.detected, _depot_ids(file), 0, blank)
    counts = Counts(accepted=file.n_rows)
    display_path = file.request.source.display_path
    return FileReport(
        display_path, plan.kind.name, "loaded", counts, blank, tuple(notes)
    )
