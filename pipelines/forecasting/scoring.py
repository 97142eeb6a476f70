"""Scores forecasts whose actuals are now known, with both naive forecasts."""

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from forecaster.data.panel import Panel
from forecaster.naive_forecasts import median4, seasonal_naive
from pipelines.database.engine import snapshot
from pipelines.demand.panels import PanelsAsKnown, ReadPanels
from pipelines.store import forecasts, scores_due


def score_known_days(engine: sa.Engine, read_panels: ReadPanels) -> int:
    """Scores each forecast that has no score yet, or whose actual was corrected.

    Only forecasts that `scores_due` marks as changed are checked; without any, no panels
    are read. Returns the number of scores written.
    """
    with snapshot(engine) as connection:
        due = scores_due.read(connection)
        days_ahead = forecasts.origins_to_score(connection, due)
    scored = sum(
        _score(engine, read_panels(), origin, horizon)
        for origin, horizon in days_ahead.items()
    )
    # Last, so that an interrupted scoring is repeated.
    with engine.begin() as connection:
        scores_due.remove(connection, due)
    return scored


def _score(engine: sa.Engine, panels: PanelsAsKnown, origin: date, horizon: int) -> int:
    # If withdrawn counts leave the origin without a panel, its old scores are still deleted.
    naive = pa.table({name: [] for name in forecasts.NAIVE_COLUMNS})
    if panels.covers(origin):
        naive = _naive_forecasts(panels.at(origin), horizon)
    with engine.begin() as connection:
        return forecasts.score_origin(connection, origin, horizon, naive)


def _naive_forecasts(panel: Panel, horizon: int) -> pa.Table:
    """Both naive forecasts by depot and day ahead, with `forecasts.NAIVE_COLUMNS`."""
    demand_dt = panel.demand_dt.astype(float)
    targets = [panel.origin + timedelta(days=step) for step in range(1, horizon + 1)]
    naive = (
        compute(demand_dt, panel.n_steps, horizon).ravel()
        for compute in (seasonal_naive, median4)
    )
    columns = (
        np.repeat(np.array(panel.depot_ids, object), horizon),
        pa.array(targets * panel.n_depots),
        *(pa.array(values, from_pandas=True) for values in naive),
    )
    return pa.table(dict(zip(forecasts.NAIVE_COLUMNS, columns, strict=True)))
