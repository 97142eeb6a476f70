"""Backtests: forecasts past days from the data known then; scores models and naive forecasts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from forecaster import backtest
from forecaster.backtest import (
    BacktestForecasts,
    Forecaster,
    HoldoutSplit,
    ScoredForecast,
    Scores,
)
from forecaster.config import DEFAULT_POINT, PointFor
from forecaster.data.panel import Panel
from forecaster.inference import infer
from forecaster.inference.artefact import Artefact
from forecaster.naive_forecasts import NAIVE_FORECASTS
from pipelines.training import jax_runtime

if TYPE_CHECKING:
    import pandas as pd

    from forecaster.model.two_stage_fit import Recipe

PanelAsKnown = Callable[[date], Panel]
"""Returns the panel as it was known at an origin: `PanelsAsKnown.at`."""


@dataclass(frozen=True)
class Backtest:
    """The forecasts of a backtest.

    Attributes:
      panel: Panel with the actuals of the holdout.
      forecasts: Forecasts of the models that are scored, `gru` first.
      comparisons: Forecasts not scored: `baseline`, the model without its network; `naive`, the
        seasonal naive.
    """

    panel: Panel
    split: HoldoutSplit
    forecasts: dict[str, BacktestForecasts]
    comparisons: dict[str, BacktestForecasts]
    seconds: float

    def scores(self) -> dict[str, Scores]:
        """Returns the scores by model."""
        return backtest.score(self.forecasts, self._scale_d())

    @cached_property
    def rows(self) -> "pd.DataFrame":
        """The forecasts as rows, see `backtest_rows.forecast_rows`."""
        from pipelines.training.backtest_rows import forecast_rows

        return forecast_rows(
            self.panel, self.split, self.forecasts, self.comparisons, self._scale_d()
        )

    def _scale_d(self) -> np.ndarray:
        return backtest.mase_scale(self.panel, self.split.trained_through)


def run_backtest(
    panel: Panel,
    panel_at: PanelAsKnown,
    split: HoldoutSplit,
    recipe: "Recipe",
    against: tuple[str, ...],
    report: Callable[[str], Callable[[int, int], None]],
    point: PointFor = DEFAULT_POINT,
) -> Backtest:
    """Trains once on the data before the holdout, and forecasts from every origin in it.

    `panel` has the actuals of the holdout; `panel_at` returns the panel as known at an origin.

    Raises:
      NoDataError: the history is too short.
      TrainingError: a loss is not finite, or no depot has an observed day.
      ArtefactError: the forecasts of NumPy and of Flax differ.
    """
    from forecaster.model.two_stage_fit import train_model

    jax_runtime.configure_jax(recipe)
    naive = {name: backtest.naive_forecaster(name, split.horizon) for name in against}
    result = train_model(panel_at(split.trained_through), recipe, report=report)
    scored = {"gru": as_forecaster(result.production, point), **naive}
    without_network = replace(result.production, network_share=0.0)
    comparisons = {
        "baseline": as_forecaster(without_network, point),
        "naive": backtest.naive_forecaster("seasonal_naive", split.horizon),
    }
    forecasts = backtest.run(panel, split, {**scored, **comparisons}, panel_at)
    return Backtest(
        panel,
        split,
        {name: forecasts[name] for name in scored},
        {name: forecasts[name] for name in comparisons},
        result.seconds,
    )


def evaluation_scores(
    panel: Panel,
    evaluation: Artefact,
    panel_at: PanelAsKnown,
    champion: Artefact | None = None,
    earlier_champion: Artefact | None = None,
    point: PointFor = DEFAULT_POINT,
) -> dict[str, Any]:
    """Scores the evaluation model and the naive forecasts on that model's holdout.

    The key `gru` is the evaluation model, as in the JSON of `harbor backtest`. The champion's
    evaluation model and an earlier champion are scored, too, if they were not trained on the
    holdout and have the same horizon. `panel_at` returns the panel as known at an origin.
    """
    window = (panel.origin - evaluation.trained_through).days
    # The model is already fitted, so the days before the holdout may be few.
    split = backtest.split_holdout(panel, window, evaluation.horizon, min_train_days=1)
    forecasters = {"gru": as_forecaster(evaluation, point)}
    others = {"champion": champion, "earlier_champion": earlier_champion}
    for name, model in others.items():
        if model is not None and _is_comparable(model, evaluation):
            forecasters[name] = as_forecaster(model, point)
    forecasters |= {
        name: backtest.naive_forecaster(name, evaluation.horizon)
        for name in NAIVE_FORECASTS
    }
    forecasts = backtest.run(panel, split, forecasters, panel_at)
    scores = backtest.score(
        forecasts, backtest.mase_scale(panel, split.trained_through)
    )
    return {
        "first_origin": split.origins[0].isoformat(),
        "last_origin": split.origins[-1].isoformat(),
        "models": {name: score.in_percent() for name, score in scores.items()},
    }


def _is_comparable(model: Artefact, evaluation: Artefact) -> bool:
    is_holdout_unseen = model.trained_through <= evaluation.trained_through
    return is_holdout_unseen and model.horizon == evaluation.horizon


def as_forecaster(model: Artefact, point: PointFor = DEFAULT_POINT) -> Forecaster:
    """Wraps an artefact as a forecaster for the backtest; see `infer.forecast`."""

    def forecast(panel: Panel) -> ScoredForecast:
        forecasts = infer.forecast(model, panel, point=point)
        return ScoredForecast(forecasts.p10_dh, forecasts.point_dh, forecasts.p90_dh)

    return forecast
