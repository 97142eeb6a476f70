"""Applies a plan slot by slot: may be paused, cancelled, resumed, and tried again."""

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
from pipelines.runs.fencing import LostRunError
from pipelines.runs.ledger import Run, recorded
from pipelines.settings import Settings
from pipelines.store import backfill as store
from pipelines.training.train import FitReporter


@dataclass(frozen=True)
class ProgressCallbacks:
    """What is told while a plan is applied."""

    # A slot that has ended.
    slot: Callable[[Slot], None] = lambda _: None
    # A sentence for people.
    say: Callable[[str], None] = lambda _: None
    # Given the name of a fit, what to tell of its progress.
    fits: FitReporter = lambda _: lambda *_: None


class _StopWantedError(NothingToDoError):
    """Somebody wants the backfill to stop here; no failure."""


def apply_plan(
    engine: sa.Engine,
    settings: Settings,
    backfill_id: int,
    now: datetime,
    callbacks: ProgressCallbacks = ProgressCallbacks(),
) -> BackfillPlan:
    """Does every slot that waits, and returns the plan as it stands then.

    Each slot is written whole or not at all, so that a plan may be interrupted anywhere
    and resumed. An interrupt pauses it and is raised again.

    Args:
      engine: Database the pipelines own.
      settings: For the folders and the zone.
      backfill_id: Of a plan that waits, was paused, broke off, or had failures.
      now: Time of the run.
      callbacks: Called as slots end and trainings progress.

    Raises:
      NoDataError: there is no such plan.
      BadInputError: the ledger has moved since it was made, or it was cancelled.
      NothingToDoError: nothing in it waits, or another backfill is being applied.
      LostRunError: it lost its lock; the slots written before stay.
    """
    with coordination.hold_apply_lock(engine) as lock:
        with snapshot(engine) as connection:
            plan = read_plan(connection, backfill_id)
        _require_work(plan)
        preconditions.require_unchanged(engine, settings, plan)
        with recorded(engine, "backfill", plan.request.last, lock=lock) as whole:
            stop = _Applying(
                engine, settings, plan, now, callbacks, whole
            ).run_through()
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
        told = f"Plan {plan.backfill_id} has no slots left to do."
        if plan.failed:
            again = f"'harbor backfill retry {plan.backfill_id} --failed'"
            told += f" {len(plan.failed)} failed; {again} tries them again."
        raise NothingToDoError(told)


@dataclass
class _Applying:
    """A plan at work."""

    engine: sa.Engine
    settings: Settings
    plan: BackfillPlan
    now: datetime
    callbacks: ProgressCallbacks
    run: Run

    def run_through(self) -> BaseException | None:
        """Every waiting slot; ends as done, failed, paused or cancelled.

        Returns:
          What stopped it from outside: that is a pause, and no failure of the run.
        """
        stop: BaseException | None = None
        self._set_state("running")
        try:
            self._do_all()
        except _StopWantedError:
            self._set_state("cancelled" if self._wanted() == "cancel" else "paused")
        except (KeyboardInterrupt, SystemExit) as outside:
            self._set_state("paused")
            stop = outside
        else:
            self._set_state("failed" if self._as_it_stands().failed else "done")
        plan = self._as_it_stands()
        self.run.metrics |= {
            "plan": plan.backfill_id,
            "state": plan.state,
            **{state: plan.count(state) for state in ("done", "failed", "waiting")},
        }
        return stop

    def _do_all(self) -> None:
        self._each("ingest", "demand", "train")
        hindcaster = Hindcaster(
            self.engine, self.settings, self.plan.backfill_id, self._depots(), self.now
        )
        waiting = [slot for slot in self.plan.waiting if slot.step == "forecast"]
        for batch in hindcaster.batches(waiting):
            self._make_way(hindcaster.forget)
            self._forecast(hindcaster, batch)
        self._each("score")

    def _each(self, *steps: str) -> None:
        """Slots that are done once for all origins; each may move the ledger."""
        for slot in self.plan.waiting:
            if slot.step in steps:
                self._make_way()
                with self._judged([slot]), self._step(slot.step, slot.origin_on) as run:
                    rows = SHARED_STEPS[slot.step](self._whole, slot, run)
                    self._end(slot, run, rows)

    def _end(self, slot: Slot, run: Run, rows: int) -> None:
        with run.engine.begin() as connection:
            number, plan_id = slot.number, self.plan.backfill_id
            store.end_slot(connection, plan_id, number, "done", run.run_id, rows=rows)
            data_snapshot = preconditions.data_snapshot(
                connection, self.settings, self.plan
            )
            store.set_ledger(connection, plan_id, data_snapshot)
        self.callbacks.slot(slot)

    def _forecast(self, hindcaster: Hindcaster, batch: Batch) -> None:
        ended: set[int] = set()

        def done(slot: Slot) -> None:
            ended.add(slot.number)
            self.callbacks.slot(slot)
            self._make_way(hindcaster.forget)

        with (
            self._judged(batch.slots, ended),
            self._step("hindcast", batch.origins[-1]) as run,
        ):
            hindcaster.forecast(batch, run, done)

    @contextmanager
    def _judged(
        self, slots: Sequence[Slot], ended: Collection[int] = ()
    ) -> Iterator[None]:
        """What is not done when something goes wrong has failed; the rest goes on."""
        try:
            yield
        except (_StopWantedError, LostRunError):
            raise
        except Exception as error:  # noqa: BLE001 - written down, and told at the end
            left = [slot for slot in slots if slot.number not in ended]
            self._fail(left, describe_error(error))

    def _fail(self, slots: list[Slot], told: str) -> None:
        with self.engine.begin() as connection:
            for slot in slots:
                store.end_slot(
                    connection, self.plan.backfill_id, slot.number, "failed",
                    self.run.run_id, error=told,
                )  # fmt: skip
        for slot in slots:
            self.callbacks.slot(slot)

    @contextmanager
    def _step(self, name: str, origin: date | None) -> Iterator[Run]:
        """A row in the ledger beneath the backfill's own."""
        with recorded(self.engine, name, origin, parent=self.run) as run:
            yield run

    def _make_way(self, afterwards: Callable[[], None] = lambda: None) -> None:
        """Lets a nightly run go first; what it changed is read anew afterwards."""
        self._stop_if_wanted()
        if coordination.yield_to_nightly(
            self.engine, self.callbacks.say, lambda: self._wanted() is not None
        ):
            afterwards()
            self._stop_if_wanted()

    def _stop_if_wanted(self) -> None:
        if self._wanted() is not None:
            raise _StopWantedError("The backfill was paused or cancelled.")

    def _wanted(self) -> str | None:
        with self.engine.connect() as connection:
            return store.wanted(connection, self.plan.backfill_id)

    def _set_state(self, state: str) -> None:
        with self.engine.begin() as connection:
            store.set_state(connection, self.plan.backfill_id, state)

    def _as_it_stands(self) -> BackfillPlan:
        with snapshot(self.engine) as connection:
            return read_plan(connection, self.plan.backfill_id)

    def _depots(self) -> list[str] | None:
        with self.engine.connect() as connection:
            return self.plan.request.depot_ids(connection)

    @property
    def _whole(self) -> StepContext:
        return StepContext(self.settings, self.now, self._fits)

    def _fits(self, fit: str) -> Callable[[int, int, float], None]:
        """A training's progress, at which it makes way and may be stopped."""
        tell = self.callbacks.fits(fit)

        def told(epoch: int, epochs: int, best: float) -> None:
            tell(epoch, epochs, best)
            self._make_way()

        return told
