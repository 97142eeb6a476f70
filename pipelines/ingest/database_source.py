"""Rows of somebody's database as CSV."""

import csv
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from forecaster.errors import RefusedFileError
from pipelines.ingest.numbers import written
from pipelines.ingest.sources import first_line

ROWS_AT_ONCE = 10_000


def write_rows(url: str, query: str, target: Path, shown: str, most_bytes: int) -> None:
    """Runs a query, and writes its rows under a header of its column names.

    Args:
      url: As SQLAlchemy has it; may hold a password, which no message shows.
      query: That returns rows; it is rolled back.
      target: The CSV file to write.
      shown: The URL without secrets.
      most_bytes: Above which the rows are refused.

    Raises:
      RefusedFileError: the database or the query cannot be used, or the rows are too many.
    """
    try:
        engine = sa.create_engine(_with_driver(url), poolclass=sa.NullPool)
        with engine.connect() as connection, target.open("w", newline="") as file:
            writer = csv.writer(file)
            for row in _rows(connection, query, shown):
                writer.writerow([_cell(value) for value in row])
                if file.tell() > most_bytes:
                    raise RefusedFileError(
                        f"The rows of {shown} take more than {most_bytes >> 20:,} MiB "
                        "(HARBOR_MAX_FILE_MIB). Ask for fewer, or raise the setting."
                    )
    except (ImportError, ArgumentError, NoSuchModuleError):
        raise RefusedFileError(
            f"{shown} cannot be opened: its scheme is no database whose driver is "
            "installed. Write postgresql://USER@HOST/DATABASE, or install the driver."
        ) from None
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        raise RefusedFileError(
            f"{shown} cannot be queried: {first_line(cause)}. Check the address, the "
            "query, and what this user may read."
        ) from None


def _rows(connection: sa.Connection, query: str, shown: str) -> Iterator[Any]:
    """The column names, then the rows."""
    if connection.dialect.name == "postgresql":
        connection = connection.execution_options(postgresql_readonly=True)
    found = connection.execution_options(
        stream_results=True, max_row_buffer=ROWS_AT_ONCE
    ).exec_driver_sql(query)
    if not found.returns_rows:
        raise RefusedFileError(
            f"The query on {shown} returns no rows. Write a select whose columns are those "
            "of a file."
        )
    yield found.keys()
    yield from found


def _with_driver(url: str) -> sa.URL:
    parsed = sa.make_url(url.replace("postgres://", "postgresql://", 1))
    if parsed.drivername == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    return parsed


def _cell(value: object) -> object:
    """A datetime is a date, too; the writer makes None an empty cell."""
    if isinstance(value, (float, Decimal)):
        return written(value)
    return value.isoformat() if isinstance(value, date) else value
