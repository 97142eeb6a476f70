"""Deletes the forecasts and scores of old origins."""

from datetime import date, timedelta

import sqlalchemy as sa

from pipelines.schema import forecast_totals, forecasts, score_totals, scores
from pipelines.store.forecasts import WRITE_LOCK
from pipelines.store.score_totals import lock as lock_scores

TABLES = (scores, score_totals, forecast_totals, forecasts)


def origins_older_than(connection: sa.Connection, days: int) -> list[date]:
    """Origins of forecasts that lie more than `days` before the newest one, oldest first."""
    origin = forecasts.c.origin_on
    newest_on = connection.scalar(sa.select(sa.func.max(origin)))
    if newest_on is None:
        return []
    older = sa.select(origin).where(origin < newest_on - timedelta(days=days))
    return list(connection.scalars(older.distinct().order_by(origin)))


def delete_origin(connection: sa.Connection, origin: date) -> int:
    """Deletes one origin's forecasts, totals and scores; returns the number of rows.

    The sums of its scores are deleted too, but not counted. A lock keeps others from writing
    the origin until the transaction ends.
    """
    write_lock = sa.func.pg_advisory_xact_lock(WRITE_LOCK, origin.toordinal())
    connection.execute(sa.select(write_lock))
    lock_scores(connection)
    n_rows = {
        table.name: connection.execute(
            sa.delete(table).where(table.c.origin_on == origin)
        ).rowcount
        for table in TABLES
    }
    return sum(n_rows.values()) - n_rows[score_totals.name]
