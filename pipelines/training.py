"""Reads the panel, trains, exports, and records the challenger."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
import structlog

from forecaster import artefact, backtest, infer
from forecaster.artefact import Artefact
from forecaster.backtest import Forecaster, Outcome, Plan, Quantiles, Scores
from forecaster.errors import ArtefactError
from forecaster.panel import Panel
from pipelines import demand
from pipelines.forecasting import load_recorded
from pipelines.ledger import Run
from pipelines.panels import PanelsAsKnown, read_panel
from pipelines.settings import Settings, xla_flags
from pipelines.store import models

if TYPE_CHECKING:
    from forecaster.checkpoint import Checkpoints
    from forecaster.learning import Learnt, Recipe

log = structlog.get_logger()

BASELINES = ("seasonal_naive", "median4")
Reports = Callable[[str], Callable[[int, int, float], None]]
AsKnown = Callable[[date], Panel]
"""The panel of an origin with what was known then: `PanelsAsKnown.at`."""


@dataclass(frozen=True)
class Trained:
    """A challenger, recorded."""

    version: str
    trained_through: date
    scores: dict[str, Any]
    seconds: float
    parity_error: float


def train(
    engine: sa.Engine,
    settings: Settings,
    through: date,
    recipe: "Recipe",
    report: Reports,
    run: Run,
) -> Trained:
    """Trains through a day, and records the model with its scores.

    Args:
      engine: Database the pipelines own.
      settings: For the folders.
      through: Last day it may learn from.
      recipe: What is learnt, and how.
      report: Given the name of a fit, what to tell of its progress.
      run: The ledger's row.

    Raises:
      NoDataError: the history is too short.
    """
    demand.require_counted(engine, through)
    panels = PanelsAsKnown(engine, through, settings.zone)
    panel = panel_to_learn(engine, panels, through)
    learnt = _learn(panel, settings, recipe, report)
    champion = _champion_judge(engine, settings)
    scores = judge_scores(panel, learnt.judged, champion, panels.at)
    # What any training of this data comes to: whoever is champion is not in it.
    table = {name: scores["models"][name] for name in ("gru", *BASELINES)}
    judged = replace(learnt.judged, backtest=table)
    served = replace(learnt.served, backtest=table)
    with engine.begin() as connection:
        for made, role in ((judged, "judge"), (served, "challenger")):
            _record(connection, settings, made, role, scores, run)
    # Only a training that was cut off needs them.
    folder = _checkpoint_folder(panel, settings, recipe)
    shutil.rmtree(folder, ignore_errors=True)
    seconds = round(learnt.seconds, 1)
    run.counts |= {
        "model": served.version,
        "train_seconds": seconds,
        "epochs": learnt.served_fit.epochs,
        "steps": learnt.judged_fit.steps + learnt.served_fit.steps,
        "parity_error": served.parity_error,
    }
    return Trained(served.version, through, scores, seconds, served.parity_error)


def panel_to_learn(engine: sa.Engine, panels: PanelsAsKnown, through: date) -> Panel:
    """What is known now; through a past day, what was known in the night after it.

    A model of a past day forecasts from past origins, which knew no later corrections.
    """
    if through < demand.default_origin(engine):
        return panels.at(through)
    return read_panel(engine, through)


def help_train(
    engine: sa.Engine,
    settings: Settings,
    through: date,
    recipe: "Recipe",
    report: Reports,
) -> None:
    """Trains together with process 0, which alone writes and records what comes of it.

    Args:
      engine: The same database that process 0 reads; nothing is written to it.
      settings: Which process this is.
      through: Last day the model may learn from.
      recipe: What is learnt, and how: the same as process 0's.
      report: Given the name of a fit, what to tell of its progress.

    Raises:
      TrainingError: process 0 reads other data, or was told something else.
    """
    demand.require_counted(engine, through)
    panel = read_panel(engine, through)
    _learn(panel, settings, recipe, report)


def run_backtest(
    panel: Panel,
    known: AsKnown,
    plan: Plan,
    recipe: "Recipe",
    against: tuple[str, ...],
    report: Reports,
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
    from forecaster.learning import learn

    _use_all_cores(recipe)
    others = {
        name: backtest.baseline_forecaster(name, plan.horizon) for name in against
    }
    learnt = learn(known(plan.trained_through), recipe, report=report)
    forecasters = {"gru": forecaster_of(learnt.served), **others}
    return _scores(panel, plan, forecasters, known), learnt.seconds


def judge_scores(
    panel: Panel,
    judged: Artefact,
    champion: Artefact | None = None,
    known: AsKnown | None = None,
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
    forecasters = {"gru": forecaster_of(judged)}
    if champion is not None and _is_comparable(champion, judged):
        forecasters["champion"] = forecaster_of(champion)
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


def _champion_judge(engine: sa.Engine, settings: Settings) -> Artefact | None:
    """The fit by which the champion was judged, if it is there and whole."""
    with engine.connect() as connection:
        champion = models.champion(connection)
        run_id = None if champion is None else champion["run_id"]
        found = None if run_id is None else models.judge_of(connection, run_id)
    if found is None:
        return None
    try:
        return load_recorded(settings.artefacts, found)
    except ArtefactError as error:
        log.warning("champion_not_compared", reason=str(error))
        return None


def forecaster_of(served: Artefact) -> Forecaster:
    """An artefact as the backtest asks it."""

    def make(panel: Panel) -> Quantiles:
        made = infer.forecast(served, panel)
        return Quantiles(made.p10_dh, made.p50_dh, made.p90_dh)

    return make


def _scores(
    panel: Panel, plan: Plan, forecasters: dict[str, Forecaster], known: AsKnown
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


def _knowing_no_more(forecaster: Forecaster, known: AsKnown) -> Forecaster:
    """Asked for a panel's origin, it sees what was known in the night after it."""

    def make(panel: Panel) -> Quantiles:
        return forecaster(known(panel.origin))

    return make


def _checkpoint_folder(panel: Panel, settings: Settings, recipe: "Recipe") -> Path:
    """Where a training of this data with this recipe left off, if it did."""
    from forecaster.checkpoint import fingerprint
    from forecaster.learning import watermark

    return settings.checkpoints / fingerprint(watermark(panel), recipe)


def _learn(
    panel: Panel, settings: Settings, recipe: "Recipe", report: Reports
) -> "Learnt":
    # JAX takes seconds to import and is not there on the dashboard's host.
    from forecaster.checkpoint import Checkpoints
    from forecaster.learning import learn

    _use_all_cores(recipe)
    if settings.coordinator is not None:
        from forecaster import hosts

        hosts.join(settings.coordinator, settings.processes, settings.process)
    folder = _checkpoint_folder(panel, settings, recipe)

    def open_checkpoints(fit: str) -> AbstractContextManager["Checkpoints"]:
        return Checkpoints(folder / fit)

    return learn(panel, recipe, open_checkpoints, report)


def _use_all_cores(recipe: "Recipe") -> None:
    from forecaster.devices import use_all_cores

    use_all_cores(recipe.train.batch_size, xla_flags())


def _record(
    connection: sa.Connection,
    settings: Settings,
    made: Artefact,
    role: str,
    scores: dict[str, Any],
    run: Run,
) -> None:
    """Publishes the file by rename, then names it in the database."""
    path = artefact.save(made, settings.artefacts)
    models.add_model(
        connection,
        version=made.version,
        trained_through=made.trained_through,
        data_watermark=made.data_watermark,
        filename=path.name,
        sha256=artefact.file_sha256(path),
        seed=made.seed,
        role=role,
        scores=scores,
        run_id=run.run_id,
    )


def recipe_of(
    settings: Settings,
    seed: int | None,
    epochs: int | None,
    bfloat16: bool = False,
) -> "Recipe":
    """The default recipe, with what the settings and the command line say."""
    from forecaster.learning import Recipe

    default = Recipe()
    chosen: dict[str, Any] = {
        "seed": settings.seed if seed is None else seed,
        "bfloat16": bfloat16,
    }
    if epochs is not None:
        chosen["epochs"] = epochs
    return Recipe(
        task=replace(default.task, horizon=settings.horizon),
        train=replace(default.train, **chosen),
    )
