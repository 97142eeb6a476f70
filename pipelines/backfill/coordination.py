"""Locks between backfills and nightly runs: a nightly run has priority."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines.nightly.run import NIGHTLY_LOCK
from pipelines.runs.locks import HeldLock, is_free, try_lock
from pipelines.store.backfill import APPLY_LOCK

POLL_INTERVAL_S = 2.0


def is_nightly_running(engine: sa.Engine) -> bool:
    """Whether a nightly run holds its lock."""
    return _is_held(engine, NIGHTLY_LOCK)


def yield_to_nightly(
    engine: sa.Engine, notify: Callable[[str], None], must_stop: Callable[[], bool]
) -> bool:
    """Waits until no nightly run is in progress; returns whether it had to wait.

    Args:
      engine: Database the pipelines own.
      notify: Called with a message when the wait begins and when it ends.
      must_stop: Whether a pause or cancellation was requested meanwhile.
    """
    if not is_nightly_running(engine):
        return False
    notify(
        "A nightly run is in progress and goes first; the backfill waits until it "
        "has ended."
    )
    while is_nightly_running(engine) and not must_stop():
        time.sleep(POLL_INTERVAL_S)
    notify("The backfill continues.")
    return True


def is_backfill_running(engine: sa.Engine) -> bool:
    """Whether any backfill is being applied."""
    return _is_held(engine, APPLY_LOCK)


@contextmanager
def hold_apply_lock(engine: sa.Engine) -> Iterator[HeldLock]:
    """Holds the lock that only one backfill may hold; it ends with the session.

    Raises:
      NothingToDoError: another one is being applied.
    """
    with try_lock(engine, APPLY_LOCK) as lock:
        if lock is None:
            raise NothingToDoError(
                "Another backfill is being applied. See 'harbor backfill status'."
            )
        yield lock


def _is_held(engine: sa.Engine, key: int) -> bool:
    with engine.connect() as connection:
        return not is_free(connection, key)
