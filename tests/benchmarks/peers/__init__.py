"""Peers that people would use instead of Harbor Fleet, each as good as we could make it.

Every peer takes the same panel and the same split, and gives one forecast per origin of
the split.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from forecaster import backtest
from forecaster.backtest import BacktestForecasts, HoldoutSplit
from forecaster.data.panel import Panel


class Forecasts(NamedTuple):
    """Orders per day of the days after each origin; NaN where a model gives none."""

    p10_odh: np.ndarray
    # The number that is scored.
    p50_odh: np.ndarray
    p90_odh: np.ndarray


Peer = Callable[[Panel, HoldoutSplit], Forecasts]


def nothing(split: HoldoutSplit, n_depots: int) -> Forecasts:
    """No forecast from any origin yet."""
    shape = (len(split.origins), n_depots, split.horizon)
    return Forecasts(*(np.full(shape, np.nan) for _ in range(3)))


def naive_forecast(name: str) -> Peer:
    """The naive forecast of that name, which `harbor backtest` prints as well, as a peer."""

    def run(panel: Panel, split: HoldoutSplit) -> Forecasts:
        forecasters = {name: backtest.naive_forecaster(name, split.horizon)}
        made = backtest.run(panel, split, forecasters, panel.as_of)[name]
        return Forecasts(made.p10_odh, made.point_odh, made.p90_odh)

    return run


def as_orders(log_counts: np.ndarray) -> np.ndarray:
    """From log(1 + orders), never negative."""
    return np.maximum(np.expm1(log_counts), 0.0)


def with_actuals(
    panel: Panel, split: HoldoutSplit, forecasts: Forecasts
) -> BacktestForecasts:
    """Adds the actuals to forecasts; closed days are forecast as 0 by every model."""
    first_o = [panel.step(origin) + 1 for origin in split.origins]
    days = [slice(first, first + split.horizon) for first in first_o]
    actual_odh = np.stack([panel.demand_dt[:, some] for some in days]).astype(float)
    closed_odh = np.stack([panel.closed_dt[:, some] for some in days])
    quantiles = [
        np.where(closed_odh & np.isfinite(value), 0.0, value) for value in forecasts
    ]
    return BacktestForecasts(actual_odh, *quantiles)
