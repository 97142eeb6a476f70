"""Statements for the stored public holidays."""

from collections.abc import Sequence
from datetime import date

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from pipelines.schema import depots, public_holidays


def regions(connection: sa.Connection) -> list[tuple[str, str]]:
    """Country and subdivision ('' for none) of every depot."""
    subdivision = sa.func.coalesce(depots.c.subdivision, "")
    statement = sa.select(depots.c.country, subdivision).distinct()
    return [(country, part) for country, part in sorted(connection.execute(statement))]


def add_holidays(
    connection: sa.Connection, rows: Sequence[tuple[str, str, date, str]]
) -> None:
    """Adds holidays; one that is stored already keeps its name."""
    if not rows:
        return
    names = ("country", "subdivision", "day_on", "name")
    statement = insert(public_holidays).on_conflict_do_nothing()
    connection.execute(statement, [dict(zip(names, row, strict=True)) for row in rows])


def remove_others(
    connection: sa.Connection,
    region: tuple[str, str],
    span: tuple[date, date],
    days: Sequence[date],
) -> None:
    """Removes a region's (country, subdivision) holidays within a span, except those on `days`."""
    table = public_holidays.c
    statement = sa.delete(public_holidays).where(
        sa.tuple_(table.country, table.subdivision) == region,
        table.day_on.between(*span),
        table.day_on.not_in(days),
    )
    connection.execute(statement)
