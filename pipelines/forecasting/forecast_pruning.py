"""Deletes forecasts and scores older than a setting."""

from dataclasses import dataclass

import sqlalchemy as sa

from pipelines.settings import Settings
from pipelines.store import forecast_retention


@dataclass(frozen=True)
class DeletedForecasts:
    """Outcome of a deletion.

    Args:
      rows: Forecasts, totals and scores deleted.
      origins: Origins that they had.
    """

    rows: int
    origins: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing was deleted."""
        return not self.origins


def delete_old_forecasts(
    engine: sa.Engine, settings: Settings
) -> DeletedForecasts | None:
    """Deletes forecasts, totals and scores from origins that are kept no longer.

    An origin is kept for `keep_forecasts_days` before the newest one. Each is deleted in one
    transaction.

    Returns:
      None if the setting keeps every forecast.
    """
    if settings.keep_forecasts_days is None:
        return None
    with engine.connect() as connection:
        origins = forecast_retention.origins_older_than(
            connection, settings.keep_forecasts_days
        )
    n_rows = 0
    for origin in origins:
        with engine.begin() as connection:
            n_rows += forecast_retention.delete_origin(connection, origin)
    return DeletedForecasts(n_rows, len(origins))
