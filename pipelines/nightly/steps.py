"""The steps of a night; each may be repeated, and publishes only within its run's fence."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime

import sqlalchemy as sa
import structlog

from forecaster.errors import NothingToDoError
from pipelines.demand import counting, feed_freshness, retention
from pipelines.forecasting import forecast as forecasting
from pipelines.forecasting import live_accuracy, scoring
from pipelines.ingest import FileOptions, ingest
from pipelines.runs.ledger import Run
from pipelines.settings import Settings
from pipelines.store import runs
from pipelines.training import artefact_pruning, cleanup, promotion
from pipelines.training import train as training
from pipelines.training.train import Reports

log = structlog.get_logger()


@dataclass
class Night:
    """One night: what its steps share, and what they found out."""

    engine: sa.Engine
    settings: Settings
    now: datetime
    # The last day a forecast may see; without one, the last complete day in the data.
    origin: date | None
    report: Reports

    @property
    def day(self) -> date:
        """The origin, once the night has settled on it."""
        assert self.origin is not None, "demand was counted"
        return self.origin


def ingest_inbox(night: Night, run: Run) -> None:
    """Loads what has come into the inbox; an empty one is no failure."""
    night.settings.inbox.mkdir(parents=True, exist_ok=True)
    if not any(night.settings.inbox.iterdir()):
        run.counts["files"] = 0
        return
    report = ingest(
        run.engine, [str(night.settings.inbox)], FileOptions(), night.settings
    )
    run.counts |= {"files": len(report.files), "refused": len(report.refused)}


def count_demand(night: Night, run: Run) -> None:
    """Counts orders per depot and local day, and tells which days were corrected."""
    look_back = night.settings.look_back_days
    change = counting.rebuild_in(run, night.now, look_back)
    if change.left_old:
        run.counts["left_old"] = change.left_old
        log.warning("corrections_left", depot_days=change.left_old, look_back=look_back)


def score(night: Night, run: Run) -> None:
    """Scores the forecasts whose days are now known."""
    run.counts["scored"] = scoring.score_known_days(run.engine, night.settings.zone)


def prune(night: Night, run: Run) -> None:
    """Takes away old artefacts, and old orders where a setting does not keep all."""
    pruned = artefact_pruning.prune_artefacts(run.engine, night.settings)
    if not pruned.is_nothing:
        run.counts |= {"artefacts": pruned.files, "artefact_bytes": pruned.size_bytes}
    if night.settings.keep_orders_days is None:
        return
    dropped = retention.drop_old_orders(run.engine, night.settings, night.now)
    run.counts |= {"dropped": dropped.orders, "frozen_before": str(dropped.before)}


def watch(night: Night, run: Run) -> None:
    """Says so if the champion has been bad lately; that is no failure of the night."""
    found = live_accuracy.watch(run.engine, night.settings)
    run.counts |= found.counts()
    for alarm in found.alarms:
        log.warning("accuracy_alarm", alarm=alarm)


def train(night: Night, run: Run) -> None:
    """Trains a challenger through the origin, unless a night that broke off had."""
    with run.engine.connect() as connection:
        before = runs.training_without_news(connection, night.day)
    if before is not None:
        run.counts |= {"model": before["counts"]["model"], "by_run": before["run_id"]}
        return
    cleanup.sweep(run.engine, night.settings)
    recipe = training.recipe_of(night.settings, seed=None, epochs=None)
    training.train(run.engine, night.settings, night.day, recipe, night.report, run)


def judge(night: Night, run: Run) -> None:
    """Decides on the challenger, and promotes it if it deserves it."""
    try:
        verdict = promotion.judge(run.engine, night.settings.artefacts)
    except NothingToDoError as nothing:
        run.counts["reason"] = str(nothing)
        return
    run.counts |= verdict.counts()
    if "canary_failed" in run.counts:
        log.warning("canary_failed", says=run.counts["canary_failed"])


def forecast(night: Night, run: Run) -> None:
    """Forecasts from the origin with the champion, and marks a forecast of a late feed."""
    late = feed_freshness.read_lateness(run.engine, night.day)
    forecasting.forecast_from(
        run.engine,
        night.settings.artefacts,
        night.day,
        night.now,
        night.settings.zone,
        run,
    )
    run.counts |= late.counts()
    if late.is_late:
        log.warning("feed_late", says=late.sentence())


STEPS: dict[str, Callable[[Night, Run], None]] = {
    "ingest": ingest_inbox,
    "demand": count_demand,
    "score": score,
    "prune": prune,
    "watch": watch,
    "train": train,
    "judge": judge,
    "forecast": forecast,
}
"""In the order of the night; judging promotes."""

FORGIVEN = {"prune", "watch", "train", "judge"}
"""Steps whose failure does not cost the forecast: the champion there is makes it."""
