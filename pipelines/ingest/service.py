"""Loads files into the database: each in its own transaction, small ones in groups."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from pathlib import Path

import sqlalchemy as sa
import structlog

from forecaster.errors import BadInputError, RefusedFileError
from pipelines.ingest import messages
from pipelines.ingest.file_stability import UnstableFile, wait_until_stable
from pipelines.ingest.inbox import DONE, move_to_done
from pipelines.ingest.loading import LoadRequest, load
from pipelines.ingest.matching import (
    options_of_file,
    options_of_source,
    require_readable,
)
from pipelines.ingest.parser import Parser
from pipelines.ingest.report import FileOptions, FileReport, IngestReport
from pipelines.ingest.small_files import (
    MAX_FILES_TOGETHER,
    NotAllNewError,
    SmallFile,
    load_together,
)
from pipelines.ingest.sources import Source, Unreadable
from pipelines.ingest.spool import Spool, spool_folder
from pipelines.settings import Settings
from pipelines.store import ingest as store
from pipelines.store.demo import read_demo_fleet

log = structlog.get_logger()


@dataclass(frozen=True)
class LoadProgress:
    """Progress of a load.

    Args:
      name: Name of the current file.
      rows: Rows of all files so far, rejected ones included; the total is not known.
      done: Bytes of all files so far.
      total: Bytes of all files.
    """

    name: str
    rows: int
    done: int
    total: int


MAX_FILES_ONE_BY_ONE = 8
"""Up to so many small files, a transaction for each is as quick as one for all."""

Progress = Callable[[LoadProgress], None]

Begin = Callable[[], AbstractContextManager[sa.Connection]]


def _ignore_progress(_: LoadProgress) -> None:
    pass


def ingest(
    engine: sa.Engine,
    paths: Sequence[str],
    options: FileOptions,
    settings: Settings,
    progress: Progress = _ignore_progress,
    *,
    query: str | None = None,
    dry_run: bool = False,
    today: date | None = None,
    is_invented: bool = False,
) -> IngestReport:
    """Loads files; safe to repeat, and to run beside other loads.

    A file that is refused changes nothing and does not keep the others out; one in the
    inbox that is still being written is left.

    Args:
      engine: Database the pipelines own.
      paths: Files, folders, `-` for standard input, http(s):// URLs, and URLs that
        pyarrow's file systems open; they are taken in the order of their names, and the
        later one wins.
      options: How the files are read; overrides the options of their sources.
      settings: Zone and country of depots that nobody has described yet, and the sources.
      progress: Called as rows and bytes are read.
      query: Run on each of the paths, which then are database URLs.
      dry_run: Loads everything and rolls back. Other loads wait meanwhile.
      today: Dates may lie two days after it; the fleet's own day where not given.
      is_invented: Whether the files are those of 'harbor demo'.

    Raises:
      BadInputError: a source is not in harbor.toml or is invalid there, or the database
        holds the demo's fleet.
    """
    require_readable(settings.sources)
    if options.source is not None:
        options_of_source(options.source, options, settings.sources)
    today = today or datetime.now(settings.zone).date()
    with spool_folder() as folder:
        spool = Spool(Path(folder), settings.max_file_mib << 20, query)
        sources = spool.find(paths, settings.inbox / DONE)
        files = wait_until_stable(sources, settings.inbox, settings.settle_seconds)
        if files and not is_invented:
            _refuse_beside_demo(engine)
        total = sum(file.size for file in files if isinstance(file, Source))
        with (
            Parser(settings.parser_memory_mib) as parser,
            _transaction_per_file(engine, dry_run) as begin,
        ):
            ingestion = _Ingestion(
                begin, parser, options, settings, today, progress, total, dry_run
            )
            ingestion.unused_columns = ingestion.find_unused_columns(files)
            for file in files:
                ingestion.add(file)
            ingestion.load_pending()
            ingestion.move_to_done()
            notes = tuple(_notes(begin, ingestion.reports))
            return IngestReport(ingestion.reports, notes)


def _refuse_beside_demo(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        demo = read_demo_fleet(connection)
    if demo is not None:
        raise BadInputError(
            f"This database holds the {demo.n_depots} invented depots of 'harbor demo', "
            "which own files would mix with. Set HARBOR_HOME to a new place, as in "
            "'export HARBOR_HOME=$PWD/var/mine', and load them there."
        )


@dataclass
class _Ingestion:
    """The files of one `ingest` call; small ones are collected and loaded in groups."""

    begin: Begin
    parser: Parser
    options: FileOptions
    settings: Settings
    today: date
    progress: Progress
    total: int
    dry_run: bool
    done: int = 0
    rows: int = 0
    pending: list[SmallFile] = field(default_factory=list)
    reports: list[FileReport] = field(default_factory=list)
    loaded: list[Source] = field(default_factory=list)
    # Archives with a file that was refused.
    incomplete: list[Source] = field(default_factory=list)
    unused_columns: set[str] = field(default_factory=set)

    def find_unused_columns(
        self, files: Sequence[Source | Unreadable | UnstableFile]
    ) -> set[str]:
        """Returns the columns given for this call that no file of it can have.

        Headers are read until each column has its file. A file that is refused might
        have any of them.
        """
        unused = set(self.options.columns)
        for file in files:
            if not unused:
                break
            if isinstance(file, Source):
                try:
                    options = options_of_file(file, self.options, self.settings.sources)
                    plan = self.parser.open(file, options, self.today).plan
                except RefusedFileError:
                    return set()
                unused -= {column.name for column in plan.kind.columns}
        return unused

    def add(self, file: Source | Unreadable | UnstableFile) -> None:
        """Loads a file, or keeps it to be loaded together with those after it."""
        step: LoadRequest | SmallFile | FileReport
        if isinstance(file, Source):
            step = self._parse(file)
        elif isinstance(file, UnstableFile):
            step = _waiting_report(file)
        else:
            step = _refused_report(file.display_path, None, file.reason)
        if not self._fits_pending_group(step):
            self.load_pending()
        if isinstance(step, SmallFile) and step.is_simple:
            self.pending.append(step)
        elif isinstance(step, FileReport):
            self.reports.append(step)
        else:
            self._load(step.request if isinstance(step, SmallFile) else step)

    def load_pending(self) -> None:
        """Loads the collected small files."""
        pending, self.pending = self.pending, []
        self._load_together(pending)

    def move_to_done(self) -> None:
        """Moves loaded files of the inbox to `done`; an archive once all of it is loaded."""
        if self.dry_run:
            return
        for source in self.loaded:
            if source.container not in self.incomplete:
                move_to_done(source, self.settings.inbox)

    def _fits_pending_group(self, file: LoadRequest | SmallFile | FileReport) -> bool:
        if not isinstance(file, SmallFile) or not file.is_simple:
            return False
        return not self.pending or (
            file.group == self.pending[0].group
            and len(self.pending) < MAX_FILES_TOGETHER
        )

    def _parse(self, source: Source) -> LoadRequest | SmallFile | FileReport:
        kind = None
        try:
            options = options_of_file(source, self.options, self.settings.sources)
            parsed = self.parser.open(source, options, self.today)
            kind = parsed.plan.kind.name
            parsed.plan.require_used(self.unused_columns, source.name)
            request = LoadRequest(source, options, parsed, self.settings, self.dry_run)
            return SmallFile.of(request) or request
        except RefusedFileError as error:
            return self._refused(source, kind, str(error))

    def _load_together(self, files: Sequence[SmallFile]) -> None:
        """Loads files in one transaction; if that fails, each half of them separately."""
        if len(files) <= MAX_FILES_ONE_BY_ONE:
            for file in files:
                self._load(file.request)
            return
        try:
            with self.begin() as connection:
                reports = load_together(connection, files)
        except NotAllNewError:
            half = len(files) // 2
            self._load_together(files[:half])
            self._load_together(files[half:])
            return
        for file, report in zip(files, reports, strict=True):
            source = file.request.source
            self._report_progress(source, source.size, file.n_rows)
            self._add(source, report)

    def _load(self, request: LoadRequest) -> None:
        try:
            with self.begin() as connection:
                report = load(
                    connection, request, partial(self._report_progress, request.source)
                )
        except RefusedFileError as error:
            kind = request.file.plan.kind.name
            self.reports.append(self._refused(request.source, kind, str(error)))
        else:
            self._add(request.source, report)

    def _add(self, source: Source, report: FileReport) -> None:
        log.info("file", path=report.path, state=report.state, **vars(report.counts))
        self.reports.append(report)
        self.loaded.append(source)

    def _refused(self, source: Source, kind: str | None, reason: str) -> FileReport:
        if source.container is not None:
            self.incomplete.append(source.container)
        return _refused_report(source.display_path, kind, reason)

    def _report_progress(self, source: Source, size: int, rows: int) -> None:
        self.done, self.rows = min(self.done + size, self.total), self.rows + rows
        self.progress(LoadProgress(source.name, self.rows, self.done, self.total))


def _notes(begin: Begin, reports: Sequence[FileReport]) -> Iterator[str]:
    if any(report.state == "loaded" for report in reports):
        with begin() as connection:
            if depots := store.count_undescribed(connection):
                yield messages.undescribed_depots_note(depots)


def _waiting_report(file: UnstableFile) -> FileReport:
    log.info("file", path=file.display_path, state="waiting")
    return FileReport(file.display_path, None, "waiting", notes=(file.note,))


def _refused_report(display_path: str, kind: str | None, reason: str) -> FileReport:
    # At info level, as for other files: the report lists the refusal in any case.
    log.info("file", path=display_path, state="refused", reason=reason)
    return FileReport(display_path, kind, "refused", error=reason)


@contextmanager
def _transaction_per_file(engine: sa.Engine, dry_run: bool) -> Iterator[Begin]:
    """Yields a transaction per file; in a dry run savepoints of one that is rolled back."""
    if not dry_run:
        yield engine.begin
        return
    with engine.connect() as connection, connection.begin() as transaction:
        for kind in store.LOCKS:
            store.lock(connection, kind)

        @contextmanager
        def savepoint() -> Iterator[sa.Connection]:
            with connection.begin_nested():
                yield connection

        yield savepoint
        transaction.rollback()
