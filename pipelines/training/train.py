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

from forecaster.data.panel import Panel
from forecaster.errors import ArtefactError, ConfigError
from forecaster.inference import artefact, postprocessing
from forecaster.inference.artefact import Artefact
from pipelines.database.engine import snapshot
from pipelines.demand import counting
from pipelines.demand.panels import PanelsAsKnown, read_panel
from pipelines.forecasting.forecast import load_recorded
from pipelines.runs.ledger import Run
from pipelines.runs.metrics import measure_training, step_metrics
from pipelines.settings import Settings
from pipelines.store import models
from pipelines.training import compile_cache, jax_runtime
from pipelines.training.backtesting import BASELINES, evaluation_scores

if TYPE_CHECKING:
    from forecaster.model.checkpoint import Checkpoints
    from forecaster.model.two_stage_fit import Recipe, TrainingResult

log = structlog.get_logger()

FitReporter = Callable[[str], Callable[[int, int, float], None]]


@dataclass(frozen=True)
class TrainedModel:
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
    report: FitReporter,
    run: Run,
) -> TrainedModel:
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
    counting.require_counted(engine, through)
    panels = PanelsAsKnown(engine, through, settings.zone)
    panel = training_panel(engine, panels, through)
    learnt = _learn(panel, settings, recipe, report, run.metrics)
    champion = _champion_judge(engine, settings)
    scores = evaluation_scores(panel, learnt.evaluation, champion, panels.at)
    scores["network_share"] = learnt.production.postprocessing.network_share
    # What any training of this data comes to: whoever is champion is not in it.
    table = {name: scores["models"][name] for name in ("gru", *BASELINES)}
    judged = replace(learnt.evaluation, backtest=table)
    served = replace(learnt.production, backtest=table)
    with engine.begin() as connection:
        for made, role in ((judged, "evaluation"), (served, "challenger")):
            _record(connection, settings, made, role, scores, run)
    # Only a training that was cut off needs them.
    folder = _checkpoint_folder(panel, settings, recipe)
    shutil.rmtree(folder, ignore_errors=True)
    seconds = round(learnt.seconds, 1)
    run.metrics |= {
        "model": served.version,
        "train_seconds": seconds,
        "epochs": learnt.production_fit.epochs,
        "steps": learnt.evaluation_fit.steps + learnt.production_fit.steps,
        "parity_error": served.parity_error,
        "delivers": postprocessing.describe_share(served.postprocessing.network_share),
    }
    return TrainedModel(served.version, through, scores, seconds, served.parity_error)


def training_panel(engine: sa.Engine, panels: PanelsAsKnown, through: date) -> Panel:
    """What is known now; through a past day, what was known in the night after it.

    A model of a past day forecasts from past origins, which knew no later corrections.
    """
    if through < counting.default_origin(engine):
        return panels.at(through)
    return read_panel(engine, through)


def train_as_worker(
    engine: sa.Engine,
    settings: Settings,
    through: date,
    recipe: "Recipe",
    report: FitReporter,
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
    counting.require_counted(engine, through)
    panel = read_panel(engine, through)
    _learn(panel, settings, recipe, report, metrics={})


def precompile(
    engine: sa.Engine,
    settings: Settings,
    through: date,
    recipe: "Recipe",
    report: FitReporter,
) -> dict[str, Any]:
    """Compiles all that a training would, for the nights to come; nothing is learnt.

    Trains one epoch by the same code and drops it, so that it cannot miss a program.

    Returns:
      What it cost, as in the ledger.

    Raises:
      ConfigError: what is compiled would not be kept.
      NoDataError: the history is too short.
    """
    if not settings.compile_cache_mib:
        raise ConfigError(
            "HARBOR_COMPILE_CACHE_MIB is 0: what is compiled now would not be kept. Give "
            "it some MiB, such as 512."
        )
    counting.require_counted(engine, through)
    once = replace(recipe, train=replace(recipe.train, epochs=1))
    metrics: dict[str, Any] = {}
    panel = read_panel(engine, through)
    _learn(panel, settings, once, report, metrics, resumes=False)
    return metrics


def _champion_judge(engine: sa.Engine, settings: Settings) -> Artefact | None:
    """The fit by which the champion was judged, if it is there and whole."""
    with snapshot(engine) as connection:
        champion = models.champion(connection)
        run_id = None if champion is None else champion["run_id"]
        found = None if run_id is None else models.evaluation_of(connection, run_id)
    if found is None:
        return None
    try:
        return load_recorded(settings.artefacts, found)
    except ArtefactError as error:
        log.warning("champion_not_compared", reason=str(error))
        return None


def _checkpoint_folder(panel: Panel, settings: Settings, recipe: "Recipe") -> Path:
    """Where a training of this data with this recipe left off, if it did."""
    from forecaster.model.checkpoint import fingerprint
    from forecaster.model.two_stage_fit import watermark

    return settings.checkpoints / fingerprint(watermark(panel), recipe)


def _learn(
    panel: Panel,
    settings: Settings,
    recipe: "Recipe",
    report: FitReporter,
    metrics: dict[str, Any],
    resumes: bool = True,
) -> "TrainingResult":
    """Learns, and counts what that cost; goes on where one was cut off, if it may."""
    # JAX takes seconds to import and is not there on the dashboard's host.
    from forecaster.model.checkpoint import Checkpoints
    from forecaster.model.two_stage_fit import train_model

    jax_runtime.configure_jax(recipe)
    if settings.coordinator is not None:
        from forecaster.model import multihost

        multihost.join(settings.coordinator, settings.processes, settings.process)
    folder = _checkpoint_folder(panel, settings, recipe)

    def open_checkpoints(fit: str) -> AbstractContextManager["Checkpoints"]:
        return Checkpoints(folder / fit)

    with compile_cache.kept(settings), measure_training(metrics):
        learnt = train_model(
            panel, recipe, open_checkpoints if resumes else None, report
        )
    metrics |= step_metrics(learnt)
    return learnt


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


def build_recipe(
    settings: Settings,
    seed: int | None,
    epochs: int | None,
    bfloat16: bool = False,
) -> "Recipe":
    """The default recipe, with what the settings and the command line say."""
    from forecaster.model.two_stage_fit import Recipe

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
