"""Appends versions of demand, events and signals: a correction closes the version before it."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

SUPERSEDE_BEFORE = """
update {table} v set superseded_at = :now
from changes c where {is_same} and v.version = c.before
"""
APPEND = """
insert into {table} ({columns}, version)
select {columns}, before + 1 from changes
"""


def append_changes(
    connection: sa.Connection,
    table: str,
    key: Sequence[str],
    columns: Sequence[str],
    now: datetime,
) -> int:
    """Appends the rows of the temporary table `changes`, and returns their number.

    Called in a transaction that locks the kind. `changes` has `columns`, the key and `known_at` among
    them, and `before`: the version that the row supersedes at `now`, 0 for a first version.
    """
    names = {
        "table": table,
        "is_same": " and ".join(f"v.{name} = c.{name}" for name in key),
        "columns": ", ".join(columns),
    }
    connection.execute(sa.text(SUPERSEDE_BEFORE.format(**names)), {"now": now})
    appended = connection.execute(
        sa.text(APPEND.format(**names)),
        execution_options={"preserve_rowcount": True},
    )
    return int(appended.rowcount)
