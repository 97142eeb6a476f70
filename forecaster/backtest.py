"""Backtests forecasters over rolling origins and scores them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from forecaster import metrics
from forecaster.config import min_training_days
from forecaster.data.panel import Panel
from forecaster.errors import CutoffError
from forecaster.naive_forecasts import NAIVE_FORECASTS, seasonal_naive_scale


@dataclass(frozen=True)
class ScoredForecast:
    """Point and 80 % bounds, orders per day; the bounds are NaN for a model without them."""

    p10_dh: Float[np.ndarray, "depot horizon"]
    point_dh: Float[np.ndarray, "depot horizon"]
    p90_dh: Float[np.ndarray, "depot horizon"]

    def of_depots(
        self, depot_ids: Sequence[str], wanted: Sequence[str]
    ) -> "ScoredForecast":
        """Returns one row per wanted depot, NaN for a depot that was not forecast."""
        if depot_ids == wanted:
            return self
        row_of = {depot_id: row for row, depot_id in enumerate(depot_ids)}
        rows = [row_of.get(depot_id, -1) for depot_id in wanted]
        parts = (self.p10_dh, self.point_dh, self.p90_dh)
        return ScoredForecast(
            *(
                np.pad(part, ((0, 1), (0, 0)), constant_values=np.nan)[rows]
                for part in parts
            )
        )


Forecaster = Callable[[Panel], ScoredForecast]
"""Function that forecasts from the last day of a panel, which has no later actuals."""


@dataclass(frozen=True)
class HoldoutSplit:
    """Held-out days and the origins from which they are forecast.

    Attributes:
      trained_through: The last day before the holdout; the first origin.
      origins: Days from which the holdout is forecast, in order.
    """

    trained_through: date
    origins: tuple[date, ...]
    horizon: int
    holdout_days: int
    stride: int


@dataclass(frozen=True)
class Scores:
    """Scores of one model over all depots; NaN where undefined.

    Attributes:
      mape: Mean of |forecast - actual| / actual over depot-days with orders; a fraction.
      wape: Sum of |forecast - actual| over the sum of actuals; a fraction.
      bias: Sum of forecast - actual over the sum of actuals; a fraction, positive is too high.
      mase: Mean absolute error divided by the seasonal naive's on the training days.
      coverage80: Share of actuals within the 80 % interval; a fraction.
      days: Number of depot-days with orders, over which MAPE is averaged.
    """

    mape: float
    wape: float
    bias: float
    mase: float
    coverage80: float
    days: int

    @classmethod
    def of(
        cls,
        actual: Float[np.ndarray, "*day"],
        point: Float[np.ndarray, "*day"],
        band: tuple[Float[np.ndarray, "*day"], Float[np.ndarray, "*day"]],
        scored: Bool[np.ndarray, "*day"],
        scale: Float[np.ndarray, "*day"],
    ) -> "Scores":
        """Scores depot-days; coverage counts only days with a `band` (low and high bound)."""
        low, high = band
        has_bounds = scored & np.isfinite(low + high)
        return cls(
            mape=metrics.mape(actual, point, scored),
            wape=metrics.wape(actual, point, scored),
            bias=metrics.bias(actual, point, scored),
            mase=metrics.mase(actual, point, scored, scale),
            coverage80=metrics.coverage(actual, low, high, has_bounds),
            days=metrics.mape_days(actual, scored),
        )

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
class BacktestForecasts:
    """One model's forecasts and the actuals, orders per day; NaN where missing."""

    actual_odh: Float[np.ndarray, "origin depot horizon"]
    p10_odh: Float[np.ndarray, "origin depot horizon"]
    point_odh: Float[np.ndarray, "origin depot horizon"]
    p90_odh: Float[np.ndarray, "origin depot horizon"]


def split_holdout(
    panel: Panel,
    holdout_days: int,
    horizon: int,
    stride: int = 1,
    min_train_days: int | None = None,
) -> HoldoutSplit:
    """Holds out the last days; origins are `stride` days apart, with horizons inside the holdout.

    With a stride above 1, days after the last origin's horizon may be left unscored. At least
    `min_train_days` days precede the holdout, by default the minimum for training.

    Raises:
      CutoffError: the holdout is shorter than the horizon, or leaves too few days before it.
    """
    if min_train_days is None:
        min_train_days = min_training_days(horizon)
    if holdout_days < horizon:
        raise CutoffError(
            f"holdout_days is {holdout_days}, but a forecast of {horizon} days must fit "
            "in. Hold out more days, or shorten the horizon."
        )
    first = panel.n_steps - 1 - holdout_days
    if first + 1 < min_train_days:
        raise CutoffError(
            f"The history has {panel.n_steps} days, and holding out {holdout_days} "
            f"leaves {first + 1} to train on, fewer than {min_train_days}. Load earlier "
            "orders, or hold out fewer days."
        )
    steps = range(first, panel.n_steps - horizon, stride)
    origins = tuple(panel.day(step) for step in steps)
    return HoldoutSplit(panel.day(first), origins, horizon, holdout_days, stride)


def run(
    panel: Panel,
    split: HoldoutSplit,
    forecasters: Mapping[str, Forecaster],
    panel_at: Callable[[date], Panel],
) -> dict[str, BacktestForecasts]:
    """Forecasts from every origin of a holdout, with every forecaster.

    Args:
      panel: Panel with the actuals of every target; the forecasters never see them.
      split: From `split_holdout`, on this panel.
      forecasters: Forecasters by name; each is called once per origin.
      panel_at: Returns the panel as known at an origin, perhaps with fewer depots.
    """
    actual = []
    forecasts: dict[str, list[ScoredForecast]] = {name: [] for name in forecasters}
    for origin in split.origins:
        first = panel.step(origin) + 1
        actual.append(panel.demand_dt[:, first : first + split.horizon].astype(float))
        visible = panel_at(origin)
        for name, forecaster in forecasters.items():
            forecast = forecaster(visible)
            forecasts[name].append(
                forecast.of_depots(visible.depot_ids, panel.depot_ids)
            )
    actual_odh = np.stack(actual)
    return {
        name: BacktestForecasts(
            actual_odh,
            np.stack([forecast.p10_dh for forecast in by_origin]),
            np.stack([forecast.point_dh for forecast in by_origin]),
            np.stack([forecast.p90_dh for forecast in by_origin]),
        )
        for name, by_origin in forecasts.items()
    }


def naive_forecaster(name: str, horizon: int) -> Forecaster:
    """Wraps one of `NAIVE_FORECASTS` as a forecaster without bounds."""
    compute = NAIVE_FORECASTS[name]

    def forecast(panel: Panel) -> ScoredForecast:
        point_dh = compute(panel.demand_dt, panel.n_steps, horizon).astype(float)
        no_bounds = np.full_like(point_dh, np.nan)
        closed_dh = panel.closed_dt[:, panel.n_steps : panel.n_steps + horizon]
        return ScoredForecast(no_bounds, np.where(closed_dh, 0.0, point_dh), no_bounds)

    return forecast


def score(
    forecasts: Mapping[str, BacktestForecasts], scale_d: Float[np.ndarray, " depot"]
) -> dict[str, Scores]:
    """Scores all models on their `common_days`; `scale_d` is from `mase_scale`."""
    scored = common_days(forecasts)
    scale_odh = np.broadcast_to(scale_d[None, :, None], scored.shape)
    return {
        name: Scores.of(
            each.actual_odh,
            each.point_odh,
            (each.p10_odh, each.p90_odh),
            scored,
            scale_odh,
        )
        for name, each in forecasts.items()
    }


def mase_scale(panel: Panel, through: date) -> Float[np.ndarray, " depot"]:
    """MASE scale of each depot, computed on the days up to `through`."""
    return seasonal_naive_scale(panel.as_of(through).demand_dt.astype(float))


def common_days(
    forecasts: Mapping[str, BacktestForecasts],
) -> Bool[np.ndarray, "origin depot horizon"]:
    """Whether each depot-day was observed and forecast by every model."""
    valid = [
        np.isfinite(forecast.actual_odh) & np.isfinite(forecast.point_odh)
        for forecast in forecasts.values()
    ]
    return np.logical_and.reduce(valid)


def _rounded(value: float, digits: int) -> float | None:
    return None if np.isnan(value) else round(value, digits)


def summarise(
    split: HoldoutSplit,
    scores: Mapping[str, Scores],
    n_depots: int,
    train_seconds: float,
) -> dict[str, Any]:
    """Summarises a backtest: the object that `harbor backtest --json` prints."""
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
