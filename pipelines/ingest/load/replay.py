"""Validates rows in quarantine again, and loads those that pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import groupby

import pyarrow as pa
import sqlalchemy as sa

from forecaster.errors import BadInputError
from pipelines.demand import counting
from pipelines.ingest.load.loading import known_places, merge_rows
from pipelines.ingest.rows.batches import MAX_CELL_CHARS, Cells, RowwiseBatch, trim
from pipelines.ingest.rows.conventions import detect_conventions
from pipelines.ingest.rows.kind_detection import FileMapping, detect_mapping
from pipelines.ingest.rows.options import FileOptions, options_of_source
from pipelines.ingest.rows.validation import rejected_rows, validate_batch
from pipelines.runs.ledger import Run
from pipelines.settings import Settings
from pipelines.store import ingest, load_timestamps, quarantine
from pipelines.store.quarantine import FileWithRejected
from pipelines.store.table_csv import as_csv

NUL = "\\x00"


@dataclass(frozen=True)
class ReplayResult:
    """Outcome of a replay of rows in quarantine.

    Args:
      accepted: Rows that were loaded and changed the database.
      unchanged: Rows that were loaded, but whose key a later file holds already.
      left: Rows that stay in quarantine.
      reasons: Sentences on rows that could not be validated at all.
    """

    accepted: int = 0
    unchanged: int = 0
    left: int = 0
    reasons: tuple[str, ...] = ()

    def __add__(self, other: "ReplayResult") -> "ReplayResult":
        """Adds field by field."""
        return ReplayResult(
            self.accepted + other.accepted,
            self.unchanged + other.unchanged,
            self.left + other.left,
            self.reasons + other.reasons,
        )


@dataclass(frozen=True)
class _Row:
    quarantine_id: int
    raw: Mapping[str, str | None]


def replay_and_count(
    run: Run,
    options: FileOptions,
    settings: Settings,
    now: datetime,
    path: str | None = None,
) -> ReplayResult:
    """Replays rows, and counts demand; the run's metrics say what changed."""
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

    They are loaded as if with their file: a later file's row of the same key stays.

    Args:
      engine: Database the pipelines own.
      options: How the files are read; overrides the options of their sources.
      settings: Zone and country of depots that nobody has described yet, and the sources.
      now: Decides which days lie too far ahead.
      path: Only rows of files whose path contains this text.
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
        rows = [_Row(*row) for row in rejected if _is_unmodified(row[1])]
        result = ReplayResult(left=len(rejected) - len(rows))
        for header, group in groupby(rows, key=lambda row: tuple(row.raw)):
            result += self._replay_same_header(header, list(group))
        return result

    def _replay_same_header(
        self, header: tuple[str, ...], rows: list[_Row]
    ) -> ReplayResult:
        """Replays rows with one header; the last row of a key wins, as in a load."""
        name = self.file.path.rsplit("/", 1)[-1]
        try:
            options = options_of_source(
                self.file.source, self.options, self.settings.sources
            )
            options = replace(options, kind=self.file.kind)
            mapping = detect_mapping(header, options, name)
            cells = _cells(mapping, rows)
            conventions = detect_conventions(
                lambda: iter([cells]), mapping, options, name
            )
        except BadInputError as error:
            return ReplayResult(left=len(rows), reasons=(str(error),))
        places = known_places(self.connection, mapping.schema)
        validated = validate_batch(
            mapping.schema,
            cells,
            conventions.parse_options(options, self.today, places),
        )
        rowwise = RowwiseBatch(
            cells, range(len(rows)), lambda index: dict(rows[index].raw)
        )
        bad = {row.line: row for row in rejected_rows(validated, rowwise)}
        for index, row in bad.items():
            quarantine.set_reason(
                self.connection,
                rows[index].quarantine_id,
                column_name=row.column_name,
                value=row.value,
                reason=row.reason,
            )
        good = [row.quarantine_id for index, row in enumerate(rows) if index not in bad]
        accepted = 0
        if good:
            # Before the rows take the timestamps of their replay and of becoming known.
            load_timestamps.block_new_runs(self.connection)
            quarantine.set_replayed(self.connection, good)
            accepted = self._load(mapping, validated.good_rows(), options.id_namespace)
        return ReplayResult(accepted, len(good) - accepted, len(bad))

    def _load(self, mapping: FileMapping, rows: pa.Table, id_namespace: str) -> int:
        schema = mapping.schema
        staging = ingest.StagingTable.create(self.connection, schema.table, schema.key)
        staging.begin_file(self.file.file_id, mapping.stored, id_namespace)
        staging.write(as_csv(rows))
        depots = rows["depot_id"].to_pylist() if "depot_id" in rows.schema.names else ()
        accepted = merge_rows(
            staging, schema, set(depots), len(rows), self.settings,
            replace_later_files=False,
        )  # fmt: skip
        self.connection.execute(sa.text("drop table staging"))
        return accepted


def _is_unmodified(raw: object) -> bool:
    """Whether a row has its header, and no cell was truncated or had a NUL replaced."""
    return isinstance(raw, dict) and all(
        cell is None or (len(cell) < MAX_CELL_CHARS and NUL not in cell)
        for cell in raw.values()
    )


def _cells(mapping: FileMapping, rows: Sequence[_Row]) -> Cells:
    return {
        column: trim(pa.array([row.raw[name] for row in rows], pa.string()))
        for column, name in mapping.names.items()
    }
