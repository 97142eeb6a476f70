"""Exports the rows of a query on another database as CSV."""

import csv
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from forecaster.errors import RefusedFileError
from pipelines.ingest.sources.files import first_line
from pipelines.ingest.sources.numbers import unambiguous_text

BATCH_ROWS = 10_000


def write_rows(
    url: str, query: str, target: Path, display_path: str, max_bytes: int
) -> None:
    """Writes the rows of a query, run in a transaction that is rolled back, under their names.

    No message shows the URL, which may hold a password, but `display_path`, without secrets.

    Raises:
      RefusedFileError: the database or the query cannot be used, or the CSV file would be
        larger than `max_bytes`.
    """
    try:
        engine = sa.create_engine(
            _with_driver(url, display_path), poolclass=sa.NullPool
        )
        with (
            engine.connect() as connection,
            target.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.writer(file)
            for row in _rows(connection, query, display_path):
                writer.writerow([_cell(value) for value in row])
                if file.tell() > max_bytes:
                    raise RefusedFileError(
                        f"The rows of {display_path} take more than {max_bytes >> 20:,} MiB "
                        "(HARBOR_MAX_FILE_MIB). Ask for fewer, or raise the setting."
                    )
    except (ImportError, ArgumentError, NoSuchModuleError):
        raise RefusedFileError(
            f"{display_path} cannot be opened: its scheme is no database whose driver is "
            "installed. Write postgresql://USER@HOST/DATABASE, or install the driver."
        ) from None
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        raise RefusedFileError(
            f"{display_path} cannot be queried: {first_line(cause)}. Check the address, the "
            "query, and what this user may read."
        ) from None


def _rows(connection: sa.Connection, query: str, display_path: str) -> Iterator[Any]:
    """Yields the column names, then the rows."""
    if connection.dialect.name == "postgresql":
        connection = connection.execution_options(postgresql_readonly=True)
    result = connection.execution_options(
        stream_results=True, max_row_buffer=BATCH_ROWS
    ).exec_driver_sql(query)
    if not result.returns_rows:
        raise RefusedFileError(
            f"The query on {display_path} returns no rows. Write a select whose columns are those "
            "of a file."
        )
    yield result.keys()
    yield from result


def _with_driver(url: str, display_path: str) -> sa.URL:
    try:
        parsed = sa.make_url(url.replace("postgres://", "postgresql://", 1))
    except ValueError:
        raise RefusedFileError(
            f"{display_path} is not a valid address: its port is no number. Write "
            "postgresql://USER@HOST:PORT/DATABASE."
        ) from None
    if "@" in (parsed.host or ""):  # The driver's message would show what is before it.
        raise RefusedFileError(
            f"{display_path} has an @ in its password or user. Write it as %40."
        )
    if parsed.drivername == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    return parsed


def _cell(value: object) -> object:
    """Formats a value; a datetime is a date, too, and None becomes an empty cell."""
    if isinstance(value, (float, Decimal)):
        return unambiguous_text(value)
    return value.isoformat() if isinstance(value, date) else value
