"""Files to rows: every file in a transaction of its own, or many small ones in one."""

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
from pipelines.ingest.file_stability import Unsettled, settled
from pipelines.ingest.inbox import DONE, put_away
from pipelines.ingest.loading import Load, load
from pipelines.ingest.matching import (
    options_of_file,
    options_of_source,
    require_readable,
)
from pipelines.ingest.parser import Parser
from pipelines.ingest.report import FileOptions, FileReport, IngestReport
from pipelines.ingest.small_files import (
    MOST_FILES,
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
    """How far a load has come.

    Args:
      name: Of the file at hand.
      rows: Of all files so far, bad ones too; how many there will be nobody knows.
      done: Bytes of all files so far.
      total: Bytes of all files.
    """

    name: str
    rows: int
    done: int
    total: int


FEW_FILES = 8
"""As many are as quick one by one."""

Progress = Callable[[LoadProgress], None]

Begin = Callable[[], AbstractContextManager[sa.Connection]]


def _silent(_: LoadProgress) -> None:
    pass


def ingest(
    engine: sa.Engine,
    paths: Sequence[str],
    options: FileOptions,
    settings: Settings,
    progress: Progress = _silent,
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
      options: What is known about the files; it goes before what their sources say.
      settings: Zone and country of depots that nobody has described yet, and the sources.
      progress: Told as rows and bytes go by.
      query: Run on each of the paths, which are addresses of databases then.
      dry_run: Does everything, and takes it back. Other loads wait meanwhile.
      today: Dates may lie two days after it; the fleet's own day where not given.
      is_invented: Whether the files are those of 'harbor demo'.

    Raises:
      BadInputError: a source is named that harbor.toml does not have, or says what cannot
        be; or own files would mix with the demo's.
    """
    require_readable(settings.sources)
    if options.source is not None:
        options_of_source(options.source, options, settings.sources)
    today = today or datetime.now(settings.zone).date()
    with spool_folder() as folder:
        spool = Spool(Path(folder), settings.max_file_mib << 20, query)
        sources = spool.find(paths, settings.inbox / DONE)
        found = settled(sources, settings.inbox, settings.settle_seconds)
        if found and not is_invented:
            _refuse_beside_demo(engine)
        total = sum(each.size for each in found if isinstance(each, Source))
        with (
            Parser(settings.parser_memory_mib) as parser,
            _transactions(engine, dry_run) as begin,
        ):
            call = _Call(
                begin, parser, options, settings, today, progress, total, dry_run
            )
            for each in found:
                call.take(each)
            call.flush()
            call.put_away()
            return IngestReport(call.reports, tuple(_notes(begin, call.reports)))


def _refuse_beside_demo(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        held = read_demo_fleet(connection)
    if held is not None:
        raise BadInputError(
            f"This database holds the {held.n_depots} invented depots of 'harbor demo', "
            "which own files would mix with. Set HARBOR_HOME to a new place, as in "
            "'export HARBOR_HOME=$PWD/var/mine', and load them there."
        )


@dataclass
class _Call:
    """A call under way: its files in order, of which small ones are held back a while."""

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
    held: list[SmallFile] = field(default_factory=list)
    reports: list[FileReport] = field(default_factory=list)
    loaded: list[Source] = field(default_factory=list)
    # Archives of which not every file was loaded.
    incomplete: list[Source] = field(default_factory=list)

    def take(self, each: Source | Unreadable | Unsettled) -> None:
        """Loads a file, or holds it back to be loaded together with those after it."""
        file: Load | SmallFile | FileReport
        if isinstance(each, Source):
            file = self._opened(each)
        elif isinstance(each, Unsettled):
            file = _waiting(each)
        else:
            file = _refused(each.shown, None, each.reason)
        if not self._joins(file):
            self.flush()
        if isinstance(file, SmallFile) and file.is_simple:
            self.held.append(file)
        elif isinstance(file, FileReport):
            self.reports.append(file)
        else:
            self._load(file.load if isinstance(file, SmallFile) else file)

    def flush(self) -> None:
        """Loads the files that are held back."""
        held, self.held = self.held, []
        self._load_all(held)

    def put_away(self) -> None:
        """Moves files of the inbox that are in the database, an archive as a whole."""
        if self.dry_run:
            return
        for source in self.loaded:
            if source.container not in self.incomplete:
                put_away(source, self.settings.inbox)

    def _joins(self, file: Load | SmallFile | FileReport) -> bool:
        if not isinstance(file, SmallFile) or not file.is_simple:
            return False
        return not self.held or (
            file.group == self.held[0].group and len(self.held) < MOST_FILES
        )

    def _opened(self, source: Source) -> Load | SmallFile | FileReport:
        kind = None
        try:
            options = options_of_file(source, self.options, self.settings.sources)
            opened = self.parser.open(source, options, self.today)
            kind = opened.plan.kind.name
            load = Load(source, options, opened, self.settings, self.dry_run)
            return SmallFile.of(load) or load
        except RefusedFileError as error:
            return self._refuse(source, kind, str(error))

    def _load_all(self, files: Sequence[SmallFile]) -> None:
        """Loads files together; where that is not possible, by halves."""
        if len(files) <= FEW_FILES:
            for file in files:
                self._load(file.load)
            return
        try:
            with self.begin() as connection:
                reports = load_together(connection, files)
        except NotAllNewError:
            half = len(files) // 2
            self._load_all(files[:half])
            self._load_all(files[half:])
            return
        for file, report in zip(files, reports, strict=True):
            self._tell(file.load.source, file.load.source.size, file.n_rows)
            self._add(file.load.source, report)

    def _load(self, asked: Load) -> None:
        try:
            with self.begin() as connection:
                report = load(connection, asked, partial(self._tell, asked.source))
        except RefusedFileError as error:
            kind = asked.file.plan.kind.name
            self.reports.append(self._refuse(asked.source, kind, str(error)))
        else:
            self._add(asked.source, report)

    def _add(self, source: Source, report: FileReport) -> None:
        log.info("file", path=report.path, state=report.state, **vars(report.counts))
        self.reports.append(report)
        self.loaded.append(source)

    def _refuse(self, source: Source, kind: str | None, reason: str) -> FileReport:
        if source.container is not None:
            self.incomplete.append(source.container)
        return _refused(source.shown, kind, reason)

    def _tell(self, source: Source, size: int, rows: int) -> None:
        self.done, self.rows = min(self.done + size, self.total), self.rows + rows
        self.progress(LoadProgress(source.name, self.rows, self.done, self.total))


def _notes(begin: Begin, reports: Sequence[FileReport]) -> Iterator[str]:
    if any(report.state == "loaded" for report in reports):
        with begin() as connection:
            if depots := store.count_undescribed(connection):
                yield messages.undescribed(depots)


def _waiting(left: Unsettled) -> FileReport:
    log.info("file", path=left.shown, state="waiting")
    return FileReport(left.shown, None, "waiting", notes=(left.note,))


def _refused(shown: str, kind: str | None, reason: str) -> FileReport:
    # Of the level of other files: who asked for the load is told of refusals in any case.
    log.info("file", path=shown, state="refused", reason=reason)
    return FileReport(shown, kind, "refused", error=reason)


@contextmanager
def _transactions(engine: sa.Engine, dry_run: bool) -> Iterator[Begin]:
    """A transaction per file; or one for all that is taken back, with a part per file."""
    if not dry_run:
        yield engine.begin
        return
    with engine.connect() as connection, connection.begin() as whole:
        for kind in store.LOCKS:
            store.lock(connection, kind)

        @contextmanager
        def part() -> Iterator[sa.Connection]:
            with connection.begin_nested():
                yield connection

        yield part
        whole.rollback()
