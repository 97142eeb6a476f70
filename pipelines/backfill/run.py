"""Runs a backfill: trains if requested, forecasts the due origins, and scores them."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime

import sqlalchemy as sa

from forecaster.errors import HarborError, NothingToDoError, shortened_list
from pipelines.backfill.decisions import (
    LIVE_FORECAST_KEPT,
    Decision,
    Decisions,
    decide,
)
from pipelines.backfill.hindcast import Group, groups_of, hindcast
from pipelines.backfill.request import BackfillRequest
from pipelines.demand.panels import PanelsAsKnown, shared_panels
from pipelines.forecasting import scoring
from pipelines.nightly.run import NIGHTLY_LOCK
from pipelines.runs.error_messages import describe_error
from pipelines.runs.ledger import Run, recorded
from pipelines.runs.locks import LostRunError, is_held, try_lock
from pipelines.settings import Settings
from pipelines.store.backfill import BACKFILL_LOCK
from pipelines.training import promotion, train
from pipelines.training.train import FitReporter

POLL_INTERVAL_S = 2.0


@dataclass(frozen=True)
class ProgressCallbacks:
    """Callbacks of a backfill."""

    # Called with the numbers of origins forecast so far and of due origins.
    on_progress: Callable[[int, int], None] = lambda *_: None
    # Called with a message for people.
    on_message: Callable[[str], None] = lambda _: None
    # Given the name of a fit, returns the callback for its epochs.
    on_fit: FitReporter = lambda _: lambda *_: None
    # Returns whether to stop after the current group of origins or training epoch.
    must_stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class BackfillResult:
    """The result of a backfill.

    Args:
      origins: The decision on each origin, earliest first, with the number of rows written.
      trained: Version of the model that was trained; None if none was.
      n_waiting: Number of due origins that were not forecast.
    """

    origins: tuple[Decision, ...]
    trained: str | None
    n_forecast: int
    n_waiting: int
    rows: int
    scored: int


def preview_backfill(
    engine: sa.Engine, settings: Settings, request: BackfillRequest
) -> BackfillResult:
    """Returns the decisions of a backfill, with every due origin waiting; writes nothing.

    Raises:
      NoDataError: there is no demand, or a requested depot is unknown.
    """
    decisions = decide(engine, settings, request)
    return BackfillResult(decisions.origins, None, 0, len(decisions.due), 0, 0)


def run_backfill(
    engine: sa.Engine,
    settings: Settings,
    request: BackfillRequest,
    now: datetime,
    callbacks: ProgressCallbacks = ProgressCallbacks(),
) -> BackfillResult:
    """Forecasts the due origins of a request, and scores the forecasts that have actuals.

    Each origin is written in one transaction, so a backfill that was cut short can be run again
    to do the rest. A nightly run goes first: the backfill waits for it between groups of
    origins, and then decides anew.

    Raises:
      NothingToDoError: no origin is due, or another backfill is running.
      BackfillError: some origins or the training failed; the other origins were done.
      NoDataError: there is no demand, or a requested depot is unknown.
      LostRunError: the run lost its lock; what it has written is kept.
    """
    with try_lock(engine, BACKFILL_LOCK) as lock:
        if lock is None:
            raise NothingToDoError(
                "Another backfill is running. See 'harbor runs follow'."
            )
        backfill = _Backfill(engine, settings, request, now, callbacks)
        while True:
            backfill.wait_for_nightly()
            with recorded(engine, "backfill", request.last, lock=lock) as run:
                if backfill.run_until_nightly(run):
                    return backfill.result


class BackfillError(HarborError):
    """Some origins or the training of a backfill failed; the other origins were done."""


class _StoppedError(NothingToDoError):
    """A training was stopped as requested; not a failure."""

    def __init__(self) -> None:
        super().__init__("It was stopped as requested.")


@dataclass
class _Backfill:
    """A backfill in progress: the newest decision on each origin, and the origins written."""

    engine: sa.Engine
    settings: Settings
    request: BackfillRequest
    now: datetime
    callbacks: ProgressCallbacks
    origins: dict[date, Decision] = field(default_factory=dict)
    written: set[date] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)
    # Failures of the training, which is not tried again.
    failed_training: list[str] = field(default_factory=list)
    trained: str | None = None
    scored: int = 0
    n_due: int = 0

    def run_until_nightly(self, run: Run) -> bool:
        """Trains, forecasts and scores; returns False as soon as a nightly run is in progress.

        Raises:
          NothingToDoError: no origin is due.
          BackfillError: origins or the training failed.
        """
        self.failures = list(self.failed_training)
        is_ended = self._forecast(run)
        # Due origins of failed groups are waiting, too.
        is_stopped = self.callbacks.must_stop() and self.result.n_waiting > 0
        if is_ended and not is_stopped:
            with self._step(run, "score", "The scoring") as step:
                panels = shared_panels(
                    step.engine, self.request.last, self.settings.zone
                )
                self.scored = scoring.score_known_days(step.engine, panels)
                step.metrics["scored"] = self.scored
        result = self.result
        run.metrics |= {"origins": result.n_forecast, "rows": result.rows}
        if result.n_waiting:
            run.metrics["waiting"] = result.n_waiting
        if is_ended and self.failures:
            others = "It was stopped" if is_stopped else "All other work is done"
            raise BackfillError(
                f"{' '.join(self.failures)} {others}; the same command tries the rest again."
            )
        if is_ended and not (result.n_waiting or result.n_forecast or result.scored):
            raise NothingToDoError(_nothing_to_do(result.origins))
        return is_ended

    @property
    def result(self) -> BackfillResult:
        """The result so far."""
        due = {each.origin_on for each in self.origins.values() if each.is_due}
        return BackfillResult(
            origins=tuple(self.origins.values()),
            trained=self.trained,
            n_forecast=len(self.written),
            n_waiting=len(due - self.written),
            rows=sum(self.origins[origin].rows for origin in self.written),
            scored=self.scored,
        )

    def wait_for_nightly(self) -> None:
        """Waits until no nightly run is in progress, or the backfill must stop."""
        if not is_held(self.engine, NIGHTLY_LOCK):
            return
        self.callbacks.on_message(
            "A nightly run is in progress and goes first; the backfill waits until it "
            "has ended."
        )
        while is_held(self.engine, NIGHTLY_LOCK) and not self.callbacks.must_stop():
            time.sleep(POLL_INTERVAL_S)
        if not self.callbacks.must_stop():
            self.callbacks.on_message("The backfill continues.")

    def _forecast(self, run: Run) -> bool:
        """Forecasts the due origins; returns False if a nightly run is in progress."""
        decisions = self._decide()
        if decisions.train_through is not None:
            self._train(run, decisions.train_through)
            if self.callbacks.must_stop():
                return True
            decisions = self._decide()
        due = decisions.due
        if not due:
            return True
        self.n_due = len(self.written) + len(due)
        panels = PanelsAsKnown.through_newest(
            self.engine, due[-1].origin_on, self.settings.zone
        )
        for group in groups_of(due):
            if self.callbacks.must_stop():
                return True
            if is_held(self.engine, NIGHTLY_LOCK):
                return False
            self._hindcast(run, panels, group, decisions.depot_ids)
        return True

    def _decide(self) -> Decisions:
        """Decides on each origin anew; written origins keep their decision unless due again."""
        decisions = decide(self.engine, self.settings, self.request, self.written)
        self.written -= {each.origin_on for each in decisions.due}
        self.origins |= {
            each.origin_on: each
            for each in decisions.origins
            if each.origin_on not in self.written
        }
        return decisions

    def _hindcast(
        self,
        run: Run,
        panels: PanelsAsKnown,
        group: Group,
        depot_ids: Sequence[str] | None,
    ) -> None:
        last = group.origins[-1].origin_on
        due = [str(each.origin_on) for each in group.origins]
        subject = f"Forecasting from {shortened_list(due)}"
        with self._step(run, "hindcast", subject, last) as step:
            # The backfill's run, not the step's, because it began before the panels were read.
            for decision, rows in hindcast(
                step, self.settings, panels, group, depot_ids, self.now, run.run_id
            ):
                if rows is None:
                    self.origins[decision.origin_on] = replace(
                        decision, is_due=False, reason_code="live_forecast",
                        reason=LIVE_FORECAST_KEPT, rows=0, replaced_rows=0,
                    )  # fmt: skip
                else:
                    self.origins[decision.origin_on] = replace(decision, rows=rows)
                    self.written.add(decision.origin_on)
                self.callbacks.on_progress(len(self.written), self.n_due)

    def _train(self, run: Run, through: date) -> None:
        """Trains a model through a day for hindcasts, and decides on its promotion."""
        with self._step(run, "train", f"Training through {through}", through) as step:
            recipe = train.build_recipe(self.settings)
            panels = shared_panels(step.engine, through, self.settings.zone)
            trained = train.train(
                step, self.settings, through, recipe, self._epoch_reporter, panels
            )
            self.trained = trained.version
            decision = promotion.promote_if_better(
                step.engine, self.settings.artefacts, panels, trained.version
            )
            step.metrics |= decision.metrics()
        if self.trained is None:
            # A failed training is not tried again, and is told at the end.
            self.failed_training = list(self.failures)
            self.request = replace(self.request, train=False)

    @contextmanager
    def _step(
        self, run: Run, name: str, subject: str, origin: date | None = None
    ) -> Iterator[Run]:
        """Records a step as a run; keeps its error for the end, so that later steps still run."""
        try:
            with recorded(self.engine, name, origin, parent=run) as step:
                yield step
        except LostRunError:
            raise
        except _StoppedError:
            return
        except Exception as error:  # noqa: BLE001 - recorded, and raised at the end
            self.failures.append(f"{subject} failed: {describe_error(error)}")

    def _epoch_reporter(self, fit: str) -> Callable[[int, int], None]:
        """Returns a callback that reports a fit's epochs, and waits or stops between epochs."""
        report = self.callbacks.on_fit(fit)

        def on_epoch(epoch: int, epochs: int) -> None:
            report(epoch, epochs)
            self.wait_for_nightly()
            if self.callbacks.must_stop():
                raise _StoppedError

        return on_epoch


def origins_by_reason(origins: Sequence[Decision]) -> dict[str, int]:
    """Counts origins by reason; all origins with one code count under its first sentence."""
    first = {each.reason_code: each.reason for each in reversed(origins)}
    return dict(Counter(first[each.reason_code] for each in origins))


def _nothing_to_do(origins: Sequence[Decision]) -> str:
    reasons = [
        f"{n_origins} of {len(origins)}: {reason}"
        for reason, n_origins in origins_by_reason(origins).items()
    ]
    is_there = any(each.reason_code == "unchanged" for each in origins)
    hint = " --again forecasts them again." if is_there else ""
    return f"No origin is due. {'; '.join(reasons)}.{hint}"
