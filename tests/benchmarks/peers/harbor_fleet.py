"""Harbor Fleet itself, with its defaults, as `harbor backtest` runs it."""

import time
from collections.abc import Sequence

import numpy as np

from forecaster.backtest import HoldoutSplit
from forecaster.data.panel import Panel
from forecaster.inference import infer
from forecaster.inference.infer import Forecast
from forecaster.inference.totals import FLEET
from pipelines.settings import Settings
from pipelines.training.train import build_recipe
from tests.benchmarks.peers import Forecasts, PeerRun


def gru(panel: Panel, split: HoldoutSplit) -> PeerRun:
    """Trained once on what precedes the holdout, then asked from every origin."""
    from forecaster.model.cpu_devices import use_all_cores
    from forecaster.model.two_stage_fit import train_model

    settings = Settings.load().model_copy(update={"horizon": split.horizon})
    recipe = build_recipe(settings, seed=None, epochs=None)
    use_all_cores(recipe.train.batch_size, "")
    learnt = train_model(panel.as_of(split.trained_through), recipe)
    started = time.perf_counter()
    made = [
        infer.forecast(learnt.production, panel.as_of(origin))
        for origin in split.origins
    ]
    seconds = time.perf_counter() - started
    parts = ("p10_dh", "p50_dh", "p90_dh")
    forecasts = Forecasts(
        *(np.stack([getattr(each, part) for each in made]) for part in parts)
    )
    note = f"defaults; {totals_note(panel, split, made)}"
    return PeerRun(forecasts, learnt.seconds, seconds, note)


def totals_note(panel: Panel, split: HoldoutSplit, made: Sequence[Forecast]) -> str:
    """How often the totals of the fleet and of the cities lay within their bands.

    A depot whose count is not known counts as it was forecast.
    """
    inside: dict[bool, list[bool]] = {True: [], False: []}
    for origin, forecast in zip(split.origins, made, strict=True):
        first = panel.step(origin) + 1
        actual_dh = panel.demand_dt[:, first : first + split.horizon].astype(float)
        actual_dh = np.where(np.isfinite(actual_dh), actual_dh, forecast.p50_dh)
        for total in forecast.totals:
            here_d = np.isin(panel.cities, total.city) | (total.city == FLEET)
            actual_h = actual_dh[here_d].sum(axis=0)
            within_h = (total.p10_h <= actual_h) & (actual_h <= total.p90_h)
            inside[total.city == FLEET] += within_h.tolist()
    fleet, cities = (np.mean(inside[of_fleet]) for of_fleet in (True, False))
    return f"80 % band of the fleet's total held {fleet:.3f}, of cities' {cities:.3f}"
