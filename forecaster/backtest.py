"""Backtests forecasters over rolling origins and scores them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from forecaster import metrics
from forecaster.baselines import get_baseline, seasonal_naive_scale
from forecaster.data.panel import Panel
from forecaster.errors import CutoffError


@dataclass(frozen=True)
class ScoredForecast:
    """Scored part of a forecast, orders per day; the bounds are NaN for a model without them."""

    p10_dh: Float[np.ndarray, "depot horizon"]
    point_dh: Float[np.ndarray, "depot horizon"]
    p90_dh: Float[np.ndarray, "depot horizon"]


Forecaster = Callable[[Panel], ScoredForecast]
"""Forecasts from the last day of a panel, which has no later actuals."""


@dataclass(frozen=True)
class HoldoutSplit:
    """Held-out days and the origins from which they are forecast.

    Attributes:
      trained_through: The last day before the holdout; the first origin.
      origins: Days from which the holdout is forecast, in order.
      horizon: Days forecast from each origin.
      holdout_days: Days held out.
      stride: Days between origins.
    """

    trained_through: date
    origins: tuple[date, ...]
    horizon: int
    holdout_days: int
    stride: int


@dataclass(frozen=True)
class Scores:
    """Scores of one model, as fractions; NaN where undefined.

    `days` is the number of depot-days with any orders, over which MAPE is the mean.
    """

    mape: float
    wape: float
    bias: float
    mase: float
    coverage80: float
    days: int

    def in_percent(self) -> dict[str, float | int | None]:
        """Scores by name: mape, wape and bias in percent, coverage80 a fraction; None for NaN."""
        return {
            "mape": _rounded(100 * self.mape, 3),
            "wape": _rounded(100 * self.wape, 3),
            "bias": _rounded(100 * self.bias, 3),
            "mase": _rounded(self.mase, 4),
            "coverage80": _rounded(self.coverage80, 4),
            "days": self.days,
        }


@dataclass(frozen=True)
class Outcome:
    """Forecasts of one model with the actuals, [O, D, H]."""

    actual_odh: Float[np.ndarray, "origin depot horizon"]
    p10_odh: Float[np.ndarray, "origin depot horizon"]
    point_odh: Float[np.ndarray, "origin depot horizon"]
    p90_odh: Float[np.ndarray, "origin depot horizon"]


def split_holdout(
    panel: Panel, holdout_days: int, horizon: int, stride: int = 1
) -> HoldoutSplit:
    """Holds out the last days, with an origin every `stride` days that stays inside.

    Raises:
      CutoffError: the holdout is shorter than the horizon, or leaves no training days.
    """
    if holdout_days < horizon:
        raise CutoffError(
            f"holdout_days is {holdout_days}, but a forecast of {horizon} days must fit "
            "in. Hold out more days, or shorten the horizon."
        )
    first = panel.n_steps - 1 - holdout_days
    if first < 2 * horizon:
        raise CutoffError(
            f"The history has {panel.n_steps} days, and holding out {holdout_days} "
            f"leaves {first + 1} to train on, fewer than {2 * horizon + 1}. Load earlier "
            "orders, or hold out fewer days."
        )
    steps = range(first, panel.n_steps - horizon, stride)
    origins = tuple(panel.day(step) for step in steps)
    return HoldoutSplit(panel.day(first), origins, horizon, holdout_days, stride)


def run(
    panel: Panel,
    split: HoldoutSplit,
    forecasters: Mapping[str, Forecaster],
    panel_at: Callable[[date], Panel] | None = None,
) -> dict[str, Outcome]:
    """Forecasts from every origin of a holdout, with every forecaster.

    Args:
      panel: Panel with the actuals of every target; the forecasters never see them.
      split: From `split_holdout`, on this panel.
      forecasters: Forecasters by name; each is called once per origin.
      panel_at: Returns the panel as known at an origin; by default `panel.as_of`.
    """
    panel_at = panel_at or panel.as_of
    actual = []
    forecasts: dict[str, list[ScoredForecast]] = {name: [] for name in forecasters}
    for origin in split.origins:
        first = panel.step(origin) + 1
        actual.append(panel.demand_dt[:, first : first + split.horizon].astype(float))
        visible = panel_at(origin)
        for name, forecaster in forecasters.items():
            forecasts[name].append(forecaster(visible))
    actual_odh = np.stack(actual)
    return {
        name: Outcome(
            actual_odh,
            np.stack([forecast.p10_dh for forecast in by_origin]),
            np.stack([forecast.point_dh for forecast in by_origin]),
            np.stack([forecast.p90_dh for forecast in by_origin]),
        )
        for name, by_origin in forecasts.items()
    }


def baseline_forecaster(name: str, horizon: int) -> Forecaster:
    """Wraps a baseline as a forecaster without bounds.

    Raises:
      ConfigError: there is no such baseline.
    """
    compute = get_baseline(name)

    def forecast(panel: Panel) -> ScoredForecast:
        point_dh = compute(panel.demand_dt, panel.n_steps, horizon).astype(float)
        no_bounds = np.full_like(point_dh, np.nan)
        closed_dh = panel.closed_dt[:, panel.n_steps : panel.n_steps + horizon]
        return ScoredForecast(no_bounds, np.where(closed_dh, 0.0, point_dh), no_bounds)

    return forecast


def score(
    outcomes: Mapping[str, Outcome], scale_d: Float[np.ndarray, " depot"]
) -> dict[str, Scores]:
    """Scores every model over the depot-days that all of them forecast.

    Args:
      outcomes: Forecasts and actuals by model.
      scale_d: From `mase_scale`, on the training days.
    """
    scored = _common_days(outcomes)
    return {
        name: _scores(outcome, scored, scale_d) for name, outcome in outcomes.items()
    }


def mase_scale(panel: Panel, through: date) -> Float[np.ndarray, " depot"]:
    """Scale of MASE of each depot, on the days up to `through`."""
    return seasonal_naive_scale(panel.as_of(through).demand_dt.astype(float))


def _common_days(
    outcomes: Mapping[str, Outcome],
) -> Bool[np.ndarray, "origin depot horizon"]:
    """Depot-days that were observed and that every model forecast."""
    valid = [
        np.isfinite(outcome.actual_odh) & np.isfinite(outcome.point_odh)
        for outcome in outcomes.values()
    ]
    return np.logical_and.reduce(valid)


def _scores(
    outcome: Outcome,
    scored_odh: Bool[np.ndarray, "origin depot horizon"],
    scale_d: Float[np.ndarray, " depot"],
) -> Scores:
    actual, point = outcome.actual_odh, outcome.point_odh
    scale_odh = np.broadcast_to(scale_d[None, :, None], actual.shape)
    has_bounds_odh = (
        scored_odh & np.isfinite(outcome.p10_odh) & np.isfinite(outcome.p90_odh)
    )
    return Scores(
        mape=metrics.mape(actual, point, scored_odh),
        wape=metrics.wape(actual, point, scored_odh),
        bias=metrics.bias(actual, point, scored_odh),
        mase=metrics.mase(actual, point, scored_odh, scale_odh),
        coverage80=metrics.coverage(
            actual, outcome.p10_odh, outcome.p90_odh, has_bounds_odh
        ),
        days=metrics.mape_days(actual, scored_odh),
    )


def _rounded(value: float, digits: int) -> float | None:
    return None if np.isnan(value) else round(value, digits)


def as_json(
    split: HoldoutSplit,
    scores: Mapping[str, Scores],
    n_depots: int,
    train_seconds: float,
) -> dict[str, Any]:
    """Builds the object that `harbor backtest --json` prints."""
    return {
        "horizon": split.horizon,
        "holdout_days": split.holdout_days,
        "stride": split.stride,
        "origins": [origin.isoformat() for origin in split.origins],
        "trained_through": split.trained_through.isoformat(),
        "depots": n_depots,
        "train_seconds": round(train_seconds, 1),
        "models": {name: score.in_percent() for name, score in scores.items()},
    }
