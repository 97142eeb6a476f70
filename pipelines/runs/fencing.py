"""Keeps a run that has lost its place from publishing anything more.

A run loses its place when it is given up because its heartbeat stopped, or when the
session that holds its lock ends. Every transaction of the run asks the database just
before it commits whether the run still has its place, and holds the run's row until the
commit is through: who takes the place over waits for that row first. So what the old run
publishes is whole before the new one begins, or is not published at all.
"""

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from forecaster.errors import DatabaseError
from pipelines.store import runs
from pipelines.store.locks import HeldLock

TAKE_OVER_TIMEOUT_S = 60


class LostRunError(DatabaseError):
    """A run that has lost its place tried to write."""


@dataclass(frozen=True)
class Fence:
    """What must still be true when a transaction of a run commits.

    Args:
      run_ids: Of the run and of the whole it belongs to; all must be running.
      lock: Held for the whole; None for a run that needs none.
    """

    run_ids: tuple[int, ...]
    lock: HeldLock | None

    def check(self, connection: sa.Connection) -> None:
        """Asks the database, in the transaction that is about to commit.

        Raises:
          LostRunError: a run has been given up, or its lock is gone.
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
    """The same engine, with the same connections, that commits only within the fence."""
    # An engine's copy has events of its own.
    copy = engine.execution_options()
    sa.event.listen(copy, "commit", fence.check)
    return copy


def take_over(engine: sa.Engine, step: str, reason: str) -> list[int]:
    """Gives up every run of a step, once what it is publishing now is through.

    Args:
      engine: Database the pipelines own.
      step: Of runs that only the holder of a lock may make; we hold it now.
      reason: Why they are over, in one sentence.

    Returns:
      The runs given up, and the steps beneath them.

    Raises:
      DatabaseError: one of them neither commits nor ends.
    """
    try:
        with engine.begin() as connection:
            wait = sa.text(f"set local lock_timeout = '{TAKE_OVER_TIMEOUT_S}s'")
            connection.execute(wait)
            found = runs.hold_unfinished(connection, step)
            for run_id in found:
                runs.end_lost(connection, run_id, reason)
    except OperationalError:
        raise DatabaseError(
            f"A {step} run that has lost its lock has been writing for more than "
            f"{TAKE_OVER_TIMEOUT_S} seconds and does not end. Find its process with "
            "'harbor runs list --json', and stop it."
        ) from None
    return found
