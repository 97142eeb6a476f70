"""Controls a plan from another process: pause, cancel, retry."""

import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines.backfill import coordination
from pipelines.backfill.plan import BackfillPlan, read_plan
from pipelines.database.engine import snapshot
from pipelines.store import backfill as store

TERMINAL_STATES = ("done", "cancelled")


def pause(engine: sa.Engine, backfill_id: int) -> str:
    """Requests a pause after the current slot, and returns a message.

    Raises:
      NoDataError: there is no such plan.
      NothingToDoError: the plan is not being applied.
    """
    plan = _plan(engine, backfill_id)
    if not is_running(engine, plan):
        # A plan whose process died is still stored as running.
        state = "broken off" if plan.state == "running" else plan.state
        raise NothingToDoError(
            f"Plan {backfill_id} is {state} and not being applied, so there is nothing to "
            "pause. See 'harbor backfill status'."
        )
    _request_action(engine, backfill_id, "pause")
    return (
        f"Plan {backfill_id} pauses after its current slot; 'harbor backfill resume "
        f"{backfill_id}' continues it."
    )


def cancel(engine: sa.Engine, backfill_id: int) -> str:
    """Cancels a plan, keeping what it has written, and returns a message.

    Raises:
      NoDataError: there is no such plan.
      NothingToDoError: the plan has ended already.
    """
    plan = _plan(engine, backfill_id)
    if plan.state in TERMINAL_STATES:
        raise NothingToDoError(f"Plan {backfill_id} is {plan.state} already.")
    if is_running(engine, plan):
        _request_action(engine, backfill_id, "cancel")
        return f"Plan {backfill_id} is cancelled after its current slot."
    with engine.begin() as connection:
        store.set_state(connection, backfill_id, "cancelled")
    done, left = plan.count("done"), plan.count("waiting")
    return (
        f"Plan {backfill_id} is cancelled: {done} slots stay done, {left} are dropped."
    )


def queue_failed(engine: sa.Engine, backfill_id: int) -> int:
    """Sets the failed slots of a plan to waiting, and returns their number.

    Raises:
      NoDataError: there is no such plan.
      NothingToDoError: none failed.
    """
    _plan(engine, backfill_id)
    with engine.begin() as connection:
        n_slots = store.wait_again(connection, backfill_id)
    if not n_slots:
        raise NothingToDoError(f"Plan {backfill_id} has no failed slots.")
    return n_slots


def is_running(engine: sa.Engine, plan: BackfillPlan) -> bool:
    """Whether the plan is being applied; after a crash its state is still `running`."""
    return plan.state == "running" and coordination.is_backfill_running(engine)


def _plan(engine: sa.Engine, backfill_id: int) -> BackfillPlan:
    with snapshot(engine) as connection:
        return read_plan(connection, backfill_id)


def _request_action(engine: sa.Engine, backfill_id: int, action: str) -> None:
    with engine.begin() as connection:
        store.want(connection, backfill_id, action)
