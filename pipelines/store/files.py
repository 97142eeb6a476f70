"""Statements for `files`, the log of loaded files."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from pipelines.schema import file_repeats, files, quarantine


@dataclass(frozen=True)
class LoadedFile:
    """A loaded file; the three counts are of its rows at the time of its load."""

    file_id: int
    path: str
    kind: str
    accepted: int
    unchanged: int
    rejected: int
    loaded_at: datetime
    withdrawn_at: datetime | None


@dataclass(frozen=True)
class Repeat:
    """A file with rows that equal rows of an earlier file."""

    file_id: int
    path: str
    repeats_file_id: int


CLOCK_TOLERANCE = timedelta(minutes=1)
COLUMNS = tuple(files.c[name] for name in LoadedFile.__dataclass_fields__)


def has_path(text: str | None) -> sa.ColumnElement[bool]:
    """Condition on `files`: the path contains a text; true of every file for None."""
    if text is None:
        return sa.true()
    return files.c.path.contains(text, autoescape=True)


def newest_files(
    connection: sa.Connection, limit: int, path: str | None = None
) -> tuple[list[LoadedFile], int]:
    """Returns the newest files whose path contains a text, and the number of all such files.

    Newest first; withdrawn files are included.
    """
    statement = (
        sa.select(*COLUMNS, sa.func.count().over())
        .where(has_path(path))
        .order_by(files.c.file_id.desc())
        .limit(limit)
    )
    rows = connection.execute(statement).all()
    n_all = int(rows[0][-1]) if rows else 0
    return [LoadedFile(*row[:-1]) for row in rows], n_all


def files_of(connection: sa.Connection, file_ids: Sequence[int]) -> list[LoadedFile]:
    """Files by their ids, earliest first; unknown ids are left out."""
    statement = sa.select(*COLUMNS).where(files.c.file_id.in_(file_ids))
    return [
        LoadedFile(*row)
        for row in connection.execute(statement.order_by(files.c.file_id))
    ]


def repeats_of(connection: sa.Connection, file_ids: Sequence[int]) -> list[Repeat]:
    """Other files, not withdrawn, that repeat rows of the given files, earliest first."""
    statement = (
        sa.select(files.c.file_id, files.c.path, file_repeats.c.repeats_file_id)
        .join(file_repeats, file_repeats.c.file_id == files.c.file_id)
        .where(
            file_repeats.c.repeats_file_id.in_(file_ids),
            files.c.file_id.not_in(file_ids),
            files.c.withdrawn_at.is_(None),
        )
        .order_by(files.c.file_id, file_repeats.c.repeats_file_id)
    )
    return [Repeat(*row) for row in connection.execute(statement)]


def loaded_ahead(connection: sa.Connection) -> list[LoadedFile]:
    """Files, not withdrawn, with a load time in the future (the clock was ahead), latest first."""
    tolerated_until = sa.func.clock_timestamp() + CLOCK_TOLERANCE
    is_ahead = files.c.withdrawn_at.is_(None) & (files.c.loaded_at > tolerated_until)
    statement = sa.select(*COLUMNS).where(is_ahead).order_by(files.c.loaded_at.desc())
    return [LoadedFile(*row) for row in connection.execute(statement)]


def set_withdrawn(connection: sa.Connection, file_ids: Sequence[int]) -> None:
    """Marks files as withdrawn, and empties their quarantine."""
    connection.execute(sa.delete(quarantine).where(quarantine.c.file_id.in_(file_ids)))
    connection.execute(
        sa.update(files)
        .where(files.c.file_id.in_(file_ids))
        .values(withdrawn_at=sa.func.clock_timestamp())
    )
