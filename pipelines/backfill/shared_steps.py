"""Steps of a backfill that are done once for all origins; each gives the rows it wrote."""

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
from pipelines.training.train import Reports


@dataclass(frozen=True)
class Whole:
    """What such a step is given.

    Args:
      settings: For the folders and the zone.
      now: Time of the run.
      fits: Given the name of a fit, what to tell of a training's progress.
    """

    settings: Settings
    now: datetime
    fits: Reports


def _ingest(asked: Whole, _: Slot, run: Run) -> int:
    inbox = asked.settings.inbox
    inbox.mkdir(parents=True, exist_ok=True)
    report = ingest(run.engine, [str(inbox)], FileOptions(), asked.settings)
    run.counts |= {"files": len(report.files), "refused": len(report.refused)}
    return sum(file.counts.accepted for file in report.files)


def _demand(asked: Whole, _: Slot, run: Run) -> int:
    change = counting.rebuild_in(run, asked.now)
    return change.new + change.corrected


def _train(asked: Whole, slot: Slot, run: Run) -> int:
    """Trains through the slot's origin; such a model is judged, and serves hindcasts."""
    assert slot.origin_on is not None, "a training ends on a day"
    engine, settings = run.engine, asked.settings
    recipe = train.recipe_of(settings, seed=None, epochs=None)
    made = train.train(engine, settings, slot.origin_on, recipe, asked.fits, run)
    run.counts |= promotion.judge(engine, settings.artefacts, made.version).counts()
    return 0


def _score(asked: Whole, _: Slot, run: Run) -> int:
    zone = asked.settings.zone
    scored = scoring.score_known_days(run.engine, zone)
    run.counts["scored"] = scored
    return scored


WHOLE_STEPS: dict[str, Callable[[Whole, Slot, Run], int]] = {
    "ingest": _ingest,
    "demand": _demand,
    "train": _train,
    "score": _score,
}
