"""Helpers of the tests of the load: files, loads, and tables as plain rows."""

from collections.abc import Callable
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from pyarrow import parquet as pq

from pipelines.ingest.load import FileOptions, FileReport, IngestReport, ingest
from pipelines.settings import Settings
from tests.pipelines.make import query

TODAY = date(2026, 6, 1)
# Test files are tiny, and every row of one may be rejected.
SETTINGS = Settings(timezone="Europe/Brussels", country="BE", max_rejected_ratio=1)
ORDERS = "order_id,depot_id,ordered_at\n"
DAILY = "depot_id,date,orders\n"
# Generated ids depend on the order of loads; the other columns do not.
# The namespace of ids has tests of its own.
NUMBERED = {"file_id", "id_namespace"}
# Times of loading depend on the moment of the test.
MOMENTS = {"known_at", "superseded_at"}


def load(
    engine: sa.Engine,
    *paths: Path | str,
    dry_run: bool = False,
    settings: Settings = SETTINGS,
    **options: Any,
) -> IngestReport:
    """Loads files on a day in June 2026."""
    named = [str(path) for path in paths]
    return ingest(
        engine, named, FileOptions(**options), settings, dry_run=dry_run, today=TODAY
    )


def load_one(engine: sa.Engine, path: Path | str, **options: Any) -> FileReport:
    """Loads one file; `options` as those of `load`."""
    (report,) = load(engine, path, **options).files
    return report


def counts(report: IngestReport, kind: str) -> tuple[int, int, int]:
    """Accepted, unchanged, rejected."""
    return tuple(vars(report.counts(kind)).values())


def rows(engine: sa.Engine, table: str) -> list[tuple[Any, ...]]:
    """A table's rows in the order of their text, without generated ids and times of loading."""
    with engine.connect() as connection:
        found = connection.execute(sa.text(f"select * from {table}")).mappings()
        plain = [
            tuple(
                value for name, value in row.items() if name not in NUMBERED | MOMENTS
            )
            for row in found
        ]
    return sorted(plain, key=str)


def data(engine: sa.Engine) -> dict[str, list[tuple[Any, ...]]]:
    """Rows of all tables that files are loaded into."""
    names = ("orders", "daily_counts", "depots", "events", "signal_versions")
    return {name: rows(engine, name) for name in names}


def quarantined(engine: sa.Engine) -> list[tuple[Any, ...]]:
    """Line, column, value and reason of the rejected rows, by line."""
    return query(
        engine, "select line, column_name, value, reason from quarantine order by line"
    )


def write(path: Path, text: str | bytes) -> Path:
    """Writes a text file unchanged, line ends included."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def row_loader(
    engine: sa.Engine, folder: Path, stem: str
) -> Callable[..., IngestReport]:
    """Returns a function that loads a new file of a header and rows."""
    number = count()

    def load_rows(header: str, *rows: str) -> IngestReport:
        path = folder / f"{stem}-{next(number)}.csv"
        return load(engine, write(path, "\n".join([header, *rows, ""])))

    return load_rows


def write_parquet(path: Path, **columns: Any) -> Path:
    """Writes columns as Parquet."""
    pq.write_table(pa.table(columns), path)
    return path
