"""The nightly run goes first: a backfill stands aside while one is at work."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines.nightly.run import NIGHTLY_LOCK
from pipelines.runs.fencing import take_over
from pipelines.store.backfill import APPLY_LOCK
from pipelines.store.locks import HeldLock, is_free, try_lock

LOOK_EVERY_S = 2.0
TAKEN_OVER = (
    "It was killed, or lost the database session that held its lock, and another "
    "backfill has begun. The slots it finished are complete; 'harbor backfill "
    "resume' continues from there."
)


def is_nightly_running(engine: sa.Engine) -> bool:
    """Whether a nightly run holds its lock now."""
    return _is_held(engine, NIGHTLY_LOCK)


def yield_to_nightly(
    engine: sa.Engine, tell: Callable[[str], None], must_stop: Callable[[], bool]
) -> bool:
    """Waits as long as a nightly run is at work, and says whether there was one.

    Args:
      engine: Database the pipelines own.
      tell: Told once that it waits, and once that it goes on.
      must_stop: Whether somebody wants the backfill to stop meanwhile.
    """
    if not is_nightly_running(engine):
        return False
    tell(
        "A nightly run is in progress and goes first; the backfill waits until it "
        "has ended."
    )
    while is_nightly_running(engine) and not must_stop():
        time.sleep(LOOK_EVERY_S)
    tell("The backfill continues.")
    return True


def is_backfill_running(engine: sa.Engine) -> bool:
    """Whether any backfill is being applied."""
    return _is_held(engine, APPLY_LOCK)


@contextmanager
def hold_apply_lock(engine: sa.Engine) -> Iterator[HeldLock]:
    """Keeps other backfills out; a process that dies lets go.

    Raises:
      NothingToDoError: another one is being applied.
    """
    with try_lock(engine, APPLY_LOCK) as lock:
        if lock is None:
            raise NothingToDoError(
                "Another backfill is being applied. See 'harbor backfill status'."
            )
        take_over(engine, "backfill", TAKEN_OVER)
        yield lock


def _is_held(engine: sa.Engine, key: int) -> bool:
    with engine.connect() as connection:
        return not is_free(connection, key)
