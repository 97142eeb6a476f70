"""Files to rows: every file in a transaction of its own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial

import sqlalchemy as sa
import structlog

from forecaster.errors import BadInputError, RefusedFileError
from pipelines.ingest import notes
from pipelines.ingest.loading import Load, load
from pipelines.ingest.matching import reading_as, reading_of, require_readable
from pipelines.ingest.parcels import Opened
from pipelines.ingest.parser import Parser
from pipelines.ingest.report import FileReport, IngestReport, Reading
from pipelines.ingest.settling import Unsettled, settled
from pipelines.ingest.sources import Source, Unreadable, find_sources
from pipelines.settings import Settings
from pipelines.store import ingest as store
from pipelines.store.demo import read_demo_fleet

log = structlog.get_logger()


@dataclass(frozen=True)
class Far:
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


Progress = Callable[[Far], None]

Begin = Callable[[], AbstractContextManager[sa.Connection]]


def _silent(_: Far) -> None:
    pass


def ingest(
    engine: sa.Engine,
    paths: Sequence[str],
    reading: Reading,
    settings: Settings,
    progress: Progress = _silent,
    *,
    dry_run: bool = False,
    today: date | None = None,
    is_invented: bool = False,
) -> IngestReport:
    """Loads files; safe to repeat, and to run beside other loads.

    A file that is refused changes nothing and does not keep the others out; one in the
    inbox that is still being written is left.

    Args:
      engine: Database the pipelines own.
      paths: Files, folders, and URLs that pyarrow's file systems open; they are taken
        in the order of their names, and the later one wins.
      reading: What is known about the files; it goes before what their sources say.
      settings: Zone and country of depots that nobody has described yet, and the sources.
      progress: Told as rows and bytes go by.
      dry_run: Does everything, and takes it back. Other loads wait meanwhile.
      today: Dates may lie two days after it; the fleet's own day where not given.
      is_invented: Whether the files are those of 'harbor demo'.

    Raises:
      BadInputError: a source is named that harbor.toml does not have, or says what cannot
        be; or own files would mix with the demo's.
    """
    require_readable(settings.sources)
    if reading.source is not None:
        reading_as(reading.source, reading, settings.sources)
    today = today or datetime.now(settings.zone).date()
    found = settled(find_sources(paths), settings.inbox, settings.settle_seconds)
    if found and not is_invented:
        _refuse_beside_demo(engine)
    total = sum(each.size for each in found if isinstance(each, Source))
    done = rows = 0
    reports = []
    with (
        Parser(settings.parser_memory_mib) as parser,
        _transactions(engine, dry_run) as begin,
    ):
        for each in found:
            if isinstance(each, Unreadable):
                reports.append(_refused(each.shown, None, each.reason))
                continue

            if isinstance(each, Unsettled):
                reports.append(_waiting(each))
                continue

            def tell(size: int, more: int, name: str = each.name) -> None:
                nonlocal done, rows
                done, rows = min(done + size, total), rows + more
                progress(Far(name, rows, done, total))

            opening = partial(parser.open, each, today=today)
            reports.append(
                _ingest_one(begin, opening, each, reading, settings, tell, dry_run)
            )
        return IngestReport(reports, tuple(_notes(begin, reports)))


def _refuse_beside_demo(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        held = read_demo_fleet(connection)
    if held is not None:
        raise BadInputError(
            f"This database holds the {held.n_depots} invented depots of 'harbor demo', "
            "which own files would mix with. Set HARBOR_HOME to a new place, as in "
            "'export HARBOR_HOME=$PWD/var/mine', and load them there."
        )


def _ingest_one(
    begin: Begin,
    opening: Callable[[Reading], Opened],
    source: Source,
    asked: Reading,
    settings: Settings,
    tell: Callable[[int, int], None],
    dry_run: bool,
) -> FileReport:
    kind = None
    try:
        reading = reading_of(source, asked, settings.sources)
        whole = Load(source, reading, opening(reading), settings, dry_run)
        kind = whole.file.plan.kind.name
        with begin() as connection:
            report = load(connection, whole, tell)
    except RefusedFileError as error:
        return _refused(source.shown, kind, str(error))
    log.info("file", path=report.path, state=report.state, **vars(report.counts))
    return report


def _notes(begin: Begin, reports: Sequence[FileReport]) -> Iterator[str]:
    if any(report.state == "loaded" for report in reports):
        with begin() as connection:
            if depots := store.count_undescribed(connection):
                yield notes.undescribed(depots)


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
