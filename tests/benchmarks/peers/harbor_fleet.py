"""Harbor Fleet itself, with its defaults, as `harbor backtest` runs it."""

import time

from forecaster import backtest
from forecaster.backtest import Plan
from forecaster.panel import Panel
from pipelines.backtesting import forecaster_of
from pipelines.settings import Settings
from pipelines.training import recipe_of
from tests.benchmarks.peers import Forecasts, PeerRun


def gru(panel: Panel, plan: Plan) -> PeerRun:
    """Trained once on what precedes the holdout, then asked from every origin."""
    from forecaster.devices import use_all_cores
    from forecaster.learning import learn

    settings = Settings.load().model_copy(update={"horizon": plan.horizon})
    recipe = recipe_of(settings, seed=None, epochs=None)
    use_all_cores(recipe.train.batch_size, "")
    learnt = learn(panel.as_of(plan.trained_through), recipe)
    started = time.perf_counter()
    made = backtest.run(panel, plan.origins, forecaster_of(learnt.served), plan.horizon)
    seconds = time.perf_counter() - started
    forecasts = Forecasts(made.p10_odh, made.p50_odh, made.p90_odh)
    return PeerRun(forecasts, learnt.seconds, seconds, "defaults")
