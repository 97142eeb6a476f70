"""The steps of a nightly run; each is repeatable and publishes on its run's session."""

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
from pipelines.training.train import FitReporter

log = structlog.get_logger()


@dataclass
class NightlyRun:
    """The context that the steps of a nightly run share."""

    engine: sa.Engine
    settings: Settings
    now: datetime
    # Last day of data that the forecast uses; by default the last complete day.
    origin: date | None
    report: FitReporter

    @property
    def day(self) -> date:
        """The origin, once it is set."""
        assert self.origin is not None, "the origin is set after counting demand"
        return self.origin


def ingest_inbox(night: NightlyRun, run: Run) -> None:
    """Loads the files in the inbox, which may be empty."""
    night.settings.inbox.mkdir(parents=True, exist_ok=True)
    if not any(night.settings.inbox.iterdir()):
        run.metrics["files"] = 0
        return
    report = ingest(
        run.engine, [str(night.settings.inbox)], FileOptions(), night.settings
    )
    run.metrics |= {"files": len(report.files), "refused": len(report.refused)}


def count_demand(night: NightlyRun, run: Run) -> None:
    """Counts orders per depot and local day, and reports corrected days."""
    look_back = night.settings.look_back_days
    change = counting.rebuild_in(run, night.now, look_back)
    if change.left_old:
        run.metrics["left_old"] = change.left_old
        log.warning("corrections_left", depot_days=change.left_old, look_back=look_back)


def score(night: NightlyRun, run: Run) -> None:
    """Scores the forecasts whose actuals are now known."""
    run.metrics["scored"] = scoring.score_known_days(run.engine, night.settings.zone)


def prune(night: NightlyRun, run: Run) -> None:
    """Removes old artefacts, and old orders if a retention period is set."""
    pruned = artefact_pruning.prune_artefacts(run.engine, night.settings)
    if not pruned.is_nothing:
        run.metrics |= {"artefacts": pruned.files, "artefact_bytes": pruned.size_bytes}
    if night.settings.keep_orders_days is None:
        return
    dropped = retention.drop_old_orders(run.engine, night.settings, night.now)
    run.metrics |= {"dropped": dropped.orders, "frozen_before": str(dropped.before)}


def watch(night: NightlyRun, run: Run) -> None:
    """Raises an alarm if live accuracy has been poor; the nightly run does not fail."""
    accuracy = live_accuracy.measure(run.engine, night.settings)
    run.metrics |= accuracy.metrics()
    for alarm in accuracy.alarms:
        log.warning("accuracy_alarm", alarm=alarm)


def train(night: NightlyRun, run: Run) -> None:
    """Trains a challenger through the origin, unless an interrupted run already has."""
    with run.engine.connect() as connection:
        previous = runs.training_without_news(connection, night.day)
    if previous is not None:
        run.metrics |= {
            "model": previous["metrics"]["model"],
            "by_run": previous["run_id"],
        }
        return
    cleanup.clean_up(run.engine, night.settings)
    recipe = training.build_recipe(night.settings, seed=None, epochs=None)
    training.train(run.engine, night.settings, night.day, recipe, night.report, run)


def judge(night: NightlyRun, run: Run) -> None:
    """Promotes the challenger if it is better than the champion."""
    try:
        decision = promotion.promote_if_better(run.engine, night.settings.artefacts)
    except NothingToDoError as error:
        run.metrics["reason"] = str(error)
        return
    run.metrics |= decision.metrics()
    if "canary_failed" in run.metrics:
        log.warning("canary_failed", reason=run.metrics["canary_failed"])


def forecast(night: NightlyRun, run: Run) -> None:
    """Forecasts from the origin with the champion, and records late feeds."""
    late = feed_freshness.read_lateness(run.engine, night.day)
    forecasting.forecast_from(
        run.engine,
        night.settings.artefacts,
        night.day,
        night.now,
        night.settings.zone,
        run,
    )
    run.metrics |= late.metrics()
    if late.is_late:
        log.warning("feed_late", reason=late.sentence())


STEPS: dict[str, Callable[[NightlyRun, Run], None]] = {
    "ingest": ingest_inbox,
    "demand": count_demand,
    "score": score,
    "prune": prune,
    "watch": watch,
    "train": train,
    "judge": judge,
    "forecast": forecast,
}
"""The steps in execution order; `judge` promotes."""

OPTIONAL_STEPS = {"prune", "watch", "train", "judge"}
"""Steps whose failure does not prevent the forecast, which the champion makes."""
