"""Statements for rejected rows and the files they came from."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from pipelines.schema import files, quarantine

OPEN = quarantine.c.replayed_at.is_(None) & quarantine.c.dismissed_at.is_(None)
DISMISSED = quarantine.c.dismissed_at.is_not(None)


def newest_rejected(
    connection: sa.Connection,
    limit: int,
    path: str | None = None,
    *,
    dismissed: bool = False,
) -> list[dict[str, Any]]:
    """The newest rows in quarantine, without their raw cells.

    Args:
      connection: For one short transaction.
      limit: Rows at most.
      path: Only of files whose path holds this.
      dismissed: The rows that were dismissed, instead of those that are still open.
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
            quarantine.c.dismissed_at,
            quarantine.c.dismissed_because,
        )
        .join(files, files.c.file_id == quarantine.c.file_id)
        .where(DISMISSED if dismissed else OPEN)
        .order_by(quarantine.c.quarantine_id.desc())
        .limit(limit)
    )
    if path is not None:
        statement = statement.where(files.c.path.contains(path, autoescape=True))
    return [dict(row) for row in connection.execute(statement).mappings()]


def count_rejected(
    connection: sa.Connection, path: str | None = None, *, dismissed: bool = False
) -> int:
    """How many rows `newest_rejected` has without a limit."""
    statement = (
        sa.select(sa.func.count())
        .select_from(quarantine)
        .join(files)
        .where(DISMISSED if dismissed else OPEN)
    )
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
            quarantine.c.replayed_at,
            quarantine.c.dismissed_at,
            quarantine.c.dismissed_because,
            files.c.loaded_at,
        )
        .join(files, files.c.file_id == quarantine.c.file_id)
        .where(quarantine.c.quarantine_id == quarantine_id)
    )
    row = connection.execute(statement).mappings().one_or_none()
    return dict(row) if row else None


def files_with_rejected(
    connection: sa.Connection, path: str | None = None
) -> list[dict[str, Any]]:
    """file_id, path, kind and source of files with rows in quarantine, earliest first."""
    statement = (
        sa.select(files.c.file_id, files.c.path, files.c.kind, files.c.source)
        .where(files.c.file_id.in_(sa.select(quarantine.c.file_id).where(OPEN)))
        .order_by(files.c.file_id)
    )
    if path is not None:
        statement = statement.where(files.c.path.contains(path, autoescape=True))
    return [dict(row) for row in connection.execute(statement).mappings()]


def rejected_of(connection: sa.Connection, file_id: int) -> list[dict[str, Any]]:
    """quarantine_id and raw cells of a file's rows, in the order of its lines."""
    statement = (
        sa.select(quarantine.c.quarantine_id, quarantine.c.raw)
        .where(quarantine.c.file_id == file_id, OPEN)
        .order_by(quarantine.c.line, quarantine.c.quarantine_id)
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def set_replayed(connection: sa.Connection, quarantine_ids: Iterable[int]) -> None:
    """Marks rows that went in after all; they stay as they were."""
    connection.execute(
        sa.update(quarantine)
        .where(quarantine.c.quarantine_id.in_(list(quarantine_ids)))
        .values(replayed_at=sa.func.now())
    )


def set_reason(
    connection: sa.Connection, quarantine_id: int, found: Mapping[str, Any]
) -> None:
    """Writes down what speaks against a row now: column_name, value, reason."""
    connection.execute(
        sa.update(quarantine)
        .where(quarantine.c.quarantine_id == quarantine_id)
        .values(**found)
    )


def dismiss(
    connection: sa.Connection,
    reason: str,
    quarantine_ids: Sequence[int] = (),
    path: str | None = None,
) -> int:
    """Marks open rows as dismissed, and returns how many they were.

    Args:
      connection: Inside a transaction.
      reason: Kept beside each row.
      quarantine_ids: Of the rows.
      path: All open rows of files whose path holds this, instead.
    """
    which = quarantine.c.quarantine_id.in_(quarantine_ids)
    if path is not None:
        named = sa.select(files.c.file_id).where(
            files.c.path.contains(path, autoescape=True)
        )
        which = quarantine.c.file_id.in_(named)
    done = connection.execute(
        sa.update(quarantine)
        .where(which, OPEN)
        .values(dismissed_at=sa.func.clock_timestamp(), dismissed_because=reason)
    )
    return int(done.rowcount)
