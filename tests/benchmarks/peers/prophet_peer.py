"""Prophet, one model per depot, with the same holidays and events.

Tuned on the last days of the training period: counts with a multiplicative season or
log counts, and how freely the trend may change.
"""

import itertools
import logging
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
import pandas as pd
from prophet import Prophet

from forecaster.backtest import HoldoutSplit
from forecaster.data.panel import Panel
from tests.benchmarks.peers import Forecasts, as_orders, nothing

TUNING_DEPOTS = 16
TUNING_ORIGIN = 28
WORKERS = 2


class Choice(NamedTuple):
    """Settings of Prophet."""

    log: bool
    freedom: float
    range: float


CHOICES = tuple(
    Choice(*each) for each in itertools.product((True, False), (0.05, 0.5), (0.8, 0.95))
)


class Task(NamedTuple):
    """One depot's series and the days ahead, for a worker process."""

    day_t: pd.DatetimeIndex
    orders_t: np.ndarray
    calendar: pd.DataFrame
    choice: Choice


def prophet(panel: Panel, split: HoldoutSplit) -> Forecasts:
    """Refitted at every origin."""
    with ProcessPoolExecutor(WORKERS) as pool:
        choice = _tuned(pool, panel.as_of(split.trained_through), split.horizon)
        forecasts = nothing(split, panel.n_depots)
        for position, origin in enumerate(split.origins):
            seen = panel.as_of(origin)
            origin_forecast = _forecast(
                pool, seen, split.horizon, choice, range(seen.n_depots)
            )
            for whole, part in zip(
                forecasts, np.moveaxis(origin_forecast, 1, 0), strict=True
            ):
                whole[position] = part
    return forecasts


def _tuned(pool: ProcessPoolExecutor, panel: Panel, horizon: int) -> Choice:
    some = np.linspace(0, panel.n_depots - 1, min(TUNING_DEPOTS, panel.n_depots))
    few = [int(depot) for depot in np.unique(some.astype(int))]
    step = panel.n_steps - 1 - TUNING_ORIGIN
    seen, days = panel.as_of(panel.day(step)), slice(step + 1, step + 1 + horizon)
    actual_dh = panel.demand_dt[few, days]
    counted = actual_dh > 0

    def miss(choice: Choice) -> float:
        p50_dh = _forecast(pool, seen, horizon, choice, few)[:, 1]
        return float(np.nanmean((np.abs(p50_dh - actual_dh) / actual_dh)[counted]))

    return min(CHOICES, key=miss)


def _forecast(
    pool: ProcessPoolExecutor,
    panel: Panel,
    horizon: int,
    choice: Choice,
    depots: range | list[int],
) -> np.ndarray:
    """P10, P50, P90 of the days after the panel's last, [D, 3, H]."""
    day_t = pd.date_range(panel.start_on, periods=panel.n_steps + horizon)
    tasks = [
        Task(
            day_t,
            panel.demand_dt[depot].astype(float),
            calendar_columns(panel, depot)[: panel.n_steps + horizon],
            choice,
        )
        for depot in depots
    ]
    return np.stack(list(pool.map(_forecast_depot, tasks, chunksize=4)))


def _forecast_depot(task: Task) -> np.ndarray:
    logging.getLogger("cmdstanpy").setLevel(logging.ERROR)
    frame = pd.DataFrame({"ds": task.day_t}).join(task.calendar)
    n_steps = len(task.orders_t)
    past, ahead = frame[:n_steps].copy(), frame[n_steps:].copy()
    log = task.choice.log
    past["y"] = np.log1p(task.orders_t) if log else task.orders_t
    past = past[past["y"].notna()]
    if len(past) < 15:
        return np.full((3, len(ahead)), np.nan)
    model = Prophet(
        interval_width=0.8,
        uncertainty_samples=300,
        weekly_seasonality=True,
        yearly_seasonality=len(past) > 365,
        daily_seasonality=False,
        seasonality_mode="additive" if log else "multiplicative",
        changepoint_prior_scale=task.choice.freedom,
        changepoint_range=task.choice.range,
    )
    for name in task.calendar.columns:
        if past[name].any():
            model.add_regressor(name, standardize=False)
    model.fit(past)
    predicted = model.predict(ahead)
    value = predicted[["yhat_lower", "yhat", "yhat_upper"]].to_numpy().T
    return as_orders(value) if log else np.maximum(value, 0.0)


def calendar_columns(panel: Panel, depot: int) -> pd.DataFrame:
    """Holidays and events of a depot's days, days ahead included, as 0.0 and 1.0.

    Kinds that fell on fewer than two of the panel's days teach nothing and are left out.
    """
    calendar = panel.calendar
    active_tk = calendar.active_gtk[calendar.group_d[depot]].copy()
    own = calendar.own.rows(calendar.own.depot_r == depot)
    active_tk[own.step_r, own.kind_r] = True
    often_k = active_tk[: panel.n_steps].sum(axis=0) >= 2
    names = [f"kind_{k}" for k in np.flatnonzero(often_k)]
    return pd.DataFrame(active_tk[:, often_k].astype(float), columns=names)
