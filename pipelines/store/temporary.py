"""Temporary tables, for queries that are too long for one statement."""

from collections.abc import Mapping

import sqlalchemy as sa


def create(
    connection: sa.Connection,
    table: str,
    query: str,
    parameters: Mapping[str, object] | None = None,
) -> None:
    """Creates a temporary table of a query's rows, which lasts until the transaction ends.

    It replaces a table of this name that an earlier call in the transaction created.
    """
    connection.execute(sa.text(f"drop table if exists pg_temp.{table}"))
    created = f"create temporary table {table} on commit drop as {query}"
    connection.execute(sa.text(created), parameters)
    # It is joined next and may have any size, so Postgres needs its statistics.
    connection.execute(sa.text(f"analyze {table}"))
