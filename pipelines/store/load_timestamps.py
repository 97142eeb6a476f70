"""Timestamps in commit order, which separate the data a run has seen from newer data.

A timestamp taken in a transaction does not show when the transaction commits. So a load
takes its timestamp last, under a lock that is held until the commit, and a run waits for
these locks before it takes its own timestamp. The data that the run then reads has earlier
timestamps, and data committed afterwards has later ones.
"""

import sqlalchemy as sa

ARRIVAL_LOCK = 0x4152_5249  # "ARRI"


def block_new_runs(connection: sa.Connection) -> None:
    """Blocks new runs until this transaction ends; other loads may commit at the same time.

    Called in a transaction that is about to take its timestamp and to commit.
    """
    lock = sa.func.pg_advisory_xact_lock_shared(ARRIVAL_LOCK)
    connection.execute(sa.select(lock))


def await_committing_loads(connection: sa.Connection) -> None:
    """Waits for loads about to commit; no other load commits until this transaction ends."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(ARRIVAL_LOCK)))
