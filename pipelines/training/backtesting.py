"""Forecasts past days with what was known then, and scores them beside the baselines."""

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any

from forecaster import backtest
from forecaster.backtest import Forecaster, Outcome, Plan, Quantiles, Scores
from forecaster.data.panel import Panel
from forecaster.inference import infer
from forecaster.inference.artefact import Artefact
from pipelines.training import jax_runtime

if TYPE_CHECKING:
    from forecaster.model.two_stage_fit import Recipe

BASELINES = ("seasonal_naive", "median4")
PanelAsKnown = Callable[[date], Panel]
"""The panel of an origin with what was known then: `PanelsAsKnown.at`."""


def run_backtest(
    panel: Panel,
    known: PanelAsKnown,
    plan: Plan,
    recipe: "Recipe",
    against: tuple[str, ...],
    report: Callable[[str], Callable[[int, int, float], None]],
) -> tuple[dict[str, Scores], float]:
    """Trains once on what precedes the holdout, then forecasts from every origin in it.

    Args:
      panel: With the holdout's actuals.
      known: What was known at each origin.
      plan: From `backtest.plan`.
      recipe: What is learnt, and how.
      against: Baselines to stand beside it.
      report: Given the name of a fit, what to tell of its progress.

    Returns:
      Scores by model, `gru` first, and the seconds that training took.

    Raises:
      ConfigError: a baseline is unknown.
      NoDataError: the history is too short.
    """
    from forecaster.model.two_stage_fit import train_model

    jax_runtime.configure_jax(recipe)
    others = {
        name: backtest.baseline_forecaster(name, plan.horizon) for name in against
    }
    learnt = train_model(known(plan.trained_through), recipe, report=report)
    forecasters = {"gru": as_forecaster(learnt.production), **others}
    return _scores(panel, plan, forecasters, known), learnt.seconds


def evaluation_scores(
    panel: Panel,
    judged: Artefact,
    champion: Artefact | None = None,
    known: PanelAsKnown | None = None,
) -> dict[str, Any]:
    """Scores of the judged fit over the days it has not seen, beside the baselines.

    Args:
      panel: With those days.
      judged: The challenger's.
      champion: The champion's judged fit, which stands beside it where it has not seen
        those days either and forecasts as many days.
      known: What was known at each origin; without it, the panel up to there.
    """
    window = (panel.origin - judged.trained_through).days
    plan = backtest.plan(panel, window, judged.horizon)
    forecasters = {"gru": as_forecaster(judged)}
    if champion is not None and _is_comparable(champion, judged):
        forecasters["champion"] = as_forecaster(champion)
    forecasters |= {
        name: backtest.baseline_forecaster(name, judged.horizon) for name in BASELINES
    }
    scores = _scores(panel, plan, forecasters, known or panel.as_of)
    return {
        "first_origin": plan.origins[0].isoformat(),
        "last_origin": plan.origins[-1].isoformat(),
        "models": {name: each.in_percent() for name, each in scores.items()},
    }


def _is_comparable(champion: Artefact, judged: Artefact) -> bool:
    saw_no_more = champion.trained_through <= judged.trained_through
    return saw_no_more and champion.horizon == judged.horizon


def as_forecaster(served: Artefact) -> Forecaster:
    """An artefact as the backtest asks it."""

    def make(panel: Panel) -> Quantiles:
        made = infer.forecast(served, panel)
        return Quantiles(made.p10_dh, made.p50_dh, made.p90_dh)

    return make


def _scores(
    panel: Panel, plan: Plan, forecasters: dict[str, Forecaster], known: PanelAsKnown
) -> dict[str, Scores]:
    """Actuals are the panel's; a forecast from an origin sees what was known there."""
    outcomes: dict[str, Outcome] = {
        name: backtest.run(
            panel, plan.origins, _knowing_no_more(forecaster, known), plan.horizon
        )
        for name, forecaster in forecasters.items()
    }
    return backtest.score(
        outcomes, backtest.training_scale(panel, plan.trained_through)
    )


def _knowing_no_more(forecaster: Forecaster, known: PanelAsKnown) -> Forecaster:
    """Asked for a panel's origin, it sees what was known in the night after it."""

    def make(panel: Panel) -> Quantiles:
        return forecaster(known(panel.origin))

    return make
