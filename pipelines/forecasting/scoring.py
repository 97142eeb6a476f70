"""Scores forecasts whose actuals are now known, with both baselines."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import sqlalchemy as sa

from forecaster.baselines import median4, seasonal_naive
from forecaster.config import MAX_HORIZON
from forecaster.data.panel import Panel
from pipelines.database.engine import snapshot
from pipelines.demand.panels import PanelsAsKnown
from pipelines.store import forecasts as store


def score_known_days(engine: sa.Engine, zone: ZoneInfo) -> int:
    """Scores every forecast without a score, or whose actual was corrected.

    Args:
      engine: Database the pipelines own.
      zone: The fleet's time zone; decides what was known at an origin.

    Returns:
      Number of depot-days scored.
    """
    with snapshot(engine) as connection:
        origins = store.origins_to_score(connection)
    if not origins:
        return 0
    panels = PanelsAsKnown(engine, max(origins), zone)
    return sum(_score(engine, panels.at(origin), origin) for origin in origins)


def _score(engine: sa.Engine, panel: Panel, origin: date) -> int:
    with engine.begin() as connection:
        return store.score_origin(connection, origin, _baselines(panel))


def _baselines(panel: Panel) -> Iterator[tuple[Any, ...]]:
    """Yields depot_id, target_on and both baselines for each day ahead."""
    demand_dt = panel.demand_dt.astype(float)
    naive_dh = seasonal_naive(demand_dt, panel.n_steps, MAX_HORIZON)
    median_dh = median4(demand_dt, panel.n_steps, MAX_HORIZON)
    for depot, depot_id in enumerate(panel.depot_ids):
        for step in range(MAX_HORIZON):
            target = panel.origin + timedelta(days=step + 1)
            baselines = (naive_dh[depot, step], median_dh[depot, step])
            yield (
                depot_id,
                target,
                *(None if np.isnan(v) else float(v) for v in baselines),
            )
