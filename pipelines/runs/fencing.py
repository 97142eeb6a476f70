"""Fencing: prevents a run that lost its lock or was failed as stale from publishing.

A run is lost when it is failed because its heartbeat stopped, or when the session that
holds its lock ends. Just before each commit, the run's transaction checks in the database
that it is still running, and locks the run's row until the commit is through. A run that
takes over waits for that row first, so a transaction of the old run either commits before
the new run begins, or not at all.
"""

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from forecaster.errors import DatabaseError
from pipelines.store import runs
from pipelines.store.locks import HeldLock

TAKE_OVER_TIMEOUT_S = 60


class LostRunError(DatabaseError):
    """A lost run tried to write."""


@dataclass(frozen=True)
class Fence:
    """The conditions that must hold when a transaction of a run commits.

    Args:
      run_ids: Ids of the run and its parent; all must be running.
      lock: The parent's lock; None for a run that needs none.
    """

    run_ids: tuple[int, ...]
    lock: HeldLock | None

    def check(self, connection: sa.Connection) -> None:
        """Checks the conditions in the transaction that is about to commit.

        Raises:
          LostRunError: a run is no longer running, or its lock is gone.
        """
        gone = set(self.run_ids) - runs.hold_running(connection, self.run_ids)
        if gone:
            raise LostRunError(
                f"Run {min(gone)} was declared dead while it was still working, so "
                "nothing more of it is stored. 'harbor runs list' shows which run "
                "took its place; if none did, start it again."
            )
        if self.lock is not None and not self.lock.is_held(connection):
            raise LostRunError(
                f"Run {self.run_ids[0]} lost the database session that held its lock, "
                "so nothing more of it is stored: another run may have begun. Start "
                "it again; finished steps are not repeated."
            )


def fenced(engine: sa.Engine, fence: Fence) -> sa.Engine:
    """A copy of the engine, on the same pool, that checks the fence before each commit."""
    # An engine's copy has events of its own.
    copy = engine.execution_options()
    sa.event.listen(copy, "commit", fence.check)
    return copy


def take_over(engine: sa.Engine, step: str, reason: str) -> list[int]:
    """Fails every unfinished run of a step, after its commit in progress.

    Args:
      engine: Database the pipelines own.
      step: A step that needs a lock, which the caller holds.
      reason: The error message of the failed runs.

    Returns:
      Ids of the failed runs and of their steps.

    Raises:
      DatabaseError: a run neither commits nor ends in time.
    """
    try:
        with engine.begin() as connection:
            wait = sa.text(f"set local lock_timeout = '{TAKE_OVER_TIMEOUT_S}s'")
            connection.execute(wait)
            run_ids = runs.hold_unfinished(connection, step)
            for run_id in run_ids:
                runs.end_lost(connection, run_id, reason)
    except OperationalError:
        raise DatabaseError(
            f"A {step} run that has lost its lock has been writing for more than "
            f"{TAKE_OVER_TIMEOUT_S} seconds and does not end. Find its process with "
            "'harbor runs list --json', and stop it."
        ) from None
    return run_ids
