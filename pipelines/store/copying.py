"""Streams rows into any table by COPY."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
import pyarrow as pa
import sqlalchemy as sa
from psycopg import sql

from pipelines.store.table_csv import as_csv


def copy_rows(
    connection: sa.Connection,
    table: str,
    columns: Iterable[str],
    rows: Iterable[tuple[Any, ...]],
) -> None:
    """Streams rows into a table by COPY, within the connection's transaction."""
    with _copy(connection, table, columns) as copy:
        for row in rows:
            copy.write_row(row)


def copy_table(
    connection: sa.Connection, table: str, columns: Iterable[str], rows: pa.Table
) -> None:
    """Copies an Arrow table, whose columns are in the order of `columns`."""
    copy_csv(connection, table, columns, as_csv(rows))


def copy_csv(
    connection: sa.Connection,
    table: str,
    columns: Iterable[str],
    rows: bytes | memoryview,
) -> None:
    """Copies rows in CSV, whose cells are in the order of `columns`."""
    with _copy(connection, table, columns, "(format csv)") as copy:
        copy.write(rows)


@contextmanager
def _copy(
    connection: sa.Connection,
    table: str,
    columns: Iterable[str],
    options: LiteralString = "",
) -> Iterator[psycopg.Copy]:
    driver = connection.connection.driver_connection
    assert driver is not None, "a connection in use has a driver"
    statement = sql.SQL("copy {} ({}) from stdin {}").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.SQL(options),
    )
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        yield copy
