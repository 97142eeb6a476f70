"""AutoETS and DynamicOptimizedTheta of statsforecast, one model per depot.

Tuned on the last days of the training period: on counts or on log counts, on the whole
history or on its last two years.
"""

import itertools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from statsforecast import StatsForecast
from statsforecast.models import AutoETS, DynamicOptimizedTheta

from forecaster.backtest import HoldoutSplit
from forecaster.data.panel import Panel
from tests.benchmarks.peers import PeerRun, as_orders, local_origins, nothing

SEASON = 7
LEVEL = 80
TUNING_ORIGINS = (28, 17)
TUNING_DEPOTS = 40


class Choice(NamedTuple):
    """Form in which the model sees a series."""

    log: bool
    days: int


CHOICES = tuple(Choice(*each) for each in itertools.product((True, False), (730, 3650)))


def auto_ets(panel: Panel, split: HoldoutSplit) -> PeerRun:
    """Error, trend and season chosen per depot by AICc."""
    return _run(models()["auto_ets"], panel, split)


def theta(panel: Panel, split: HoldoutSplit) -> PeerRun:
    """The best of the M4's simple methods."""
    return _run(models()["theta"], panel, split)


def models() -> dict[str, Callable[[], Any]]:
    """Makers of the models, by name."""
    return {
        "auto_ets": lambda: AutoETS(season_length=SEASON),
        "theta": lambda: DynamicOptimizedTheta(season_length=SEASON),
    }


def _run(model: Callable[[], Any], panel: Panel, split: HoldoutSplit) -> PeerRun:
    choice = _tuned(model, panel.as_of(split.trained_through), split.horizon)
    started = time.perf_counter()
    forecasts = nothing(split, panel.n_depots)
    for position in local_origins(split):
        seen = panel.as_of(split.origins[position])
        origin_forecast = fit_and_forecast(model, seen, split.horizon, choice)
        for whole, part in zip(forecasts, origin_forecast, strict=True):
            whole[position] = part
    seconds = time.perf_counter() - started
    shown = "log counts" if choice.log else "counts"
    return PeerRun(forecasts, seconds, 0.0, f"{shown}, last {choice.days} days")


def _tuned(model: Callable[[], Any], panel: Panel, horizon: int) -> Choice:
    """The choice of least mean absolute percentage error inside the training days."""
    some = np.linspace(0, panel.n_depots - 1, min(TUNING_DEPOTS, panel.n_depots))
    few_d = np.unique(some.astype(int))
    return min(CHOICES, key=lambda choice: _miss(model, panel, horizon, choice, few_d))


def _miss(
    model: Callable[[], Any],
    panel: Panel,
    horizon: int,
    choice: Choice,
    few_d: np.ndarray,
) -> float:
    misses = []
    for ago in TUNING_ORIGINS:
        step = panel.n_steps - 1 - ago
        seen = panel.as_of(panel.day(step))
        _, p50_dh, _ = fit_and_forecast(model, seen, horizon, choice, few_d)
        actual_dh = panel.demand_dt[few_d, step + 1 : step + 1 + horizon]
        counted = actual_dh > 0
        misses.append((np.abs(p50_dh[few_d] - actual_dh) / actual_dh)[counted])
    return float(np.nanmean(np.concatenate(misses)))


def fit_and_forecast(
    model: Callable[[], Any],
    panel: Panel,
    horizon: int,
    choice: Choice,
    few_d: np.ndarray | None = None,
    n_jobs: int = -1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P10, P50, P90 of the days after the panel's last, [D, H] each."""
    long = _long(panel, choice, few_d)
    fleet = StatsForecast(models=[model()], freq=1, n_jobs=n_jobs, fallback_model=None)
    frame = fleet.forecast(df=long, h=horizon, level=[LEVEL])
    name = fleet.models[0].alias
    parts = []
    for column in (f"{name}-lo-{LEVEL}", name, f"{name}-hi-{LEVEL}"):
        wide = frame.pivot_table(index="unique_id", columns="ds", values=column)
        value_dh = np.full((panel.n_depots, horizon), np.nan)
        value_dh[wide.index.to_numpy(int)] = wide.to_numpy()
        parts.append(as_orders(value_dh) if choice.log else np.maximum(value_dh, 0.0))
    return parts[0], parts[1], parts[2]


def _long(panel: Panel, choice: Choice, few_d: np.ndarray | None) -> pd.DataFrame:
    """Tidy rows of depots long enough to fit a weekly season to."""
    count_dt = filled_counts(panel.last(choice.days))
    depots = range(panel.n_depots) if few_d is None else few_d
    frames = []
    for depot in depots:
        row_t = count_dt[depot]
        steps = np.flatnonzero(np.isfinite(row_t))
        if len(steps) < 2 * SEASON + 1:
            continue
        value_t = np.log1p(row_t[steps]) if choice.log else row_t[steps]
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
