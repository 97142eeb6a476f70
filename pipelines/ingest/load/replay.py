"""Validates rows in quarantine again, and loads those that pass."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import groupby

import pyarrow as pa
import sqlalchemy as sa

from forecaster.errors import BadInputError
from pipelines.demand import counting
from pipelines.ingest.load.loading import known_places, merge_rows
from pipelines.ingest.rows.batches import MAX_CELL_CHARS, Cells, RowwiseBatch, trim
from pipelines.ingest.rows.kind_detection import FileMapping, detect_mapping
from pipelines.ingest.rows.options import FileOptions, options_of_source
from pipelines.ingest.rows.validation import Chunk, ParsedFile
from pipelines.runs.ledger import Run
from pipelines.settings import Settings
from pipelines.store import ingest, load_timestamps, quarantine
from pipelines.store.quarantine import FileWithRejected

NUL = "\\x00"


@dataclass(frozen=True)
class ReplayResult:
    """Outcome of a replay of rows in quarantine.

    Args:
      accepted: Rows that were loaded and changed the database.
      unchanged: Valid rows that changed nothing: their key or value is stored already.
      left: Rows that stay in quarantine.
      reasons: A sentence for each group of rows with one header of which none could be replayed.
    """

    accepted: int = 0
    unchanged: int = 0
    left: int = 0
    reasons: tuple[str, ...] = ()

    def __add__(self, other: "ReplayResult") -> "ReplayResult":
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return ReplayResult(*(one + another for one, another in pairs))


def replay_and_count(
    run: Run,
    options: FileOptions,
    settings: Settings,
    now: datetime,
    path: str | None = None,
) -> ReplayResult:
    """Replays rows and recounts demand; records the numbers in the run's metrics."""
    result = replay(run.engine, options, settings, now, path)
    run.metrics |= {"accepted": result.accepted, "left": result.left}
    counting.rebuild_in(run, now)
    return result


def replay(
    engine: sa.Engine,
    options: FileOptions,
    settings: Settings,
    now: datetime,
    path: str | None = None,
) -> ReplayResult:
    """Validates rows in quarantine again, and loads those that pass; does not count demand.

    Rows are loaded as part of their file: a later file's row of the same key stays. The options
    override those of the files' sources; if no row of a file is valid with them, its stored
    reasons stay. With a `path`, only rows of files whose path contains it are replayed.
    """
    today = now.astimezone(settings.zone).date()
    with engine.connect() as connection:
        files = quarantine.files_with_rejected(connection, path)
    total = ReplayResult()
    for file in files:
        with engine.begin() as connection:
            ingest.lock(connection, file.kind)
            total += _FileReplay(connection, file, options, settings, today).run()
    return total


@dataclass(frozen=True)
class _FileReplay:
    """Replays the rows of one file, in a transaction that locks its kind."""

    connection: sa.Connection
    file: FileWithRejected
    options: FileOptions
    settings: Settings
    today: date

    def run(self) -> ReplayResult:
        rejected = quarantine.rejected_of(self.connection, self.file.file_id)
        rows = [row for row in rejected if _is_unmodified(row[1])]
        result = ReplayResult(left=len(rejected) - len(rows))
        for header, group in groupby(rows, key=lambda row: tuple(row[1])):
            result += self._replay_same_header(header, dict(group))
        return result

    def _replay_same_header(
        self, header: tuple[str, ...], rows: dict[int, dict[str, str | None]]
    ) -> ReplayResult:
        """Replays rows that share a header, by quarantine_id; the last row of a key wins."""
        name = self.file.path.rsplit("/", 1)[-1]
        try:
            options = options_of_source(
                self.file.source, self.options, self.settings.sources
            )
            options = replace(options, kind=self.file.kind)
            mapping = detect_mapping(header, options, name)
            parsed = ParsedFile(
                name, options, _RowsAgain(mapping, list(rows.values())), self.today
            )
            conventions, (chunk,) = parsed.parse(
                known_places(self.connection, mapping.schema)
            )
        except BadInputError as error:
            return ReplayResult(left=len(rows), reasons=(str(error),))
        same_options = options.fingerprint(self.file.kind, mapping.names)
        proved = conventions.dates or conventions.numbers
        if proved and self.file.options_sha256 != same_options:
            # These rows may have been rejected because they contradict the file's options.
            return ReplayResult(left=len(rows), reasons=(_unsaid(name, proved.proof),))
        if not chunk.n_rows and self.options != FileOptions():
            return ReplayResult(left=len(rows), reasons=(_failed_try(name, chunk),))
        ids = list(rows)
        for row in chunk.rejected:
            quarantine.set_reason(
                self.connection, ids[row.line], column_name=row.column_name,
                value=row.value, reason=row.reason,
            )  # fmt: skip
        accepted = 0
        if chunk.n_rows:
            # Must precede the timestamps that the rows take as `replayed_at` and `known_at`.
            load_timestamps.block_new_runs(self.connection)
            still_rejected = {ids[row.line] for row in chunk.rejected}
            quarantine.set_replayed(self.connection, rows.keys() - still_rejected)
            accepted = self._load(mapping, chunk, options.id_namespace)
        return ReplayResult(accepted, chunk.n_rows - accepted, len(chunk.rejected))

    def _load(self, mapping: FileMapping, chunk: Chunk, id_namespace: str) -> int:
        schema = mapping.schema
        staging = ingest.StagingTable.create(self.connection, schema.table, schema.key)
        staging.begin_file(self.file.file_id, mapping.stored, id_namespace)
        staging.write(chunk.rows)
        accepted = merge_rows(
            staging, schema, chunk.depot_ids, chunk.n_rows, self.settings,
            replace_later_files=False,
        )  # fmt: skip
        self.connection.execute(sa.text("drop table staging"))
        return accepted


@dataclass(frozen=True)
class _RowsAgain:
    """Quarantined rows as a file of one batch; line numbers start at 0."""

    mapping: FileMapping
    rows: Sequence[Mapping[str, str | None]]
    separator: None = None
    size: int = 0

    def batches(self) -> "Iterator[_RowsAgain]":
        yield self

    def cells(self) -> Cells:
        return {
            column: trim(pa.array([row[name] for row in self.rows], pa.string()))
            for column, name in self.mapping.names.items()
        }

    def parse_rows(self) -> RowwiseBatch:
        return RowwiseBatch(
            self.cells(), range(len(self.rows)), lambda index: dict(self.rows[index])
        )


def _unsaid(name: str, value: str) -> str:
    return (
        f"{name} was loaded with other options, and has {value} in quarantine. Pass the "
        "same --date-format or --decimal as then, or the one that these rows need."
    )


def _failed_try(name: str, chunk: Chunk) -> str:
    row = chunk.rejected[0]
    return (
        f"With these options no row of {name} can be loaded: {row.column_name} "
        f"{row.value!r} {row.reason}. The reasons in quarantine stay as they were."
    )


def _is_unmodified(raw: object) -> bool:
    """Whether a row has its column names, and no cell was truncated or had a NUL replaced."""
    return isinstance(raw, dict) and all(
        cell is None or (len(cell) < MAX_CELL_CHARS and NUL not in cell)
        for cell in raw.values()
    )
