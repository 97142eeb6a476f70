"""Loads many small files in one transaction, where all of their rows are new.

A file of its own costs a dozen statements and a commit. Where rows are known already, are
bad or repeat each other, the files are loaded one by one instead (`loading`).
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
from pipelines.ingest.loading import Load, add_first_seen, unchanged
from pipelines.ingest.report import DEFAULT_SOURCE, Counts, FileReport
from pipelines.store import commit_order, order_counts
from pipelines.store import ingest as store

SMALL_BYTES = 64 << 10
MOST_FILES = 500


@dataclass(frozen=True)
class Parsed:
    """A small file that has been parsed to its end, as an `ParsedFile`."""

    plan: Plan
    found: Conventions
    rows: tuple[Chunk, ...]

    @classmethod
    def of(cls, file: ParsedFile) -> "Parsed":
        """Parses a file.

        Raises:
          RefusedFileError: the bytes cannot be read as what they claim to be.
        """
        found = file.conventions()
        return cls(file.plan, found, tuple(file.chunks(found)))

    def conventions(self) -> Conventions:
        """As `ParsedFile.conventions`."""
        return self.found

    def chunks(self, found: Conventions) -> Iterator[Chunk]:  # noqa: ARG002
        """As `ParsedFile.chunks`."""
        return iter(self.rows)


@dataclass(frozen=True)
class SmallFile:
    """A file that may be loaded together with others.

    Args:
      load: The file; its `file` is `parsed`.
      parsed: Its rows.
    """

    load: Load
    parsed: Parsed

    @classmethod
    def of(cls, load: Load) -> "SmallFile | None":
        """Parses a file, if it is small enough to be held and is not packed.

        Raises:
          RefusedFileError: the bytes cannot be read as what they claim to be.
        """
        source = load.source
        if source.size > SMALL_BYTES or not source.is_plain_text:
            return None
        parsed = Parsed.of(load.file)
        return cls(replace(load, file=parsed), parsed)

    @property
    def n_rows(self) -> int:
        """Rows, all of them good."""
        return sum(chunk.n_rows for chunk in self.parsed.rows)

    @property
    def group(self) -> tuple[object, ...]:
        """Files of one group go into the same columns of the same table."""
        plan = self.parsed.plan
        return plan.kind.name, tuple(plan.stored), self.load.options.id_namespace

    @property
    def is_simple(self) -> bool:
        """Whether it has rows, no bad one, and goes to a table of rows of files."""
        rejected = any(chunk.rejected for chunk in self.parsed.rows)
        is_of_rows = self.parsed.plan.kind.table in store.WITHDRAWABLE
        return is_of_rows and self.n_rows > 0 and not rejected


class NotAllNewError(Exception):
    """The files must be loaded one by one; what was begun must be rolled back."""


def load_together(
    connection: sa.Connection, files: Sequence[SmallFile]
) -> list[FileReport]:
    """Loads files of one group, and reports on each in order.

    Args:
      connection: Inside a transaction.
      files: Simple ones of one group, in order.

    Raises:
      NotAllNewError: a row is known already, or comes twice, or a file changed meanwhile.
    """
    store.lock(connection, files[0].parsed.plan.kind.name)
    entries = [_entry(file) for file in files]
    pairs = [(str(entry["sha256"]), str(entry["options_sha256"])) for entry in entries]
    known = store.known_files(connection, pairs)
    new = [at for at, pair in enumerate(pairs) if pair not in known]
    if len({pairs[at] for at in new}) < len(new):
        raise NotAllNewError
    if new:
        if not files[0].load.is_dry_run:
            commit_order.arrive(connection)
        ids = store.add_files(connection, [entries[at] for at in new])
        _add_rows(connection, [files[at] for at in new], ids)
    if not all(file.load.source.is_unchanged() for file in files):
        raise NotAllNewError
    return [
        _report(file) if pair not in known else unchanged(file.load, known[pair])
        for file, pair in zip(files, pairs, strict=True)
    ]


def _add_rows(
    connection: sa.Connection, files: Sequence[SmallFile], ids: Sequence[int]
) -> None:
    plan, load = files[0].parsed.plan, files[0].load
    table, columns = plan.kind.table, [*plan.stored, "file_id"]
    incoming = store.Incoming.create(connection, table, columns)
    incoming.write(_as_csv(files, ids))
    with order_counts.marked(connection, table):
        added = incoming.add_new(plan.kind.key, load.options.id_namespace)
        if added != sum(file.n_rows for file in files):
            raise NotAllNewError
        depots = {depot for file in files for depot in _depot_ids(file)}
        add_first_seen(connection, depots, load.settings)
    incoming.drop()


def _entry(file: SmallFile) -> dict[str, object]:
    plan, load = file.parsed.plan, file.load
    return {
        "path": load.source.address,
        "sha256": load.source.sha256(),
        "options_sha256": load.options.fingerprint(plan.kind.name, plan.names),
        "kind": plan.kind.name,
        "source": load.options.source or DEFAULT_SOURCE,
        "size_bytes": load.source.size,
        "ignored_columns": plan.ignored,
        "accepted": file.n_rows,
        "unchanged": 0,
        "rejected": 0,
    }


def _as_csv(files: Sequence[SmallFile], ids: Sequence[int]) -> bytes:
    """Rows of all files, each with the id of its file behind it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for file, file_id in zip(files, ids, strict=True):
        for chunk in file.parsed.rows:
            lines = io.StringIO(bytes(chunk.rows).decode(), newline="")
            writer.writerows([*row, file_id] for row in csv.reader(lines))
    return text.getvalue().encode()


def _depot_ids(file: SmallFile) -> set[str]:
    return set(chain.from_iterable(chunk.depot_ids for chunk in file.parsed.rows))


def _report(file: SmallFile) -> FileReport:
    plan, blank = file.parsed.plan, sum(chunk.blank for chunk in file.parsed.rows)
    said = messages.of_file(plan, file.parsed.found, _depot_ids(file), 0, blank)
    counts = Counts(accepted=file.n_rows)
    shown = file.load.source.shown
    return FileReport(shown, plan.kind.name, "loaded", counts, blank, tuple(said))
