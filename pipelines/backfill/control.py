"""Locks of a backfill, and its control from another process: pause, cancel, retry."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines.backfill.plan import BackfillPlan, read_plan
from pipelines.nightly.run import NIGHTLY_LOCK
from pipelines.runs.locks import is_held, try_lock
from pipelines.store import backfill as store

POLL_INTERVAL_S = 2.0


@contextmanager
def hold_apply_lock(engine: sa.Engine) -> Iterator[sa.Engine]:
    """Holds the lock that only one backfill may hold; it ends with the session.

    Raises:
      NothingToDoError: another one is being applied.
    """
    with try_lock(engine, store.APPLY_LOCK) as lock:
        if lock is None:
            raise NothingToDoError(
                "Another backfill is being applied. See 'harbor backfill status'."
            )
        yield lock


def yield_to_nightly(
    engine: sa.Engine, notify: Callable[[str], None], must_stop: Callable[[], bool]
) -> bool:
    """Waits until no nightly run is in progress or the backfill must stop.

    Returns:
      Whether it had to wait; `notify` is called with a message when the wait begins and ends.
    """
    if not is_held(engine, NIGHTLY_LOCK):
        return False
    notify(
        "A nightly run is in progress and goes first; the backfill waits until it "
        "has ended."
    )
    while is_held(engine, NIGHTLY_LOCK) and not must_stop():
        time.sleep(POLL_INTERVAL_S)
    notify("The backfill continues.")
    return True


def is_running(engine: sa.Engine, plan: BackfillPlan) -> bool:
    """Whether the plan is being applied; after a crash its state is still `running`."""
    return plan.state == "running" and is_held(engine, store.APPLY_LOCK)


def live_state(engine: sa.Engine, plan: BackfillPlan) -> str:
    """State of a plan; `interrupted` if it is stored as running and its process is gone."""
    if plan.state == "running" and not is_running(engine, plan):
        return "interrupted"
    return plan.state


def pause(engine: sa.Engine, backfill_id: int) -> str:
    """Requests a pause after the current slot, and returns a message.

    Raises:
      NoDataError: there is no such plan.
      NothingToDoError: the plan is not being applied.
    """
    plan = read_plan(engine, backfill_id)
    if not is_running(engine, plan):
        state = live_state(engine, plan)
        raise NothingToDoError(
            f"Plan {backfill_id} is {state} and not being applied, so there is nothing to "
            "pause. See 'harbor backfill status'."
        )
    with engine.begin() as connection:
        store.update_plan(connection, backfill_id, requested_action="pause")
    return (
        f"Plan {backfill_id} pauses after its current task; a training stops at once. "
        f"'harbor backfill resume {backfill_id}' continues it, unless data or models have "
        "changed by then."
    )


def cancel(engine: sa.Engine, backfill_id: int) -> str:
    """Cancels a plan, keeping what it has written, and returns a message.

    Raises:
      NoDataError: there is no such plan.
      NothingToDoError: the plan has ended already.
    """
    plan = read_plan(engine, backfill_id)
    if plan.state in ("done", "cancelled"):
        raise NothingToDoError(f"Plan {backfill_id} is {plan.state} already.")
    if is_running(engine, plan):
        with engine.begin() as connection:
            store.update_plan(connection, backfill_id, requested_action="cancel")
        return (
            f"Plan {backfill_id} is cancelled after its current task; a training stops "
            "at once."
        )
    with engine.begin() as connection:
        store.set_state(connection, backfill_id, "cancelled")
    n_done, n_left = plan.count("done"), plan.count("waiting")
    return f"Plan {backfill_id} is cancelled: {n_done} tasks stay done, {n_left} are dropped."


def queue_failed(engine: sa.Engine, backfill_id: int) -> int:
    """Sets the failed slots of a plan to waiting, and returns their number.

    Raises:
      NoDataError: there is no such plan.
      NothingToDoError: none failed.
    """
    read_plan(engine, backfill_id)
    with engine.begin() as connection:
        n_slots = store.requeue_failed(connection, backfill_id)
    if not n_slots:
        raise NothingToDoError(f"Plan {backfill_id} has no failed tasks.")
    return n_slots
