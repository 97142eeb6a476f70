"""Statements for rejected rows and the files they came from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from pipelines.schema import files, quarantine
from pipelines.store.files import has_path

OPEN = quarantine.c.replayed_at.is_(None)


@dataclass(frozen=True)
class QuarantinedRow:
    """One row in quarantine; `path`, `kind` and `loaded_at` are those of its file.

    `raw` has its cells: by name, or in order if they do not fit the header.
    """

    quarantine_id: int
    file_id: int
    path: str
    kind: str
    line: int | None
    column: str | None
    value: str | None
    reason: str
    raw: Any
    loaded_at: datetime
    replayed_at: datetime | None


@dataclass(frozen=True)
class FileWithRejected:
    """A file with rows in quarantine: columns of its row in `files`."""

    file_id: int
    path: str
    kind: str
    source: str
    options_sha256: str


def add_rows(
    connection: sa.Connection, file_id: int, rows: Iterable[Mapping[str, object]]
) -> None:
    """Puts rejected rows of a file into quarantine, in the transaction that loads it.

    The rows have the columns line, column_name, value, reason and raw.
    """
    values = [{"file_id": file_id, **row} for row in rows]
    if values:
        connection.execute(sa.insert(quarantine), values)


def newest_rejected(
    connection: sa.Connection, limit: int, path: str | None = None
) -> tuple[list[QuarantinedRow], int]:
    """Returns the newest rows in quarantine, and how many there are without the limit.

    With a `path`, only rows of files whose path contains it are returned and counted.
    """
    statement = (
        _rows()
        .add_columns(sa.func.count().over())
        .where(OPEN, has_path(path))
        .order_by(quarantine.c.quarantine_id.desc())
        .limit(limit)
    )
    rows = connection.execute(statement).all()
    n_all = int(rows[0][-1]) if rows else 0
    return [QuarantinedRow(*row[:-1]) for row in rows], n_all


def rejected(connection: sa.Connection, quarantine_id: int) -> QuarantinedRow | None:
    """Returns one row in quarantine, replayed or not."""
    statement = _rows().where(quarantine.c.quarantine_id == quarantine_id)
    row = connection.execute(statement).one_or_none()
    return None if row is None else QuarantinedRow(*row)


def _rows() -> sa.Select[Any]:
    """Selects the fields of `QuarantinedRow`, which are columns of the row or of its file."""
    own = {**quarantine.c, "column": quarantine.c.column_name.label("column")}
    names = [field.name for field in fields(QuarantinedRow)]
    columns = [own[name] if name in own else files.c[name] for name in names]
    return sa.select(*columns).join(files, files.c.file_id == quarantine.c.file_id)


def files_with_rejected(
    connection: sa.Connection, path: str | None = None
) -> list[FileWithRejected]:
    """Returns the files with rows in quarantine, earliest first."""
    columns = [files.c[field.name] for field in fields(FileWithRejected)]
    with_open = sa.select(quarantine.c.file_id).where(OPEN)
    statement = sa.select(*columns).where(
        files.c.file_id.in_(with_open), has_path(path)
    )
    rows = connection.execute(statement.order_by(files.c.file_id))
    return [FileWithRejected(*row) for row in rows]


def rejected_of(connection: sa.Connection, file_id: int) -> list[tuple[int, Any]]:
    """Returns quarantine_id and cells of a file's rows in quarantine, in the order of its lines."""
    statement = (
        sa.select(quarantine.c.quarantine_id, quarantine.c.raw)
        .where(quarantine.c.file_id == file_id, OPEN)
        .order_by(quarantine.c.line, quarantine.c.quarantine_id)
    )
    return [(row.quarantine_id, row.raw) for row in connection.execute(statement)]


def set_replayed(connection: sa.Connection, quarantine_ids: Iterable[int]) -> None:
    """Marks rows as loaded after all; they stay in the table.

    The caller must have called `load_timestamps.block_new_runs`.
    """
    connection.execute(
        sa.update(quarantine)
        .where(quarantine.c.quarantine_id.in_(list(quarantine_ids)))
        .values(replayed_at=sa.func.clock_timestamp())
    )


def set_reason(
    connection: sa.Connection,
    quarantine_id: int,
    *,
    column_name: str | None,
    value: str | None,
    reason: str,
) -> None:
    """Replaces the reason for rejecting a row, and the column and value that it names."""
    connection.execute(
        sa.update(quarantine)
        .where(quarantine.c.quarantine_id == quarantine_id)
        .values(column_name=column_name, value=value, reason=reason)
    )
