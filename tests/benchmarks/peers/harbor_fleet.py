"""Harbor Fleet itself, with its defaults, as `harbor backtest` runs it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from forecaster.backtest import HoldoutSplit
from forecaster.data.panel import Panel
from forecaster.inference import infer
from forecaster.inference.artefact import Artefact
from forecaster.inference.infer import Forecast
from forecaster.inference.totals import FLEET
from pipelines.settings import Settings
from pipelines.training.train import build_recipe
from tests.benchmarks.peers import Forecasts

if TYPE_CHECKING:
    from forecaster.model.two_stage_fit import TrainingResult


def train_by_default(panel: Panel, split: HoldoutSplit) -> "TrainingResult":
    """Trains on what precedes the holdout, as a night does."""
    from forecaster.model.cpu_devices import use_all_cores
    from forecaster.model.two_stage_fit import train_model

    settings = Settings.load().model_copy(update={"horizon": split.horizon})
    recipe = build_recipe(settings, seed=None, epochs=None)
    use_all_cores(recipe.train.batch_size, "")
    return train_model(panel.as_of(split.trained_through), recipe)


def forecast_origins(
    artefact: Artefact, panel: Panel, split: HoldoutSplit
) -> list[Forecast]:
    """Forecasts from every origin with what was known then, for `HARBOR_POINT`."""
    point = Settings.load().point
    return [
        infer.forecast(artefact, panel.as_of(origin), point=point)
        for origin in split.origins
    ]


def quantiles_of(forecasts: Sequence[Forecast]) -> Forecasts:
    """Points of the depots within their intervals, a forecast for each origin."""
    parts = ("p10_dh", "point_dh", "p90_dh")
    return Forecasts(
        *(np.stack([getattr(each, part) for each in forecasts]) for part in parts)
    )


def totals_of(forecasts: Sequence[Forecast]) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the totals, FLEET or a city, and their quantiles [origin, name, 3, horizon]."""
    names = tuple(total.city for total in forecasts[0].totals)
    quantiles = [
        [(t.p10_h, t.p50_h, t.p90_h) for t in each.totals] for each in forecasts
    ]
    return names, np.array(quantiles)


def within_intervals(
    cities: Sequence[str],
    actual_odh: np.ndarray,
    names: Sequence[str],
    total_onqh: np.ndarray,
) -> dict[str, float]:
    """Share of the totals of the fleet, and of the cities, within their intervals.

    Args:
      cities: City of each depot.
      actual_odh: Orders per day; none is unknown.
      names: From `totals_of`.
      total_onqh: From `totals_of`.
    """
    inside: dict[str, list[np.ndarray]] = {"fleet": [], "cities": []}
    for name, quantiles_oqh in zip(names, total_onqh.swapaxes(0, 1), strict=True):
        here_d = np.isin(cities, name) | (name == FLEET)
        actual_oh = actual_odh[:, here_d].sum(axis=1)
        low_oh, _, high_oh = quantiles_oqh.swapaxes(0, 1)
        within = (low_oh <= actual_oh) & (actual_oh <= high_oh)
        inside["fleet" if name == FLEET else "cities"].append(within)
    return {part: float(np.mean(each)) for part, each in inside.items() if each}
