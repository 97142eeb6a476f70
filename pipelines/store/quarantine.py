"""Rows that were put aside, and the files they came from."""

from typing import Any

import sqlalchemy as sa

from pipelines.schema import files, quarantine


def newest_rejected(
    connection: sa.Connection, limit: int, path: str | None = None
) -> list[dict[str, Any]]:
    """The newest rows in quarantine, without their raw cells.

    Args:
      connection: For one short transaction.
      limit: Rows at most.
      path: Only of files whose path holds this.
    """
    statement = (
        sa.select(
            quarantine.c.quarantine_id,
            files.c.path,
            files.c.kind,
            quarantine.c.line,
            quarantine.c.column_name.label("column"),
            quarantine.c.value,
            quarantine.c.reason,
            files.c.loaded_at,
        )
        .join(files, files.c.file_id == quarantine.c.file_id)
        .order_by(quarantine.c.quarantine_id.desc())
        .limit(limit)
    )
    if path is not None:
        statement = statement.where(files.c.path.contains(path, autoescape=True))
    return [dict(row) for row in connection.execute(statement).mappings()]


def count_rejected(connection: sa.Connection, path: str | None = None) -> int:
    """How many rows are in quarantine, of all files or those whose path holds this."""
    statement = sa.select(sa.func.count()).select_from(quarantine).join(files)
    if path is not None:
        statement = statement.where(files.c.path.contains(path, autoescape=True))
    return int(connection.scalar(statement) or 0)


def rejected(connection: sa.Connection, quarantine_id: int) -> dict[str, Any] | None:
    """One row in quarantine with its raw cells."""
    statement = (
        sa.select(
            quarantine.c.quarantine_id,
            files.c.file_id,
            files.c.path,
            files.c.kind,
            quarantine.c.line,
            quarantine.c.column_name.label("column"),
            quarantine.c.value,
            quarantine.c.reason,
            quarantine.c.raw,
            files.c.loaded_at,
        )
        .join(files, files.c.file_id == quarantine.c.file_id)
        .where(quarantine.c.quarantine_id == quarantine_id)
    )
    row = connection.execute(statement).mappings().one_or_none()
    return dict(row) if row else None
