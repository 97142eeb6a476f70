"""Timestamps in commit order, which separate the data a run has seen from newer data.

A moment noted in a transaction says nothing of when that commits. So whoever brings
something in notes it last, under a lock that is held until the commit; and a run waits for
those before it notes when it began. What it reads has then an earlier mark, and whatever
commits later has a later one.
"""

import sqlalchemy as sa

ARRIVAL_LOCK = 0x4152_5249  # "ARRI"


def arrive(connection: sa.Connection) -> None:
    """Lets no run begin until this transaction ends; others may arrive beside it.

    Args:
      connection: Inside a transaction about to note what it brought, and to commit.
    """
    lock = sa.func.pg_advisory_xact_lock_shared(ARRIVAL_LOCK)
    connection.execute(sa.select(lock))


def await_arrivals(connection: sa.Connection) -> None:
    """Waits for what is about to commit; nothing arrives until this transaction ends.

    Args:
      connection: Inside a short transaction of its own.
    """
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(ARRIVAL_LOCK)))
