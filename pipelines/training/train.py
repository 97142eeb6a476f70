"""Trains a model on the panel, exports it and records it as challenger."""

import hashlib
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
import structlog

from forecaster.data.panel import Panel
from forecaster.errors import ConfigError
from forecaster.inference import artefact
from forecaster.inference.artefact import Artefact
from forecaster.inference.network_share import describe_share
from forecaster.naive_forecasts import NAIVE_FORECASTS
from pipelines.database.engine import snapshot
from pipelines.demand import counting
from pipelines.demand.panels import PanelsAsKnown, ReadPanels, read_panel
from pipelines.forecasting.forecast import load_if_usable
from pipelines.runs.ledger import Run
from pipelines.runs.metrics import measure_training, step_metrics
from pipelines.settings import Settings
from pipelines.store import models
from pipelines.training import jax_runtime
from pipelines.training.backtesting import evaluation_scores

if TYPE_CHECKING:
    from forecaster.model.checkpoint import Checkpoints
    from forecaster.model.two_stage_fit import Recipe, TrainingResult

log = structlog.get_logger()

FitReporter = Callable[[str], Callable[[int, int], None]]


@dataclass(frozen=True)
class TrainedModel:
    """A recorded challenger."""

    version: str
    trained_through: date
    scores: dict[str, Any]
    seconds: float
    parity_error: float


def train(
    run: Run,
    settings: Settings,
    through: date,
    recipe: "Recipe",
    report: FitReporter,
    read_panels: ReadPanels,
) -> TrainedModel:
    """Trains on data through a day, and records the model with its scores.

    Raises:
      NoDataError: the history is too short.
    """
    engine = run.engine
    counting.require_recent_demand(engine, through)
    panels = read_panels()
    panel = training_panel(engine, panels, through)
    result = _fit(panel, settings, recipe, report, run.metrics)
    scores = evaluation_scores(
        panel,
        result.evaluation,
        panels.at,
        _champion_evaluation(engine, settings),
        _earlier_champion(engine, settings, result.evaluation.trained_through),
        settings.point,
    )
    scores["network_share"] = result.production.network_share
    # Without the champions' scores, so that artefacts depend only on data and settings.
    table = {name: scores["models"][name] for name in ("gru", *NAIVE_FORECASTS)}
    evaluation = replace(result.evaluation, backtest=table)
    production = replace(result.production, backtest=table)
    with engine.begin() as connection:
        for model, role in ((evaluation, "evaluation"), (production, "challenger")):
            path = artefact.save(model, settings.artefacts)
            models.add_model(
                connection,
                version=model.version,
                trained_through=model.trained_through,
                data_watermark=model.data_watermark,
                filename=path.name,
                sha256=artefact.file_sha256(path),
                seed=model.seed,
                role=role,
                scores=scores,
                run_id=run.run_id,
            )
    # Only an interrupted training needs its checkpoints.
    shutil.rmtree(_checkpoint_folder(panel, settings, recipe), ignore_errors=True)
    seconds = round(result.seconds, 1)
    share = production.network_share
    run.metrics |= {
        "model": production.version,
        "evaluation": evaluation.version,
        "train_seconds": seconds,
        "epochs": result.production_fit.epochs,
        "steps": result.evaluation_fit.steps + result.production_fit.steps,
        "parity_error": production.parity_error,
        "delivers": describe_share(share),
    }
    return TrainedModel(
        production.version, through, scores, seconds, production.parity_error
    )


def training_panel(engine: sa.Engine, panels: PanelsAsKnown, through: date) -> Panel:
    """Returns the panel as known now, or for a past day as known in the night after it.

    A model trained through a past day serves hindcasts, which use no later corrections.
    """
    if through < counting.default_origin(engine):
        return panels.at(through)
    return panels.with_newest_counts(through)


def train_as_worker(
    engine: sa.Engine,
    settings: Settings,
    through: date,
    recipe: "Recipe",
    report: FitReporter,
) -> None:
    """Trains together with process 0; only process 0 stores and records the model.

    Raises:
      TrainingError: process 0 has other data or another recipe.
    """
    counting.require_recent_demand(engine, through)
    panels = PanelsAsKnown(engine, through, settings.zone)
    panel = training_panel(engine, panels, through)
    _fit(panel, settings, recipe, report, metrics={})


def precompile(
    engine: sa.Engine,
    settings: Settings,
    through: date,
    recipe: "Recipe",
    report: FitReporter,
) -> dict[str, Any]:
    """Fills the compile cache for later trainings by a fit of one epoch, which is discarded.

    Returns:
      The run metrics of the compilation.

    Raises:
      ConfigError: the compile cache is turned off.
      NoDataError: the history is too short.
    """
    if not settings.compile_cache_mib:
        raise ConfigError(
            "HARBOR_COMPILE_CACHE_MIB is 0, so compiled programs would not be kept. Give "
            "it some MiB, such as 512."
        )
    counting.require_recent_demand(engine, through)
    single_epoch = replace(recipe, train=replace(recipe.train, epochs=1))
    metrics: dict[str, Any] = {}
    panel = read_panel(engine, through)
    _fit(panel, settings, single_epoch, report, metrics, resume=False)
    return metrics


def _champion_evaluation(engine: sa.Engine, settings: Settings) -> Artefact | None:
    """The champion's evaluation model, if its artefact is usable."""
    with snapshot(engine) as connection:
        champion = models.champion(connection)
        if champion is None or champion["run_id"] is None:
            return None
        evaluation = models.evaluation_of(connection, champion["run_id"])
    return load_if_usable(settings.artefacts, evaluation)


def _earlier_champion(
    engine: sa.Engine, settings: Settings, through: date
) -> Artefact | None:
    """The last champion that was not trained on days after `through`, if its artefact is usable."""
    with snapshot(engine) as connection:
        model = models.last_champion_trained_through(connection, through)
    return load_if_usable(settings.artefacts, model)


def _checkpoint_folder(panel: Panel, settings: Settings, recipe: "Recipe") -> Path:
    from forecaster.model.checkpoint import fingerprint
    from forecaster.model.two_stage_fit import (
        evaluation_panel,
        fit_to_history,
        watermark,
    )

    # Of both fits: when an event became known decides whether the evaluation fit saw it.
    before = evaluation_panel(panel, fit_to_history(panel, recipe))
    data = f"{watermark(panel)} {watermark(before)}"
    return settings.checkpoints / fingerprint(data, recipe)


def _fit(
    panel: Panel,
    settings: Settings,
    recipe: "Recipe",
    report: FitReporter,
    metrics: dict[str, Any],
    resume: bool = True,
) -> "TrainingResult":
    """Trains and measures the cost; resumes an interrupted training if `resume`."""
    from forecaster.model.checkpoint import Checkpoints
    from forecaster.model.two_stage_fit import train_model

    jax_runtime.configure_jax(recipe)
    if settings.coordinator is not None:
        from forecaster.model import multihost

        multihost.join(settings.coordinator, settings.processes, settings.process)
    folder = _checkpoint_folder(panel, settings, recipe)

    def open_checkpoints(fit: str) -> AbstractContextManager["Checkpoints | None"]:
        return Checkpoints(folder / fit) if resume else nullcontext()

    with (
        jax_runtime.stdout_for_results(),
        jax_runtime.compile_cache(settings),
        measure_training(metrics),
    ):
        result = train_model(panel, recipe, open_checkpoints, report)
    metrics |= step_metrics(result)
    return result


def settings_id(recipe: "Recipe", settings: Settings) -> str:
    """Hash of the settings that, with the data, determine the trained model."""
    identity = repr((recipe, settings.point))
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def build_recipe(
    settings: Settings,
    seed: int | None = None,
    epochs: int | None = None,
) -> "Recipe":
    """The default recipe with the values of settings and command line."""
    from forecaster.model.two_stage_fit import Recipe

    default = Recipe()
    train_config = replace(
        default.train,
        seed=settings.seed if seed is None else seed,
        epochs=epochs or default.train.epochs,
    )
    return Recipe(replace(default.task, horizon=settings.horizon), train=train_config)
