"""The steps of a nightly run; each can be repeated, and writes through its run's engine."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

import sqlalchemy as sa
import structlog

from forecaster.errors import NothingToDoError, TrainingError
from pipelines import pruning
from pipelines.demand import counting
from pipelines.demand.panels import ReadPanels, shared_panels
from pipelines.forecasting import forecast as forecast_module
from pipelines.forecasting import hours, live_accuracy, scoring
from pipelines.ingest.load import FileOptions, ingest
from pipelines.planning.morning_message import morning_message
from pipelines.publishing import publication
from pipelines.runs.ledger import Run
from pipelines.settings import Settings
from pipelines.store import models, runs
from pipelines.store.runs import MESSAGE
from pipelines.training import promotion
from pipelines.training import train as train_module
from pipelines.training.train import FitReporter

log = structlog.get_logger()

PUBLISH = "publish"
MAX_NIGHTS_ENDED_IN_TRAINING = 2
"""One fewer than the scheduler's attempts, so that the last attempt can make a forecast."""


@dataclass
class NightlyContext:
    """The context that the steps of a nightly run share."""

    engine: sa.Engine
    settings: Settings
    now: datetime
    # Last day of data that the forecast uses; by default the last complete day.
    origin: date | None
    report: FitReporter = lambda _: lambda *_: None

    @property
    def day(self) -> date:
        """The origin, once it is set."""
        assert self.origin is not None, "the origin is set after counting demand"
        return self.origin

    @cached_property
    def panels(self) -> ReadPanels:
        """Returns the panels of this night; data that arrive later are left to the next night."""
        return shared_panels(self.engine, self.day, self.settings.zone)


def ingest_inbox(context: NightlyContext, run: Run) -> None:
    """Loads the files in the inbox, which may be empty."""
    context.settings.inbox.mkdir(parents=True, exist_ok=True)
    if not any(context.settings.inbox.iterdir()):
        run.metrics["files"] = 0
        return
    report = ingest(
        run.engine, [str(context.settings.inbox)], FileOptions(), context.settings
    )
    run.metrics |= {
        "files": len(report.files),
        "refused": len(report.refused),
        "accepted": sum(file.counts.accepted for file in report.files),
        # Orders are not included: the step `demand` counts the days that they change.
        "described": sum(
            file.counts.accepted
            for file in report.files
            if file.kind not in ("orders", "daily")
        ),
    }


def count_demand(context: NightlyContext, run: Run) -> None:
    """Counts orders per depot and local day, and reports corrected days."""
    look_back = context.settings.look_back_days
    change = counting.rebuild_in(run, context.now, look_back)
    if change.left_old:
        run.metrics["left_old"] = change.left_old
        log.warning("corrections_left", depot_days=change.left_old, look_back=look_back)


def score(context: NightlyContext, run: Run) -> None:
    """Scores the forecasts whose actuals are now known."""
    run.metrics["scored"] = scoring.score_known_days(run.engine, context.panels)


def prune(context: NightlyContext, run: Run) -> None:
    """Removes old artefacts, and old forecasts and orders if a retention period is set."""
    pruned = pruning.prune(run.engine, context.settings, context.now)
    run.metrics |= pruned.metrics()


def monitor_accuracy(context: NightlyContext, run: Run) -> None:
    """Raises an alarm if live accuracy has been poor; the nightly run does not fail."""
    accuracy = live_accuracy.measure(run.engine, context.settings)
    run.metrics |= accuracy.metrics()
    for alarm in accuracy.alarms:
        log.warning("accuracy_alarm", alarm=alarm)


def train(context: NightlyContext, run: Run) -> None:
    """Trains a challenger through the origin, unless an earlier nightly run already has.

    An earlier training is reused if it had the same data and settings, and its artefact can be
    used.

    Raises:
      TrainingError: several attempts at this night ended during training with these settings, for
        example for lack of memory or time, so this attempt uses the champion, or a former
        champion with a usable file.
    """
    recipe = train_module.build_recipe(context.settings)
    settings_id = train_module.settings_id(recipe, context.settings)
    run.metrics["settings_id"] = settings_id
    with run.engine.begin() as connection:
        # Committed before the training, which may end the process.
        runs.update_run(connection, run.run_id, metrics=run.metrics)
        previous = runs.same_training(connection, context.day, settings_id)
        ended = runs.nights_ended_in_training(connection, context.day, settings_id)
        choices = models.servable(connection, context.day)
        trained = models.model(connection, previous.model) if previous else None
    if previous is not None and forecast_module.load_if_usable(
        context.settings.artefacts, trained
    ):
        run.metrics |= {"model": previous.model, "by_run": previous.run_id}
        return
    if len(ended) >= MAX_NIGHTS_ENDED_IN_TRAINING and forecast_module.first_usable(
        context.settings.artefacts, choices
    ):
        raise TrainingError(
            f"The night of {context.day} ended {len(ended)} times while it trained (runs "
            f"{', '.join(map(str, ended))}), so this one leaves the training out. See 'harbor "
            f"runs show {ended[-1]}'; the next one tries again."
        )
    pruning.clean_up(run.engine, context.settings)
    train_module.train(
        run, context.settings, context.day, recipe, context.report, context.panels
    )


def promote(context: NightlyContext, run: Run) -> None:
    """Promotes the challenger if it is better than the champion."""
    try:
        decision = promotion.promote_if_better(
            run.engine, context.settings.artefacts, context.panels, context.day
        )
    except NothingToDoError as error:
        run.metrics["reason"] = str(error)
        return
    run.metrics |= decision.metrics()
    if "canary_failed" in run.metrics:
        log.warning("canary_failed", reason=run.metrics["canary_failed"])


def forecast(context: NightlyContext, run: Run) -> None:
    """Forecasts from the origin with the champion."""
    forecast_module.forecast_from(
        run, context.settings, context.day, context.now, context.panels
    )


def shape_day(context: NightlyContext, run: Run) -> None:
    """Stores the hourly shares of the forecast's orders."""
    hours.store_shares(run, context.panels, context.day)


def write_message(context: NightlyContext, run: Run) -> None:
    """Writes the morning message, which the watch sends."""
    is_sent = context.settings.notify_urls is not None
    run.metrics["notifications"] = "set up" if is_sent else "not set up"
    run.metrics["lines"] = morning_message(
        run.engine, context.settings, context.day, context.now
    )


def publish(context: NightlyContext, run: Run) -> None:
    """Publishes the forecast that is shown, and new scores, to other systems."""
    publication.publish(run, context.settings)


@dataclass(frozen=True)
class Step:
    """A step of the nightly run, and how the forecast is made if the step fails.

    Attributes:
      work: Does the work through the run's engine, and adds its numbers to the run's metrics.
      forecast_without: How the forecast is made if the step fails, as the end of a sentence;
        None if there is no forecast without the step. If only publishing fails, the night
        still counts as done.
    """

    work: Callable[[NightlyContext, Run], None]
    forecast_without: str | None


STEPS: dict[str, Step] = {
    "ingest": Step(ingest_inbox, "without the files left in the inbox"),
    "demand": Step(count_demand, "from the last counts"),
    "score": Step(score, "without the scores of new days"),
    "prune": Step(prune, "with nothing deleted"),
    "accuracy": Step(monitor_accuracy, "without a check of its accuracy"),
    "train": Step(train, "with an earlier model"),
    "promote": Step(promote, "with an earlier model"),
    "forecast": Step(forecast, None),
    "hours": Step(shape_day, "and the hours of its days are missing"),
    MESSAGE: Step(write_message, "and the morning message is missing"),
    PUBLISH: Step(publish, "and other systems did not receive all of it"),
}
"""The steps in execution order."""


def chosen_steps(settings: Settings) -> dict[str, Step]:
    """The steps of a night with these settings, in execution order."""
    if publication.is_wanted(settings):
        return STEPS
    return {name: step for name, step in STEPS.items() if name != PUBLISH}
