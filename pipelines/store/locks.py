"""Session-level advisory locks: one holder in the whole database.

They live as long as the session that took them, so each is on a connection of its own;
a transaction-level one through a pool would keep nobody out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

# The session that holds it, not only that it is held: another may have taken it since.
IS_HELD = """
select exists (
    select from pg_locks
    where locktype = 'advisory' and granted and pid = :pid
      and database = (select oid from pg_database where datname = current_database())
      and classid = 0 and objid = :key and objsubid = 1
)
"""


IS_FREE = """
select not exists (
    select from pg_locks
    where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = current_database())
      and classid = 0 and objid = :key and objsubid = 1
)
"""


@dataclass(frozen=True)
class HeldLock:
    """A lock, and the session of the database that took it."""

    key: int
    pid: int

    def is_held(self, connection: sa.Connection) -> bool:
        """Whether that session still lives and has it; asked on any connection."""
        asked = {"key": self.key, "pid": self.pid}
        return bool(connection.scalar(sa.text(IS_HELD), asked))


def is_free(connection: sa.Connection, key: int) -> bool:
    """Whether no session holds a lock."""
    return bool(connection.scalar(sa.text(IS_FREE), {"key": key}))


@contextmanager
def try_lock(engine: sa.Engine, key: int) -> Iterator[HeldLock | None]:
    """Holds a lock while this is open; None where another session has it.

    Args:
      engine: Gives a connection that is kept for this alone.
      key: Below 2**32.
    """
    with engine.connect() as connection:
        taken = connection.scalar(sa.select(sa.func.pg_try_advisory_lock(key)))
        pid = connection.scalar(sa.select(sa.func.pg_backend_pid()))
        # Not left in a transaction: it would hold back the clean-up of dead rows.
        connection.commit()
        if not taken or pid is None:
            yield None
            return
        try:
            yield HeldLock(key, pid)
        finally:
            _unlock(connection, key)


def _unlock(connection: sa.Connection, key: int) -> None:
    """The pool would hand the session on with its lock."""
    try:
        connection.scalar(sa.select(sa.func.pg_advisory_unlock(key)))
        connection.commit()
    except DBAPIError:
        # The session has died, and the lock with it.
        connection.invalidate()
