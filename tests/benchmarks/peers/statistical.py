"""AutoETS and DynamicOptimizedTheta of statsforecast, one model per depot, on log counts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from statsforecast import StatsForecast
from statsforecast.models import AutoETS, DynamicOptimizedTheta

from forecaster.data.panel import Panel
from tests.benchmarks.peers import as_orders

SEASON = 7
LEVEL = 80


def models() -> dict[str, Callable[[], Any]]:
    """Makers of the models, by name."""
    return {
        "auto_ets": lambda: AutoETS(season_length=SEASON),
        "theta": lambda: DynamicOptimizedTheta(season_length=SEASON),
    }


def fit_and_forecast(
    model: Callable[[], Any],
    panel: Panel,
    horizon: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P10, P50, P90 of the days after the panel's last, [D, H] each."""
    long = _long(panel)
    # On one core: the cells of the lab are measured side by side.
    fleet = StatsForecast(models=[model()], freq=1, n_jobs=1, fallback_model=None)
    frame = fleet.forecast(df=long, h=horizon, level=[LEVEL])
    name = fleet.models[0].alias
    parts = []
    for column in (f"{name}-lo-{LEVEL}", name, f"{name}-hi-{LEVEL}"):
        wide = frame.pivot_table(index="unique_id", columns="ds", values=column)
        value_dh = np.full((panel.n_depots, horizon), np.nan)
        value_dh[wide.index.to_numpy(int)] = wide.to_numpy()
        parts.append(as_orders(value_dh))
    return parts[0], parts[1], parts[2]


def _long(panel: Panel) -> pd.DataFrame:
    """Tidy rows of depots long enough to fit a weekly season to."""
    frames = []
    for depot, row_t in enumerate(filled_counts(panel)):
        steps = np.flatnonzero(np.isfinite(row_t))
        if len(steps) < 2 * SEASON + 1:
            continue
        value_t = np.log1p(row_t[steps])
        # One axis of integer days for all depots; it ends on the panel's last day.
        frames.append(pd.DataFrame({"unique_id": depot, "ds": steps, "y": value_t}))
    return pd.concat(frames)


def filled_counts(panel: Panel) -> np.ndarray:
    """Orders per day, [D, T], from each depot's first observed day on; NaN before it.

    A day that is closed or not observed takes the median of the four same weekdays
    before it, else of those after it, else the depot's median.
    """
    return np.stack([_filled(row_t) for row_t in panel.demand_dt.astype(float)])


def _filled(row_t: np.ndarray) -> np.ndarray:
    known = np.flatnonzero(np.isfinite(row_t))
    if not len(known):
        return np.zeros_like(row_t)
    row = pd.Series(row_t[known[0] :])
    for weeks in ((7, 14, 21, 28), (-7, -14, -21, -28)):
        near = pd.concat([row.shift(days) for days in weeks], axis=1)
        row = row.fillna(near.median(axis=1))
    whole = row.fillna(row.median()).to_numpy()
    return np.concatenate([np.full(known[0], np.nan), whole])
