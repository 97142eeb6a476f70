"""Streams rows into any table by COPY; `ingest` has a statement of its own."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
import pyarrow as pa
import sqlalchemy as sa
from psycopg import sql
from pyarrow import csv as arrow_csv


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
    """Streams rows in columns into a table by COPY, as CSV, in the order of `columns`."""
    sink = pa.BufferOutputStream()
    arrow_csv.write_csv(rows, sink, arrow_csv.WriteOptions(include_header=False))
    with _copy(connection, table, columns, "(format csv)") as copy:
        copy.write(memoryview(sink.getvalue()))


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
