"""Applies a backfill plan slot by slot; it can be paused, resumed, cancelled and retried."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date, datetime

import sqlalchemy as sa

from forecaster.errors import NoModelError, NothingToDoError
from pipelines.backfill import control
from pipelines.backfill.hindcast import Hindcaster
from pipelines.backfill.plan import (
    BackfillPlan,
    Slot,
    data_fingerprint,
    read_plan,
    require_unchanged,
    require_work,
)
from pipelines.backfill.planner import make_plan
from pipelines.backfill.request import BackfillRequest
from pipelines.database.engine import snapshot
from pipelines.forecasting import scoring
from pipelines.nightly.steps import NightlyContext
from pipelines.runs.error_messages import describe_error
from pipelines.runs.ledger import Run, recorded
from pipelines.runs.locks import LostRunError
from pipelines.settings import Settings
from pipelines.store import backfill as store
from pipelines.training import promotion, train
from pipelines.training.train import FitReporter


@dataclass(frozen=True)
class ProgressCallbacks:
    """Callbacks that report the progress of a plan while it is applied."""

    # Called with each slot that has ended.
    on_slot: Callable[[Slot], None] = lambda _: None
    # Called with a message for people.
    on_message: Callable[[str], None] = lambda _: None
    # Given the name of a fit, returns the callback for its epochs.
    on_fit: FitReporter = lambda _: lambda *_: None


class _StopRequestedError(NothingToDoError):
    """A pause or cancellation was requested; not a failure."""

    def __init__(self, action: str) -> None:
        super().__init__("The backfill was paused or cancelled.")
        self.plan_state = "cancelled" if action == "cancel" else "paused"


def apply_plan(
    engine: sa.Engine,
    settings: Settings,
    backfill_id: int,
    now: datetime,
    callbacks: ProgressCallbacks = ProgressCallbacks(),
) -> BackfillPlan:
    """Runs every waiting slot of a plan, and returns the updated plan.

    Each slot is written in one transaction, so a plan can be interrupted at any point and
    resumed. An interrupt pauses the plan and is raised again.

    Raises:
      NoDataError: there is no such plan.
      BadInputError: data or models changed since it was made, or it was cancelled.
      NothingToDoError: no slot is waiting, or another backfill is being applied.
      LostRunError: the run lost its lock; slots already written are kept.
    """
    with control.hold_apply_lock(engine) as lock:
        plan = read_plan(engine, backfill_id)
        require_work(plan)
        require_unchanged(engine, plan, settings.horizon)
        with engine.begin() as connection:
            store.end_interrupted(connection, backfill_id)
        with recorded(engine, "backfill", plan.request.last, lock=lock) as run:
            runner = _PlanRunner(engine, settings, plan, now, callbacks, run)
            interrupt = runner.run_all()
        if interrupt is not None:
            raise interrupt
        return read_plan(engine, backfill_id)


def run_backfill(
    engine: sa.Engine,
    settings: Settings,
    first: date,
    last: date,
    now: datetime,
    report: Callable[[Slot], None] = lambda _: None,
) -> BackfillPlan:
    """Plans and applies hindcasts of every origin between two days, and scores them.

    Raises:
      BadInputError: `last` lies before `first`.
      NoModelError: no origin could be forecast.
    """
    plan = make_plan(engine, settings, BackfillRequest(first, last, only="all"))

    def on_slot(slot: Slot) -> None:
        if slot.step == "forecast":
            report(slot)

    if any(slot.is_included for slot in plan.of("forecast")):
        callbacks = ProgressCallbacks(on_slot=on_slot)
        plan = apply_plan(engine, settings, plan.backfill_id, now, callbacks)
    slots = plan.of("forecast")
    if all(slot.model is None for slot in slots):
        raise NoModelError(f"No origin was forecast. {slots[0].outcome}")
    return plan


@dataclass
class _PlanRunner:
    """Runs the slots of one plan beneath one backfill run."""

    engine: sa.Engine
    settings: Settings
    plan: BackfillPlan
    now: datetime
    callbacks: ProgressCallbacks
    run: Run

    def run_all(self) -> BaseException | None:
        """Runs every waiting slot, and sets the plan's final state.

        Returns:
          The interrupt that paused the plan, if one did; it is not a failure of the run.
        """
        interrupt: BaseException | None = None
        self._set_state("running")
        try:
            self._run_slots()
            plan = read_plan(self.engine, self.plan.backfill_id)
            state = "failed" if plan.failed else "done"
        except _StopRequestedError as stop:
            state = stop.plan_state
        except (KeyboardInterrupt, SystemExit) as error:
            state, interrupt = "paused", error
        self._set_state(state)
        plan = read_plan(self.engine, self.plan.backfill_id)
        counts = {name: plan.count(name) for name in ("done", "failed", "waiting")}
        self.run.metrics |= {"plan": plan.backfill_id, "state": state, **counts}
        return interrupt

    def _run_slots(self) -> None:
        self._run_shared("train")
        with snapshot(self.engine) as connection:
            depot_ids = self.plan.request.depot_ids(connection)
        hindcaster = Hindcaster(
            self.engine, self.settings, self.plan.backfill_id, depot_ids, self.now
        )
        waiting = [slot for slot in self.plan.waiting if slot.step == "forecast"]
        for version, slots in hindcaster.batches(waiting):
            if self._yield_to_nightly():
                hindcaster.discard_panels()
            self._hindcast(hindcaster, version, slots)
        self._run_shared("score")

    def _run_shared(self, step: str) -> None:
        """Runs a step done once for all origins, which may change models or scores."""
        for slot in self.plan.waiting:
            if slot.step == step:
                self._yield_to_nightly()
                with self._step(step, slot.origin_on, [slot]) as run:
                    context = NightlyContext(
                        self.engine,
                        self.settings,
                        self.now,
                        slot.origin_on,
                        self._epoch_reporter,
                    )
                    self._end(slot, run, SHARED_STEPS[step](context, run))

    def _end(self, slot: Slot, run: Run, rows: int) -> None:
        plan_id, request = self.plan.backfill_id, self.plan.request
        with run.engine.begin() as connection:
            store.finish_slot(
                connection, plan_id, slot.position,
                state="done", run_id=run.run_id, rows=rows,
            )  # fmt: skip
            current = data_fingerprint(connection, request, self.settings.horizon)
            # The data has changed by this slot, and the plan stands.
            store.update_plan(connection, plan_id, snapshot=asdict(current))
        self.callbacks.on_slot(slot)

    def _hindcast(
        self, hindcaster: Hindcaster, version: str | None, slots: Sequence[Slot]
    ) -> None:
        ended: set[int] = set()
        with self._step("hindcast", slots[-1].origin_on, slots, ended) as run:
            for slot in hindcaster.forecast(version, slots, run):
                ended.add(slot.position)
                self.callbacks.on_slot(slot)
                self._stop_if_requested()

    @contextmanager
    def _step(
        self,
        name: str,
        origin: date | None,
        slots: Sequence[Slot],
        ended: Collection[int] = (),
    ) -> Iterator[Run]:
        """Records a step as a run; on an error its unfinished slots fail, later ones run."""
        try:
            with recorded(self.engine, name, origin, parent=self.run) as run:
                yield run
        except (_StopRequestedError, LostRunError):
            raise
        except Exception as error:  # noqa: BLE001 - recorded, and reported at the end
            unfinished = [slot for slot in slots if slot.position not in ended]
            with self.engine.begin() as connection:
                for slot in unfinished:
                    store.finish_slot(
                        connection, self.plan.backfill_id, slot.position,
                        state="failed", run_id=self.run.run_id,
                        error=describe_error(error),
                    )  # fmt: skip
            for slot in unfinished:
                self.callbacks.on_slot(slot)

    def _yield_to_nightly(self) -> bool:
        """Waits for a nightly run to end; returns whether it had to."""
        self._stop_if_requested()
        has_waited = control.yield_to_nightly(
            self.engine,
            self.callbacks.on_message,
            lambda: self._requested_action() is not None,
        )
        self._stop_if_requested()
        return has_waited

    def _stop_if_requested(self) -> None:
        if action := self._requested_action():
            raise _StopRequestedError(action)

    def _requested_action(self) -> str | None:
        with self.engine.connect() as connection:
            return store.requested_action(connection, self.plan.backfill_id)

    def _set_state(self, state: str) -> None:
        with self.engine.begin() as connection:
            store.set_state(connection, self.plan.backfill_id, state)

    def _epoch_reporter(self, fit: str) -> Callable[[int, int, float], None]:
        """Reports a fit's epochs; yields to nightly runs and stops between them."""
        report = self.callbacks.on_fit(fit)

        def on_epoch(epoch: int, epochs: int, best: float) -> None:
            report(epoch, epochs, best)
            self._yield_to_nightly()

        return on_epoch


def _train(context: NightlyContext, run: Run) -> int:
    """Trains through the origin and evaluates the model, which serves hindcasts."""
    engine, settings = run.engine, context.settings
    recipe = train.build_recipe(settings)
    trained = train.train(engine, settings, context.day, recipe, context.report, run)
    decision = promotion.promote_if_better(engine, settings.artefacts, trained.version)
    run.metrics |= decision.metrics()
    return 0


def _score(context: NightlyContext, run: Run) -> int:
    run.metrics["scored"] = scoring.score_known_days(run.engine, context.settings.zone)
    return int(run.metrics["scored"])


SHARED_STEPS: dict[str, Callable[[NightlyContext, Run], int]] = {
    "train": _train,
    "score": _score,
}
"""Steps that run once for all origins; each returns the rows it wrote."""
