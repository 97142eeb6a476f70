"""Trains a model in two fits: one for evaluation, one for production.

The evaluation fit ends before the validation days, which calibrate the postprocessing and the
intervals; its scores on these days are the model's scores. The production fit continues from its
weights on all data through the origin, with a quarter of its epochs and a fifth of its rate.
"""

import hashlib
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
from jaxtyping import Float32

from forecaster.config import (
    HISTORY_STEP_DAYS,
    MIN_CONTEXT,
    ModelConfig,
    TaskConfig,
    TrainConfig,
    min_training_days,
)
from forecaster.data import inputs
from forecaster.data.calendar_features import n_unidentified_columns
from forecaster.data.effects import (
    Effects,
    fit_effects,
    forward_chained_effects,
)
from forecaster.data.features import (
    Features,
    build_features,
    choose_kinds,
    embedding_rows,
)
from forecaster.data.outages import without_outages
from forecaster.data.panel import Panel
from forecaster.errors import NoDataError
from forecaster.inference import intervals, paths, totals
from forecaster.inference.artefact import Artefact
from forecaster.inference.calibration import calibrate_artefact
from forecaster.model import export
from forecaster.model.checkpoint import Checkpoints
from forecaster.model.train_step import Params
from forecaster.model.trainer import Fit, Report, fit

MIN_ORIGINS = 7
"""Minimum number of held-out origins whose whole horizon lies within the validation days."""
REFIT_EPOCHS_SHARE, REFIT_RATE_SHARE = 0.25, 0.2
"""Epochs and learning rate of the production fit, as a share of the evaluation fit's."""
PARITY_WINDOWS = 64
"""Windows on which NumPy and Flax are compared."""

OpenCheckpoints = Callable[[str], AbstractContextManager[Checkpoints | None]]
"""Opens the checkpoints of a fit, given by its name."""


@dataclass(frozen=True)
class Recipe:
    """Task, network size and training settings of a model."""

    task: TaskConfig = TaskConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()


@dataclass(frozen=True)
class TrainingResult:
    """Artefacts and statistics of both fits.

    The evaluation artefact was trained without the validation days, and is used for hindcasts
    of them; the production artefact was trained on all days up to the origin.
    """

    evaluation: Artefact
    production: Artefact
    evaluation_fit: Fit
    production_fit: Fit

    @property
    def seconds(self) -> float:
        """Seconds of both fits."""
        return self.evaluation_fit.seconds + self.production_fit.seconds


def train_model(
    panel: Panel,
    recipe: Recipe,
    open_checkpoints: OpenCheckpoints = lambda _: nullcontext(),
    report: Callable[[str], Report] = lambda _: lambda *_: None,
) -> TrainingResult:
    """Runs both fits, calibrates and exports the models.

    Args:
      panel: Demand through the origin.
      recipe: Task, network size and training settings.
      open_checkpoints: Opens a fit's checkpoints; without it none are written.
      report: Returns the progress report of a fit, by its name: `evaluation` or
        `production`.

    Raises:
      NoDataError: the history is shorter than `config.min_training_days`.
      TrainingError: training cannot go on.
      ArtefactError: NumPy and Flax disagree.
    """
    recipe = fit_to_history(panel, recipe)
    training_panel = without_outages(evaluation_panel(panel, recipe))
    kinds = choose_kinds(training_panel.calendar, training_panel.n_steps)
    effects = fit_effects(training_panel, recipe.task.horizon)
    unidentified = n_unidentified_columns(training_panel.n_steps)
    first = _Fits(recipe, kinds, effects, unidentified, open_checkpoints, report)
    evaluation_fit = first.fit("evaluation", training_panel)
    evaluation = first.export(evaluation_fit, training_panel)
    evaluation = calibrate_artefact(evaluation, panel)
    panel = without_outages(panel)
    refit = replace(
        recipe.train,
        epochs=math.ceil(REFIT_EPOCHS_SHARE * evaluation_fit.epochs),
        learning_rate=REFIT_RATE_SHARE * recipe.train.learning_rate,
        batch_size=evaluation_fit.batch_size,
    )
    second = replace(
        first,
        recipe=replace(recipe, train=refit),
        effects=fit_effects(panel, recipe.task.horizon),
    )
    production_fit = second.fit("production", panel, start=evaluation_fit.params)
    production = replace(
        second.export(production_fit, panel),
        network_share=evaluation.network_share,
        intervals=evaluation.intervals,
        totals=evaluation.totals,
        paths=evaluation.paths,
    )
    return TrainingResult(evaluation, production, evaluation_fit, production_fit)


def fit_to_history(panel: Panel, recipe: Recipe) -> Recipe:
    """Adapts the context and the validation days of a recipe to the length of the history.

    Raises:
      NoDataError: the history is shorter than `config.min_training_days`.
    """
    horizon, needed = recipe.task.horizon, min_training_days(recipe.task.horizon)
    if panel.n_steps < needed:
        raise NoDataError(
            f"The history has {panel.n_steps} days up to {panel.origin}, but training "
            f"for a horizon of {horizon} days needs {needed}. Load earlier orders."
        )
    # Rounded down to fortnights: daily growth would change the shapes and recompile every night.
    n_steps = panel.n_steps - panel.n_steps % HISTORY_STEP_DAYS
    days = max(recipe.train.validation_days, horizon + MIN_ORIGINS)
    fewest = min(n_steps // 2, horizon + MIN_ORIGINS)
    days = max(fewest, min(days, n_steps // 4))
    context = max(MIN_CONTEXT, min(recipe.task.context, n_steps - days))
    return replace(
        recipe,
        task=replace(recipe.task, context=context),
        train=replace(recipe.train, validation_days=days),
    )


def evaluation_panel(panel: Panel, recipe: Recipe) -> Panel:
    """The panel as it was known before the validation days; `recipe` is from `fit_to_history`."""
    return panel.as_of(panel.origin - timedelta(days=recipe.train.validation_days))


def watermark(panel: Panel) -> str:
    """Identifies the data of a panel: the start of a sha256 of everything that training reads."""
    calendar, signals = panel.calendar, panel.signals
    digest = hashlib.sha256(repr((panel.depot_ids, panel.cities)).encode())
    digest.update(f"{panel.start_on} {calendar.kinds}".encode())
    arrays = [
        panel.demand_dt,
        panel.closed_dt,
        calendar.active_gtk,
        calendar.group_d,
        *vars(calendar.own).values(),
    ]
    if calendar.value_gtk is not None:
        arrays.append(calendar.value_gtk)
    if signals is not None:
        names = np.frombuffer(repr(signals.names).encode(), np.uint8)
        arrays += [names, *vars(signals.values).values(), signals.place_dp]
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class _Fits:
    """Fits and exports models with one recipe, set of kinds of day, and effects."""

    recipe: Recipe
    kinds: tuple[str, ...]
    effects: Effects
    # Number of leading columns of the calendar that are held at 0.
    n_unidentified: int
    open_checkpoints: OpenCheckpoints
    report: Callable[[str], Report]

    def fit(self, name: str, panel: Panel, start: Params | None = None) -> Fit:
        """Trains the network on a panel."""
        configs = (self.recipe.task, self.recipe.model, self.recipe.train)
        effect_dtf, _ = forward_chained_effects(
            self.effects, panel, self.recipe.task.horizon
        )
        features, report = self._features(panel, effect_dtf), self.report(name)
        with self.open_checkpoints(name) as checkpoints:
            return fit(
                features, *configs, checkpoints=checkpoints, report=report, start=start
            )

    def export(self, fitted: Fit, panel: Panel) -> Artefact:
        """Exports a fit as an uncalibrated artefact; parity is measured on the newest windows."""
        features = self._features(panel)
        params = export.zero_unidentified_rows(fitted.params, self.n_unidentified)
        # A fixed number, so that one more depot does not recompile the comparison.
        window_d = np.arange(PARITY_WINDOWS) % panel.n_depots
        newest_d = np.full(len(window_d), features.n_steps - 1)
        zero_h = np.zeros(self.recipe.task.horizon, np.float32)
        artefact = Artefact(
            task=self.recipe.task,
            model=self.recipe.model,
            weights=export.trim_padding(export.flat_weights(params), panel.n_depots),
            network_share=1.0,
            intervals=intervals.IntervalTable(zero_h, zero_h),
            totals=totals.prior_table(),
            paths=paths.no_history(self.recipe.task.horizon),
            effects=self.effects,
            depot_ids=panel.depot_ids,
            kinds=self.kinds,
            feature_names=inputs.column_names(self.kinds),
            trained_through=panel.origin,
            data_watermark=watermark(panel),
            seed=self.recipe.train.seed,
            epochs=fitted.epochs,
            versions=export.library_versions(),
            parity_error=math.nan,
        )
        windows = inputs.cut_windows(features, self.recipe.task, window_d, newest_d)
        return export.measure_parity(artefact, params, windows)

    def _features(
        self,
        panel: Panel,
        effect_dtf: Float32[np.ndarray, "depot time_ahead ahead"] | None = None,
    ) -> Features:
        """Features of a panel; without `effect_dtf`, with the effects used in serving."""
        if effect_dtf is None:
            effect_dtf = self.effects.of(panel, self.recipe.task.horizon)
        features = build_features(
            panel,
            self.kinds,
            self.recipe.task.horizon,
            embedding_rows(panel.depot_ids),
            effect_dtf=effect_dtf,
            weekday_prior=self.effects.weekdays,
        )
        features.calendar_gtf[..., : self.n_unidentified] = 0.0
        return features
