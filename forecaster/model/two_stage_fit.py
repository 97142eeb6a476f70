"""From a panel to a model that may be production, and the proof of how good it is.

Two fits. The first ends before the validation days: they choose its best epoch, what of
its answer is delivered, and the intervals, and it is what the model is evaluation by. The
second goes on from its weights, now through the origin, for a quarter of its epochs and from
a fifth of its learning rate: it is what is production.
"""

import hashlib
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from forecaster.config import (
    FORTNIGHT,
    MIN_TRAINING_DAYS,
    ModelConfig,
    TaskConfig,
    TrainConfig,
    min_training_days,
)
from forecaster.data import inputs
from forecaster.data.features import (
    Features,
    build_features,
    choose_kinds,
    embedding_rows,
)
from forecaster.data.panel import Panel
from forecaster.errors import NoDataError
from forecaster.inference import intervals, totals
from forecaster.inference.artefact import Artefact
from forecaster.inference.calibration import calibrate_artefact
from forecaster.inference.postprocessing import Postprocessing
from forecaster.inference.receptive_field import effective_context_days
from forecaster.model import export
from forecaster.model.checkpoint import Checkpoints
from forecaster.model.train_step import Params
from forecaster.model.trainer import Fit, Report, fit

# Origins that judge the last day of a long horizon.
LEAST_ORIGINS = 7
# Shares of the first fit's epochs and learning rate that the second one takes.
REFIT_SHARE, REFIT_RATE = 0.25, 0.2
PARITY_WINDOWS = 64

OpenCheckpoints = Callable[[str], AbstractContextManager[Checkpoints]]
"""Opens the checkpoints of the fit of that name."""


@dataclass(frozen=True)
class Recipe:
    """What is learnt, and how."""

    task: TaskConfig = TaskConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()


@dataclass(frozen=True)
class TrainingResult:
    """What training gives.

    Attributes:
      evaluation: Saw nothing of the validation days; serves hindcasts of them.
      production: Saw everything up to the origin.
      evaluation_fit: How the first fit went.
      production_fit: How the second went.
    """

    evaluation: Artefact
    production: Artefact
    evaluation_fit: Fit
    production_fit: Fit

    @property
    def seconds(self) -> float:
        """Of both fits."""
        return self.evaluation_fit.seconds + self.production_fit.seconds


def train_model(
    panel: Panel,
    recipe: Recipe,
    open_checkpoints: OpenCheckpoints | None = None,
    report: Callable[[str], Report] = lambda _: lambda *_: None,
) -> TrainingResult:
    """Trains twice, calibrates, exports.

    Args:
      panel: Demand through the origin.
      recipe: What is learnt, and how.
      open_checkpoints: Where states are kept; none are without it.
      report: Given the name of a fit (`evaluation`, `production`), what to tell of it.

    Raises:
      NoDataError: the history is shorter than 42 days.
      TrainingError: training cannot go on.
      ArtefactError: NumPy and Flax disagree.
    """
    recipe = fit_to_history(panel, recipe)
    earlier = panel.as_of(panel.origin - timedelta(days=recipe.train.validation_days))
    kinds = choose_kinds(earlier.calendar, earlier.n_steps)
    learner = _Learner(recipe, kinds, open_checkpoints, report)
    evaluation_fit = learner.fit("evaluation", earlier, validation=panel)
    evaluation = learner.export(evaluation_fit, earlier)
    evaluation = calibrate_artefact(evaluation, panel)
    refit = replace(
        recipe.train,
        epochs=math.ceil(REFIT_SHARE * evaluation_fit.epochs),
        learning_rate=REFIT_RATE * recipe.train.learning_rate,
    )
    again = _Learner(replace(recipe, train=refit), kinds, open_checkpoints, report)
    production_fit = again.fit("production", panel, start=evaluation_fit.params)
    production = replace(
        again.export(production_fit, panel),
        postprocessing=evaluation.postprocessing,
        intervals=evaluation.intervals,
        totals=evaluation.totals,
        validation_mape=evaluation.validation_mape,
    )
    return TrainingResult(evaluation, production, evaluation_fit, production_fit)


def fit_to_history(panel: Panel, recipe: Recipe) -> Recipe:
    """The recipe with a context and validation days that the history has room for.

    Raises:
      NoDataError: the history is shorter than 42 days, or than four horizons.
    """
    if panel.n_steps < MIN_TRAINING_DAYS:
        raise NoDataError(
            f"The history has {panel.n_steps} days up to {panel.origin}, but training "
            f"needs {MIN_TRAINING_DAYS}. Load earlier orders."
        )
    # By the day, a young fleet's sizes would change, and every night would compile anew.
    n_steps = panel.n_steps - panel.n_steps % FORTNIGHT
    horizon, days = recipe.task.horizon, recipe.train.validation_days
    days = max(days, horizon + LEAST_ORIGINS)
    days = min(days, n_steps // 4)
    if days <= horizon:
        raise NoDataError(
            f"The history has {panel.n_steps} days up to {panel.origin}, but a horizon "
            f"of {horizon} days needs {min_training_days(horizon)}. Load earlier orders, or "
            "shorten the horizon."
        )
    context = max(days + 14, min(recipe.task.context, n_steps - days))
    return replace(
        recipe,
        task=replace(recipe.task, context=context),
        train=replace(recipe.train, validation_days=days),
    )


def watermark(panel: Panel) -> str:
    """Names the data of a panel: sha256 of all that training sees."""
    digest = hashlib.sha256(repr((panel.depot_ids, panel.cities)).encode())
    digest.update(f"{panel.start_on} {panel.calendar.kinds}".encode())
    calendar = panel.calendar
    for array in (
        panel.demand_dt,
        panel.closed_dt,
        calendar.active_gtk,
        calendar.group_d,
    ):
        digest.update(np.ascontiguousarray(array).tobytes())
    if calendar.lead_gtk is not None:
        digest.update(calendar.lead_gtk.tobytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class _Learner:
    """One recipe with the kinds of day it knows."""

    recipe: Recipe
    kinds: tuple[str, ...]
    open_checkpoints: OpenCheckpoints | None
    report: Callable[[str], Report]

    def fit(
        self,
        name: str,
        panel: Panel,
        validation: Panel | None = None,
        start: Params | None = None,
    ) -> Fit:
        """Fits on a panel; with `validation`, keeps the best epoch by its last days."""
        seen = None if validation is None else self._features(validation)
        parts = (self.recipe.task, self.recipe.model, self.recipe.train)
        features, report = self._features(panel), self.report(name)
        if self.open_checkpoints is None:
            return fit(features, *parts, seen, report=report, start=start)
        with self.open_checkpoints(name) as checkpoints:
            return fit(features, *parts, seen, checkpoints, report, start)

    def export(self, fitted: Fit, panel: Panel) -> Artefact:
        """The artefact of a fit, not calibrate_artefact; parity is that of the newest windows."""
        features = self._features(panel)
        # Always as many, so that a depot more does not compile the comparison anew.
        some_d = np.arange(PARITY_WINDOWS) % panel.n_depots
        newest_d = np.full(len(some_d), features.n_steps - 1)
        nothing_h = np.zeros(self.recipe.task.horizon)
        made = Artefact(
            task=self.recipe.task,
            model=self.recipe.model,
            reading_days=self.recipe.task.context,
            weights=export.trim_padding(
                export.flat_weights(fitted.params), panel.n_depots
            ),
            postprocessing=Postprocessing(),
            intervals=intervals.uniform_table(nothing_h, nothing_h),
            totals=totals.additive_table(),
            depot_ids=panel.depot_ids,
            kinds=self.kinds,
            feature_names=features.names,
            trained_through=panel.origin,
            data_watermark=watermark(panel),
            seed=self.recipe.train.seed,
            epochs=fitted.epochs,
            versions=export.library_versions(),
            parity_error=math.nan,
            validation_mape=round(fitted.validation_mape, 6),
        )
        windows = inputs.cut(features, self.recipe.task, some_d, newest_d)
        # The newest origin knows all that its calendar has.
        windows = windows._replace(lead=None)
        made = replace(made, reading_days=effective_context_days(made, windows))
        return export.with_parity(made, fitted.params, windows)

    def _features(self, panel: Panel) -> Features:
        horizon = self.recipe.task.horizon
        return build_features(
            panel, self.kinds, horizon, embedding_rows(panel.depot_ids)
        )
