"""Takes the forecasts and scores of whole months out of the database."""

from datetime import date
from typing import Any

import sqlalchemy as sa

from pipelines.schema import forecast_totals, forecasts, score_totals, scores
from pipelines.store.forecasts import WRITE_LOCK
from pipelines.store.score_totals import lock as lock_scores

TABLES = (forecasts, forecast_totals, scores)
"""The tables that cannot be made again from others; `score_totals` are sums of `scores`."""

LOCK_ORIGINS = """
select pg_advisory_xact_lock(cast(:key as integer), number)
from generate_series(cast(:first as integer), cast(:last as integer)) as number
"""
MONTHS_BEFORE = """
select distinct cast(date_trunc('month', origin_on) as date) as month
from forecasts where origin_on < :before order by month
"""


def newest_origin(connection: sa.Connection) -> date | None:
    """Origin of the newest forecast; None without any."""
    return connection.scalar(sa.select(sa.func.max(forecasts.c.origin_on)))


def months_before(connection: sa.Connection, before: date) -> list[date]:
    """First days of the months with forecasts from origins before a day, oldest first."""
    return list(connection.scalars(sa.text(MONTHS_BEFORE), {"before": before}))


def lock_origins(connection: sa.Connection, first: date, end: date) -> None:
    """Keeps forecasts and scores from `first` until before `end` from being written meanwhile.

    They are locked in the order of `replace_forecasts`, so that neither waits for the other.
    """
    days = {"first": first.toordinal(), "last": end.toordinal() - 1}
    connection.execute(sa.text(LOCK_ORIGINS), {"key": WRITE_LOCK, **days})
    lock_scores(connection)


def origins(
    connection: sa.Connection, table: sa.Table, first: date, end: date
) -> list[date]:
    """Origins of a table's rows from `first` until before `end`, oldest first."""
    origin = table.c.origin_on
    of_month = sa.select(origin).where(origin >= first, origin < end).distinct()
    return list(connection.scalars(of_month.order_by(origin)))


def take(
    connection: sa.Connection, table: sa.Table, origin: date
) -> list[tuple[Any, ...]]:
    """Deletes a table's rows of one origin and returns them, in the order of its columns."""
    deleted = sa.delete(table).where(table.c.origin_on == origin)
    return [tuple(row) for row in connection.execute(deleted.returning(table))]


def delete_sums(connection: sa.Connection, first: date, end: date) -> None:
    """Deletes the sums of the scores from `first` until before `end`."""
    origin = score_totals.c.origin_on
    connection.execute(sa.delete(score_totals).where(origin >= first, origin < end))
