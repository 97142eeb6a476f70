"""Loads files into the database: consecutive files of one kind share a transaction."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property, partial
from typing import Any, Self

import sqlalchemy as sa
import structlog

from forecaster.errors import BadInputError
from pipelines.demand import counting
from pipelines.ingest.load.loading import FileGroup, FileLoad
from pipelines.ingest.load.report import (
    Counts,
    FileReport,
    IngestReport,
    calendar_notes,
    correction_notes,
    depot_notes,
)
from pipelines.ingest.rows.file_schemas import FileSchema
from pipelines.ingest.rows.options import FileOptions, options_of_file
from pipelines.ingest.rows.parser import Parser
from pipelines.ingest.sources.files import Skipped, Source
from pipelines.ingest.sources.inbox import move_to_done, wait_until_stable
from pipelines.ingest.sources.refusals import refusal
from pipelines.ingest.sources.spool import SourceOrError, Spool
from pipelines.ingest.sources.temporary import temporary_folder
from pipelines.runs.ledger import Run
from pipelines.settings import Settings
from pipelines.settings.days import first_origin
from pipelines.settings.ingest import DONE
from pipelines.store import events, holidays
from pipelines.store.demo import read_demo_fleet
from pipelines.store.ingest import LOCKS, count_undescribed, lock, now

log = structlog.get_logger()

MAX_GROUP_FILES = 500
MAX_GROUP_BYTES = 32 << 20
"""Maximum files and bytes per commit: a commit for every file would take most of a load's time. A
larger file gets a commit of its own."""


@dataclass(frozen=True)
class LoadProgress:
    """Progress of a load: the current file's name, and rows and bytes of all files so far.

    `rows` includes rejected rows; `done` and `total` are bytes.
    """

    name: str
    rows: int
    done: int
    total: int


Progress = Callable[[LoadProgress], None]

Begin = Callable[[], AbstractContextManager[sa.Connection]]


def ingest(
    engine: sa.Engine,
    paths: Sequence[str],
    options: FileOptions,
    settings: Settings,
    progress: Progress = lambda _: None,
    *,
    dry_run: bool = False,
    today: date | None = None,
    is_invented: bool = False,
) -> IngestReport:
    """Loads files; safe to repeat, and to run beside other loads.

    A refused file changes nothing and does not stop the others; a file of the inbox that is
    still being written is left for the next load.

    Args:
      engine: Database the pipelines own.
      paths: Files, folders, `-` for standard input, http(s):// URLs, and URLs that
        pyarrow's file systems open; they are loaded in the order of their names, and
        rows of later files replace those of earlier ones.
      options: How the files are read; overrides the options of their sources.
      settings: Limits, sources, and zone and country of depots without a description.
      progress: Called as rows and bytes are read.
      dry_run: Loads everything and rolls back. Other loads wait meanwhile.
      today: Day from which limits on future dates are counted; default: today in the fleet's zone.
      is_invented: Whether 'harbor demo' wrote the files.

    Raises:
      BadInputError: the database holds the demo's fleet.
    """
    today = today or datetime.now(settings.zone).date()
    with ExitStack() as copies:
        spool = Spool(
            lambda: copies.enter_context(temporary_folder()),
            settings.max_file_mib << 20,
        )
        sources = spool.find(paths, settings.inbox / DONE)
        # Before they are unpacked: an archive may still be being written.
        stable = wait_until_stable(sources, settings.inbox, settings.settle_seconds)
        files = spool.unpack(stable)
        if files and not is_invented:
            _refuse_beside_demo(engine)
        with (
            Parser(settings.parser_memory_mib) as parser,
            _transactions(engine, dry_run) as begin,
            _Groups(begin, dry_run) as groups,
        ):
            ingestion = _Ingestion(
                parser, groups, files, options, settings, today, progress, dry_run
            )
            with begin() as connection:
                began = now(connection)
            ingestion.load_all()
            groups.end()
            notes = ingestion.notes(begin, began)
        if not dry_run:
            ingestion.move_to_done()
        return IngestReport(ingestion.reports, notes)


def ingest_and_count(
    run: Run,
    now: datetime,
    paths: Sequence[str],
    options: FileOptions,
    settings: Settings,
    progress: Progress = lambda _: None,
) -> IngestReport:
    """Loads files as `ingest` does and recounts demand; records numbers in the run's metrics."""
    report = ingest(run.engine, paths, options, settings, progress)
    counts = sum((file.counts for file in report.files), start=Counts())
    run.metrics |= {"files": len(report.files)} | vars(counts)
    run.metrics["refused"] = len(report.refused)
    # Even if nothing is new: the previous load may have died before this step.
    counting.rebuild_in(run, now)
    return report


def _refuse_beside_demo(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        demo = read_demo_fleet(connection)
    if demo is not None:
        raise BadInputError(
            f"This database holds the {demo.n_depots} invented depots of 'harbor demo', "
            "with which your own files would mix. Set HARBOR_HOME to a new folder, as in "
            "'export HARBOR_HOME=$PWD/var/mine', and load your files there; remove them "
            "from the demo's inbox."
        )


class _Groups:
    """Forms groups of files of one kind, up to a size limit, with a transaction for each group."""

    def __init__(self, begin: Begin, dry_run: bool) -> None:
        self._begin = begin
        self._dry_run = dry_run
        self._group: FileGroup | None = None
        self._transaction = ExitStack()
        self._n_files = self._n_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        # After an error the group is rolled back.
        self._transaction.__exit__(*error)

    @contextmanager
    def file(self, schema: FileSchema, size: int) -> Iterator[FileGroup]:
        """Yields the group for a file; on an error the file's changes are rolled back."""
        is_full = (
            self._n_files == MAX_GROUP_FILES or self._n_bytes + size > MAX_GROUP_BYTES
        )
        if self._group is not None and (is_full or self._group.schema is not schema):
            self.end()
        if self._group is None:
            connection = self._transaction.enter_context(self._begin())
            self._group = FileGroup.begin(connection, schema)
        self._n_files += 1
        self._n_bytes += size
        with self._group.connection.begin_nested():
            yield self._group

    def end(self) -> None:
        """Commits the current group."""
        if self._group is not None:
            self._group.end(is_dry_run=self._dry_run)
        self._transaction.close()
        self._group = None
        self._n_files = self._n_bytes = 0


@dataclass
class _Ingestion:
    """The load of the files of one `ingest` call, and its progress."""

    parser: Parser
    groups: _Groups
    files: Sequence[SourceOrError]
    options: FileOptions
    settings: Settings
    today: date
    progress: Progress
    dry_run: bool
    done: int = 0
    rows: int = 0
    reports: list[FileReport] = field(default_factory=list)
    loaded: list[Source] = field(default_factory=list)
    # Addresses of archives that contain a refused file.
    incomplete: set[str] = field(default_factory=set)

    @cached_property
    def total(self) -> int:
        """Size of all files in bytes."""
        return sum(file.size for file in self.files if isinstance(file, Source))

    def load_all(self) -> None:
        """Loads every file, and reports on each in order."""
        for file in self.files:
            report = self._load(file)
            if report is None:
                continue
            # Refusals are logged at info level too, because the report lists them.
            reason = {"reason": report.error} if report.error else {}
            counts = vars(report.counts)
            log.info("file", path=report.path, state=report.state, **counts, **reason)
            self.reports.append(report)

    def _was_moved(self, on_disk: Source) -> bool:
        """Whether another load has taken it out of the inbox."""
        return on_disk.is_below(self.settings.inbox) and on_disk.is_gone()

    def _load(self, file: SourceOrError) -> FileReport | None:
        """Loads one file; an error that concerns only this file becomes a refusal.

        None if another load has taken the file out of the inbox.
        """
        if isinstance(file, Skipped):
            path, reason = file.display_path, file.reason
            if file.is_waiting:
                return FileReport(path, None, "waiting", notes=(reason,))
            if file.container is not None and self._was_moved(file.container):
                return None
            if file.container is not None:
                self.incomplete.add(file.container.address)
            return FileReport(path, None, "refused", error=reason)
        kind = None
        try:
            options = options_of_file(file, self.options, self.settings.sources)
            mapping = self.parser.open(file, options, self.today)
            kind = mapping.schema.name
            progress = partial(self._report_progress, file)
            with self.groups.file(mapping.schema, file.size) as group:
                report = FileLoad(
                    group, file, options, mapping, self.parser, self.settings,
                    progress, self.dry_run,
                ).run()  # fmt: skip
        except Exception as error:  # noqa: BLE001 - the other files are loaded
            if self._was_moved(file.container or file):
                return None
            reason = refusal(file.name, error)
            if file.container is not None:
                self.incomplete.add(file.container.address)
            return FileReport(file.display_path, kind, "refused", error=reason)
        self.loaded.append(file)
        return report

    def move_to_done(self) -> None:
        """Moves loaded inbox files to `done`; an archive only if none of its files was refused."""
        for source in self.loaded:
            archive = source.container
            if archive is None or archive.address not in self.incomplete:
                move_to_done(source, self.settings.inbox)

    def notes(self, begin: Begin, began: datetime) -> tuple[str, ...]:
        """Returns notes on missing descriptions, unknown places and corrected events."""
        kinds = {each.kind for each in self.reports if each.state == "loaded"}
        if not kinds:
            return ()
        with begin() as connection:
            n_depots = count_undescribed(connection)
            unplaced = events.unplaced(connection)
            regions = holidays.regions(connection) if "depots" in kinds else []
            corrected = (
                events.corrected_since(connection, began) if "events" in kinds else 0
            )
            since = first_origin(now(connection), self.settings.zone)
        return (
            *calendar_notes(regions),
            *depot_notes(n_depots, unplaced),
            *correction_notes(corrected, since),
        )

    def _report_progress(self, source: Source, size: int, rows: int) -> None:
        self.done, self.rows = self.done + size, self.rows + rows
        done = min(self.done, self.total)
        self.progress(LoadProgress(source.name, self.rows, done, self.total))


@contextmanager
def _transactions(engine: sa.Engine, dry_run: bool) -> Iterator[Begin]:
    """Yields a function that begins a transaction; in a dry run, a savepoint, later rolled back."""
    if not dry_run:
        yield engine.begin
        return
    with engine.connect() as connection, connection.begin() as transaction:
        for kind in LOCKS:
            lock(connection, kind)

        @contextmanager
        def part() -> Iterator[sa.Connection]:
            with connection.begin_nested():
                yield connection

        yield part
        transaction.rollback()
