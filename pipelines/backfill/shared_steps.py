"""Backfill steps that run once for all origins; each returns the rows it wrote."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from pipelines.backfill.plan import Slot
from pipelines.demand import counting
from pipelines.forecasting import scoring
from pipelines.ingest import FileOptions, ingest
from pipelines.runs.ledger import Run
from pipelines.settings import Settings
from pipelines.training import promotion, train
from pipelines.training.train import FitReporter


@dataclass(frozen=True)
class StepContext:
    """The inputs of a shared step.

    Args:
      settings: Folders and time zone.
      now: Time of the run.
      report: Given the name of a fit, returns the callback for its epochs.
    """

    settings: Settings
    now: datetime
    report: FitReporter


def _ingest(context: StepContext, _: Slot, run: Run) -> int:
    inbox = context.settings.inbox
    inbox.mkdir(parents=True, exist_ok=True)
    report = ingest(run.engine, [str(inbox)], FileOptions(), context.settings)
    run.metrics |= {"files": len(report.files), "refused": len(report.refused)}
    return sum(file.counts.accepted for file in report.files)


def _demand(context: StepContext, _: Slot, run: Run) -> int:
    change = counting.rebuild_in(run, context.now)
    return change.new + change.corrected


def _train(context: StepContext, slot: Slot, run: Run) -> int:
    """Trains through the slot's origin and evaluates the model, which serves hindcasts."""
    assert slot.origin_on is not None, "a training has a last day"
    engine, settings = run.engine, context.settings
    recipe = train.build_recipe(settings, seed=None, epochs=None)
    trained = train.train(engine, settings, slot.origin_on, recipe, context.report, run)
    run.metrics |= promotion.promote_if_better(
        engine, settings.artefacts, trained.version
    ).metrics()
    return 0


def _score(context: StepContext, _: Slot, run: Run) -> int:
    zone = context.settings.zone
    scored = scoring.score_known_days(run.engine, zone)
    run.metrics["scored"] = scored
    return scored


SHARED_STEPS: dict[str, Callable[[StepContext, Slot, Run], int]] = {
    "ingest": _ingest,
    "demand": _demand,
    "train": _train,
    "score": _score,
}
