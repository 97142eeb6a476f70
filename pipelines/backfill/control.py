"""What may be done to a plan from another terminal: pause, cancel, try again."""

import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines.backfill import coordination
from pipelines.backfill.plan import BackfillPlan, read_plan
from pipelines.database.engine import snapshot
from pipelines.store import backfill as store

ENDED = ("done", "cancelled")


def pause(engine: sa.Engine, backfill_id: int) -> str:
    """Asks whoever applies a plan to stop after the slot at hand; says what happens.

    Raises:
      NoDataError: there is no such plan.
      NothingToDoError: it is not being applied.
    """
    plan = _plan(engine, backfill_id)
    if not is_running(engine, plan):
        # One that died still reads so.
        state = "broken off" if plan.state == "running" else plan.state
        raise NothingToDoError(
            f"Plan {backfill_id} is {state} and not being applied, so there is nothing to "
            "pause. See 'harbor backfill status'."
        )
    _want(engine, backfill_id, "pause")
    return (
        f"Plan {backfill_id} pauses after its current slot; 'harbor backfill resume "
        f"{backfill_id}' continues it."
    )


def cancel(engine: sa.Engine, backfill_id: int) -> str:
    """Ends a plan for good; what it has written stays. Says what happens.

    Raises:
      NoDataError: there is no such plan.
      NothingToDoError: it has ended already.
    """
    plan = _plan(engine, backfill_id)
    if plan.state in ENDED:
        raise NothingToDoError(f"Plan {backfill_id} is {plan.state} already.")
    if is_running(engine, plan):
        _want(engine, backfill_id, "cancel")
        return f"Plan {backfill_id} is cancelled after its current slot."
    with engine.begin() as connection:
        store.set_state(connection, backfill_id, "cancelled")
    done, left = plan.count("done"), plan.count("waiting")
    return (
        f"Plan {backfill_id} is cancelled: {done} slots stay done, {left} are dropped."
    )


def queue_failed(engine: sa.Engine, backfill_id: int) -> int:
    """Lets the failed slots of a plan wait again, and returns how many.

    Raises:
      NoDataError: there is no such plan.
      NothingToDoError: none failed.
    """
    _plan(engine, backfill_id)
    with engine.begin() as connection:
        again = store.wait_again(connection, backfill_id)
    if not again:
        raise NothingToDoError(f"Plan {backfill_id} has no failed slots.")
    return again


def is_running(engine: sa.Engine, plan: BackfillPlan) -> bool:
    """Whether the plan is being applied: one that died still reads `running`."""
    return plan.state == "running" and coordination.is_backfill_running(engine)


def _plan(engine: sa.Engine, backfill_id: int) -> BackfillPlan:
    with snapshot(engine) as connection:
        return read_plan(connection, backfill_id)


def _want(engine: sa.Engine, backfill_id: int, wanted: str) -> None:
    with engine.begin() as connection:
        store.want(connection, backfill_id, wanted)
