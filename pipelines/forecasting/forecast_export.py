"""Exports forecasts and scores older than a setting to files, and deletes them."""

import functools
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import sqlalchemy as sa

from pipelines.forecasting import month_files
from pipelines.settings import Settings
from pipelines.store import forecast_retention as store


@dataclass(frozen=True)
class ExportedForecasts:
    """Outcome of an export.

    Args:
      rows: Number of rows that were exported and deleted.
      files: Number of files written.
      before: The first origin that is kept for certain; None without forecasts.
    """

    rows: int
    files: int
    before: date | None

    @property
    def is_nothing(self) -> bool:
        """Whether nothing was exported."""
        return not self.files


def export_old_forecasts(
    engine: sa.Engine, settings: Settings
) -> ExportedForecasts | None:
    """Exports forecasts, their totals and their scores of whole months, and deletes them.

    A month is exported once its last origin lies more than `keep_forecasts_days` before the
    newest one. Its rows are deleted in one transaction, which is committed after its files
    are on the disk: after an interruption they are in both places, and the next export
    writes the same files. Rows that come for such a month later are added to its files.

    Args:
      engine: Database the pipelines own.
      settings: `keep_forecasts_days`, and the folder of the exports.

    Returns:
      None if the setting keeps every forecast.

    Raises:
      BadInputError: a file of an earlier export cannot be read.
    """
    if settings.keep_forecasts_days is None:
        return None
    with engine.connect() as connection:
        newest_origin = store.newest_origin(connection)
        if newest_origin is None:
            return ExportedForecasts(0, 0, None)
        before = newest_origin - timedelta(days=settings.keep_forecasts_days)
        months = store.months_before(connection, before.replace(day=1))
    rows = [_export_month(engine, settings.exports, month) for month in months]
    return ExportedForecasts(sum(rows), len(rows) * len(store.TABLES), before)


def _export_month(engine: sa.Engine, folder: Path, month: date) -> int:
    """Exports and deletes one month; returns the number of rows."""
    end = (month + timedelta(days=31)).replace(day=1)
    with engine.begin() as connection:
        store.lock_origins(connection, month, end)
        total = 0
        for table in store.TABLES:
            path = month_files.path_of(folder, table, month)
            take = functools.partial(store.take, connection, table)
            origins = store.origins(connection, table, month, end)
            staged, n_rows = month_files.stage(path, table, origins, take)
            month_files.publish(staged, path)
            total += n_rows
        store.delete_sums(connection, month, end)
    return total
