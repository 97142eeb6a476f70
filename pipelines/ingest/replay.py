"""Lets rows out of quarantine once the cause is mended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import groupby
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from forecaster.errors import BadInputError
from pipelines.ingest.batches import LONGEST_TOLD, Cells, Detail, tidy
from pipelines.ingest.chunks import as_csv
from pipelines.ingest.conventions import find_conventions
from pipelines.ingest.kind_detection import Plan, recognise
from pipelines.ingest.loading import add_first_seen, merge
from pipelines.ingest.matching import options_of_source
from pipelines.ingest.report import FileOptions
from pipelines.ingest.validation import check, rejected_rows
from pipelines.settings import Settings
from pipelines.store import ingest as store
from pipelines.store import order_counts, quarantine, score_totals

NUL = "\\x00"


@dataclass(frozen=True)
class Replayed:
    """What became of rows in quarantine.

    Args:
      accepted: Rows that went in and changed the database.
      unchanged: Rows that went in, and that a later file had said already or otherwise.
      left: Rows that stay in quarantine.
      reasons: Sentences on those that could not even be looked at.
    """

    accepted: int = 0
    unchanged: int = 0
    left: int = 0
    reasons: tuple[str, ...] = ()

    def __add__(self, other: "Replayed") -> "Replayed":
        """Adds each of them."""
        return Replayed(
            self.accepted + other.accepted,
            self.unchanged + other.unchanged,
            self.left + other.left,
            self.reasons + other.reasons,
        )


@dataclass(frozen=True)
class _Row:
    quarantine_id: int
    raw: Mapping[str, str | None]


def replay(
    engine: sa.Engine,
    options: FileOptions,
    settings: Settings,
    now: datetime,
    path: str | None = None,
) -> Replayed:
    """Judges rows in quarantine anew, and loads those that nothing speaks against.

    They go in as if they had when their file was loaded: a row of a later file stays.

    Args:
      engine: Database the pipelines own.
      options: What is known about the files now.
      settings: Zone and country of depots that nobody has described yet, and the sources.
      now: Decides which days lie too far ahead.
      path: Only of files whose path holds this.
    """
    today = now.astimezone(settings.zone).date()
    with engine.connect() as connection:
        files = quarantine.files_with_rejected(connection, path)
    whole = Replayed()
    for file in files:
        with engine.begin() as connection:
            store.lock(connection, file["kind"])
            one = _OfFile(connection, file, options, settings, today)
            whole += one.replay(quarantine.rejected_of(connection, file["file_id"]))
    return whole


@dataclass(frozen=True)
class _OfFile:
    """The rows of one file, in its kind's transaction."""

    connection: sa.Connection
    file: Mapping[str, Any]
    options: FileOptions
    settings: Settings
    today: date

    def replay(self, found: Sequence[Mapping[str, Any]]) -> Replayed:
        rows = [_Row(**row) for row in found if _is_whole(row["raw"])]
        told = Replayed(left=len(found) - len(rows))
        for header, same in groupby(rows, key=lambda row: tuple(row.raw)):
            told += self._replay_alike(header, list(same))
        return told

    def _replay_alike(self, header: tuple[str, ...], rows: list[_Row]) -> Replayed:
        """Rows under one header; a later row of a key wins, as in a load."""
        name = self.file["path"].rsplit("/", 1)[-1]
        known, source = self.settings.sources, self.file["source"]
        try:
            options = options_of_source(source, self.options, known)
            options = replace(options, kind=self.file["kind"])
            plan = recognise(header, options, name)
            cells = _cells(plan, rows)
            found = find_conventions(lambda: iter([cells]), plan, options, name)
        except BadInputError as error:
            return Replayed(left=len(rows), reasons=(str(error),))
        checked = check(plan.kind, cells, found.rules(options, self.today))
        bad = {
            row.line: row
            for row in rejected_rows(
                checked, Detail(cells, range(len(rows)), lambda at: dict(rows[at].raw))
            )
        }
        for at, row in bad.items():
            reason = {
                name: getattr(row, name) for name in ("column_name", "value", "reason")
            }
            quarantine.set_reason(self.connection, rows[at].quarantine_id, reason)
        good = [row.quarantine_id for at, row in enumerate(rows) if at not in bad]
        quarantine.set_replayed(self.connection, good)
        ids = options.id_namespace
        accepted = self._load(plan, checked.good_rows(), ids) if good else 0
        return Replayed(accepted, len(good) - accepted, len(bad))

    def _load(self, plan: Plan, rows: pa.Table, id_namespace: str) -> int:
        incoming = store.Incoming.create(self.connection, plan.kind.table, plan.stored)
        incoming.write(as_csv(rows))
        table = plan.kind.table
        with (
            order_counts.marked(self.connection, table),
            score_totals.in_step(self.connection, table),
        ):
            file_id = self.file["file_id"]
            accepted = merge(
                incoming, plan.kind, file_id, id_namespace, over_later=False
            )
            incoming.note_repeats(plan.kind.key, file_id, id_namespace)
            self._add_first_seen(plan, rows)
        incoming.drop()
        return accepted

    def _add_first_seen(self, plan: Plan, rows: pa.Table) -> None:
        if plan.kind.name in ("orders", "daily"):
            depots = {str(depot) for depot in rows["depot_id"].to_pylist()}
            add_first_seen(self.connection, depots, self.settings)


def _is_whole(raw: object) -> bool:
    """Whether a row was kept as it came: under its header, and no cell cut or mended."""
    return isinstance(raw, dict) and all(
        cell is None or (len(cell) < LONGEST_TOLD and NUL not in cell)
        for cell in raw.values()
    )


def _cells(plan: Plan, rows: Sequence[_Row]) -> Cells:
    return {
        column: tidy(pa.array([row.raw[name] for row in rows], pa.string()))
        for column, name in plan.names.items()
    }
