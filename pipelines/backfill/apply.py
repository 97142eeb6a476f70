"""Applies a backfill plan slot by slot; it can be paused, resumed, cancelled and retried."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime

import sqlalchemy as sa

from forecaster.errors import BadInputError, NothingToDoError
from pipelines.backfill import coordination, preconditions
from pipelines.backfill.hindcast import Batch, Hindcaster
from pipelines.backfill.plan import BackfillPlan, Slot, read_plan
from pipelines.backfill.shared_steps import SHARED_STEPS, StepContext
from pipelines.database.engine import snapshot
from pipelines.runs.error_messages import describe_error
from pipelines.runs.ledger import Run, recorded
from pipelines.runs.locks import LostRunError
from pipelines.settings import Settings
from pipelines.store import backfill as store
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


def apply_plan(
    engine: sa.Engine,
    settings: Settings,
    backfill_id: int,
    now: datetime,
    callbacks: ProgressCallbacks = ProgressCallbacks(),
) -> BackfillPlan:
    """Runs every waiting slot of a plan, and returns the updated plan.

    Each slot is written in one transaction, so a plan can be interrupted at any point
    and resumed. An interrupt pauses the plan and is raised again.

    Args:
      engine: Database the pipelines own.
      settings: Folders and time zone.
      backfill_id: A plan that is waiting, paused, interrupted, or has failed slots.
      now: Time of the run.
      callbacks: Called as slots end and trainings progress.

    Raises:
      NoDataError: there is no such plan.
      BadInputError: data or models changed since it was made, or it was cancelled.
      NothingToDoError: no slot is waiting, or another backfill is being applied.
      LostRunError: the run lost its lock; slots already written are kept.
    """
    with coordination.hold_apply_lock(engine) as lock:
        with snapshot(engine) as connection:
            plan = read_plan(connection, backfill_id)
        _require_work(plan)
        preconditions.require_unchanged(engine, settings, plan)
        with recorded(engine, "backfill", plan.request.last, lock=lock) as parent:
            stop = _PlanRunner(engine, settings, plan, now, callbacks, parent).run_all()
        if stop is not None:
            raise stop
        with snapshot(engine) as connection:
            return read_plan(connection, backfill_id)


def _require_work(plan: BackfillPlan) -> None:
    if plan.state == "cancelled":
        raise BadInputError(
            f"Plan {plan.backfill_id} was cancelled. Make a new one with 'harbor "
            "backfill plan'."
        )
    if not plan.waiting:
        message = f"Plan {plan.backfill_id} has no slots left to do."
        if plan.failed:
            retry = f"'harbor backfill retry {plan.backfill_id} --failed'"
            message += f" {len(plan.failed)} failed; {retry} tries them again."
        raise NothingToDoError(message)


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
        except _StopRequestedError:
            self._set_state(
                "cancelled" if self._requested_action() == "cancel" else "paused"
            )
        except (KeyboardInterrupt, SystemExit) as error:
            self._set_state("paused")
            interrupt = error
        else:
            self._set_state("failed" if self._reload().failed else "done")
        plan = self._reload()
        self.run.metrics |= {
            "plan": plan.backfill_id,
            "state": plan.state,
            **{state: plan.count(state) for state in ("done", "failed", "waiting")},
        }
        return interrupt

    def _run_slots(self) -> None:
        self._run_shared("ingest", "demand", "train")
        hindcaster = Hindcaster(
            self.engine, self.settings, self.plan.backfill_id, self._depots(), self.now
        )
        waiting = [slot for slot in self.plan.waiting if slot.step == "forecast"]
        for batch in hindcaster.batches(waiting):
            self._yield_to_nightly(hindcaster.invalidate_panels)
            self._forecast(hindcaster, batch)
        self._run_shared("score")

    def _run_shared(self, *steps: str) -> None:
        """Runs the steps done once for all origins; each may change data or models."""
        for slot in self.plan.waiting:
            if slot.step in steps:
                self._yield_to_nightly()
                with (
                    self._failures_recorded([slot]),
                    self._step(slot.step, slot.origin_on) as run,
                ):
                    rows = SHARED_STEPS[slot.step](self._context, slot, run)
                    self._end(slot, run, rows)

    def _end(self, slot: Slot, run: Run, rows: int) -> None:
        with run.engine.begin() as connection:
            number, plan_id = slot.position, self.plan.backfill_id
            store.end_slot(connection, plan_id, number, "done", run.run_id, rows=rows)
            current = preconditions.data_snapshot(connection, self.settings, self.plan)
            store.set_snapshot(connection, plan_id, current)
        self.callbacks.on_slot(slot)

    def _forecast(self, hindcaster: Hindcaster, batch: Batch) -> None:
        ended: set[int] = set()

        def done(slot: Slot) -> None:
            ended.add(slot.position)
            self.callbacks.on_slot(slot)
            self._yield_to_nightly(hindcaster.invalidate_panels)

        with (
            self._failures_recorded(batch.slots, ended),
            self._step("hindcast", batch.origins[-1]) as run,
        ):
            hindcaster.forecast(batch, run, done)

    @contextmanager
    def _failures_recorded(
        self, slots: Sequence[Slot], ended: Collection[int] = ()
    ) -> Iterator[None]:
        """Marks the unfinished slots as failed on an error; later slots still run."""
        try:
            yield
        except (_StopRequestedError, LostRunError):
            raise
        except Exception as error:  # noqa: BLE001 - recorded, and reported at the end
            unfinished = [slot for slot in slots if slot.position not in ended]
            self._fail(unfinished, describe_error(error))

    def _fail(self, slots: list[Slot], message: str) -> None:
        with self.engine.begin() as connection:
            for slot in slots:
                store.end_slot(
                    connection, self.plan.backfill_id, slot.position, "failed",
                    self.run.run_id, error=message,
                )  # fmt: skip
        for slot in slots:
            self.callbacks.on_slot(slot)

    @contextmanager
    def _step(self, name: str, origin: date | None) -> Iterator[Run]:
        """Records a step as a run beneath the backfill's run."""
        with recorded(self.engine, name, origin, parent=self.run) as run:
            yield run

    def _yield_to_nightly(self, after_wait: Callable[[], None] = lambda: None) -> None:
        """Waits for a nightly run to end; `after_wait` discards what it made stale."""
        self._stop_if_requested()
        if coordination.yield_to_nightly(
            self.engine,
            self.callbacks.on_message,
            lambda: self._requested_action() is not None,
        ):
            after_wait()
            self._stop_if_requested()

    def _stop_if_requested(self) -> None:
        if self._requested_action() is not None:
            raise _StopRequestedError("The backfill was paused or cancelled.")

    def _requested_action(self) -> str | None:
        with self.engine.connect() as connection:
            return store.requested_action(connection, self.plan.backfill_id)

    def _set_state(self, state: str) -> None:
        with self.engine.begin() as connection:
            store.set_state(connection, self.plan.backfill_id, state)

    def _reload(self) -> BackfillPlan:
        with snapshot(self.engine) as connection:
            return read_plan(connection, self.plan.backfill_id)

    def _depots(self) -> list[str] | None:
        with self.engine.connect() as connection:
            return self.plan.request.depot_ids(connection)

    @property
    def _context(self) -> StepContext:
        return StepContext(self.settings, self.now, self._epoch_reporter)

    def _epoch_reporter(self, fit: str) -> Callable[[int, int, float], None]:
        """Reports a fit's epochs; yields to nightly runs and stops between them."""
        report = self.callbacks.on_fit(fit)

        def on_epoch(epoch: int, epochs: int, best: float) -> None:
            report(epoch, epochs, best)
            self._yield_to_nightly()

        return on_epoch
