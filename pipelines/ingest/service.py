"""Loads files into the database: each in its own transaction, small ones in groups."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import sqlalchemy as sa
import structlog

from forecaster.errors import BadInputError
from pipelines.ingest.inbox import DONE, move_to_done, wait_until_stable
from pipelines.ingest.loading import LoadRequest, load
from pipelines.ingest.options import (
    FileOptions,
    options_of_file,
    options_of_source,
)
from pipelines.ingest.parser import Parser
from pipelines.ingest.refusals import refusal
from pipelines.ingest.report import FileReport, IngestReport, depot_notes
from pipelines.ingest.small_files import (
    MAX_BATCH_FILES,
    BatchNotPossibleError,
    batch_key,
    load_batch,
    parse_if_small,
)
from pipelines.ingest.sources import Source, Unreadable
from pipelines.ingest.spool import (
    TEMPORARY_PREFIX,
    SourceOrError,
    Spool,
    locked,
    sweep_temporary_folders,
)
from pipelines.settings import Settings
from pipelines.store import events
from pipelines.store import ingest as store
from pipelines.store.demo import read_demo_fleet

log = structlog.get_logger()

MAX_FILES_ONE_BY_ONE = 8
"""Number of small files up to which a transaction for each is as quick as one for all."""


@dataclass(frozen=True)
class LoadProgress:
    """Progress of a load: rows and bytes of all files so far, under the name of the current one.

    Rejected rows count; the total of the rows is not known.
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
      BadInputError: the source of `options` is not in harbor.toml or is invalid there, or the
        database holds the demo's fleet.
    """
    if options.source is not None:
        options_of_source(options.source, options, settings.sources)
    today = today or datetime.now(settings.zone).date()
    sweep_temporary_folders(Path(gettempdir()))
    with (
        TemporaryDirectory(prefix=TEMPORARY_PREFIX) as folder,
        locked(Path(folder)),
    ):
        spool = Spool(Path(folder), settings.max_file_mib << 20, query)
        sources = spool.find(paths, settings.inbox / DONE)
        files = wait_until_stable(sources, settings.inbox, settings.settle_seconds)
        if files and not is_invented:
            _refuse_beside_demo(engine)
        with (
            Parser(settings.parser_memory_mib) as parser,
            _transactions(engine, dry_run) as begin,
        ):
            ingestion = _Ingestion(
                begin, parser, files, options, settings, today, progress, dry_run,
                total=sum(file.size for file in files if isinstance(file, Source)),
            )  # fmt: skip
            return ingestion.run()


def _refuse_beside_demo(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        demo = read_demo_fleet(connection)
    if demo is not None:
        raise BadInputError(
            f"This database holds the {demo.n_depots} invented depots of 'harbor demo', "
            "which own files would mix with. Set HARBOR_HOME to a new place, as in "
            "'export HARBOR_HOME=$PWD/var/mine', and load them there; take them out of "
            "the inbox of this one."
        )


@dataclass
class _Ingestion:
    """The files of one `ingest` call; small ones are collected and loaded in groups."""

    begin: Begin
    parser: Parser
    files: Sequence[SourceOrError]
    options: FileOptions
    settings: Settings
    today: date
    progress: Progress
    dry_run: bool
    total: int
    done: int = 0
    rows: int = 0
    pending: list[LoadRequest] = field(default_factory=list)
    reports: list[FileReport] = field(default_factory=list)
    loaded: list[Source] = field(default_factory=list)
    # Addresses of archives with a file that was refused.
    incomplete: set[str] = field(default_factory=set)

    def run(self) -> IngestReport:
        """Loads every file, and moves those of the inbox to `done`."""
        unused_columns = self._unused_columns()
        for file in self.files:
            parsed = self._parse(file, unused_columns)
            if not self._fits_pending(parsed):
                self._load_pending()
            if isinstance(parsed, FileReport):
                self._add(None, parsed)
            elif batch_key(parsed) is None:
                self._load(parsed)
            else:
                self.pending.append(parsed)
        self._load_pending()
        if not self.dry_run:
            self._move_to_done()
        return IngestReport(self.reports, self._notes())

    def _unused_columns(self) -> set[str]:
        """Returns the columns given for this call that no file of it can have.

        Headers are read until each column has its file. A file that is refused might
        have any of them.
        """
        unused = set(self.options.columns)
        for file in self.files:
            if not unused:
                break
            if isinstance(file, Source):
                try:
                    options = options_of_file(file, self.options, self.settings.sources)
                    mapping = self.parser.open(file, options, self.today).mapping
                except Exception as error:  # noqa: BLE001 - it is told when the file is parsed
                    refusal(file.name, error)
                    return set()
                unused -= {column.name for column in mapping.schema.columns}
        return unused

    def _parse(
        self, file: SourceOrError, unused_columns: set[str]
    ) -> LoadRequest | FileReport:
        """Parses the header of a file, or all of a small one; reports if that fails."""
        if isinstance(file, Unreadable):
            path, reason = file.display_path, file.reason
            if file.is_waiting:
                return FileReport(path, None, "waiting", notes=(reason,))
            return FileReport(path, None, "refused", error=reason)
        kind = None
        try:
            options = options_of_file(file, self.options, self.settings.sources)
            parsed = self.parser.open(file, options, self.today)
            kind = parsed.mapping.schema.name
            parsed.mapping.require_used(unused_columns, file.name)
            request = LoadRequest(file, options, parsed, self.settings, self.dry_run)
            return parse_if_small(request)
        except Exception as error:  # noqa: BLE001 - the other files are loaded
            return self._refused(file, kind, error)

    def _fits_pending(self, parsed: LoadRequest | FileReport) -> bool:
        if isinstance(parsed, FileReport) or not self.pending:
            return not self.pending
        is_alike = batch_key(parsed) == batch_key(self.pending[0])
        return is_alike and len(self.pending) < MAX_BATCH_FILES

    def _load_pending(self) -> None:
        pending, self.pending = self.pending, []
        self._load_batch(pending)

    def _load_batch(self, requests: Sequence[LoadRequest]) -> None:
        """Loads files in one transaction; if that fails, each half of them separately."""
        if len(requests) <= MAX_FILES_ONE_BY_ONE:
            for request in requests:
                self._load(request)
            return
        try:
            with self.begin() as connection:
                reports = load_batch(connection, requests)
        except BatchNotPossibleError:
            half = len(requests) // 2
            self._load_batch(requests[:half])
            self._load_batch(requests[half:])
            return
        for request, report in zip(requests, reports, strict=True):
            n_rows = report.counts.accepted + report.counts.unchanged
            self._report_progress(request.source, request.source.size, n_rows)
            self._add(request.source, report)

    def _load(self, request: LoadRequest) -> None:
        source, kind = request.source, request.file.mapping.schema.name
        try:
            with self.begin() as connection:
                progress = partial(self._report_progress, source)
                report = load(connection, request, progress)
        except Exception as error:  # noqa: BLE001 - the other files are loaded
            report = self._refused(source, kind, error)
        self._add(source, report)

    def _refused(
        self, source: Source, kind: str | None, error: Exception
    ) -> FileReport:
        reason = refusal(source.name, error)
        if source.container is not None:
            self.incomplete.add(source.container.address)
        return FileReport(source.display_path, kind, "refused", error=reason)

    def _add(self, source: Source | None, report: FileReport) -> None:
        """Adds the report of a file whose transaction is committed, or that has none."""
        # At info level if refused, too: the report lists the refusal in any case.
        reason = {"reason": report.error} if report.error else {}
        counts = vars(report.counts)
        log.info("file", path=report.path, state=report.state, **counts, **reason)
        self.reports.append(report)
        if source is not None and report.error is None:
            self.loaded.append(source)

    def _move_to_done(self) -> None:
        """Moves loaded files of the inbox to `done`; an archive once all of it is loaded."""
        for source in self.loaded:
            archive = source.container
            if archive is None or archive.address not in self.incomplete:
                move_to_done(source, self.settings.inbox)

    def _notes(self) -> tuple[str, ...]:
        if all(report.state != "loaded" for report in self.reports):
            return ()
        with self.begin() as connection:
            n_depots = store.count_undescribed(connection)
            unplaced = events.unplaced(connection)
        return tuple(depot_notes(n_depots, unplaced))

    def _report_progress(self, source: Source, size: int, rows: int) -> None:
        self.done, self.rows = self.done + size, self.rows + rows
        done = min(self.done, self.total)
        self.progress(LoadProgress(source.name, self.rows, done, self.total))


@contextmanager
def _transactions(engine: sa.Engine, dry_run: bool) -> Iterator[Begin]:
    """Yields what begins a transaction; in a dry run, a savepoint of one rolled back."""
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
