"""Whether the replica already has what planners have saved in this dashboard."""

from threading import Lock

import sqlalchemy as sa

# Bytes of the write-ahead log. Not of what has reached the disk: a commit may be ahead of it.
WRITTEN = sa.text("select (pg_current_wal_insert_lsn() - '0/0')::bigint")
REPLAYED = sa.text("select coalesce(pg_last_wal_replay_lsn() - '0/0', 0)::bigint")


class Changes:
    """Position of the newest change in the main database's log, shared by all sessions."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._written = self._replayed = 0

    def record(self, main: sa.Connection) -> None:
        """Takes the position of the main database, after a change has been committed."""
        position = main.scalar(WRITTEN)
        with self._lock:
            self._written = max(self._written, position)

    def are_replayed(self, replica: sa.Engine) -> bool:
        """Whether the replica has all changes; asks it only while one may be missing."""
        if self._written > self._replayed:
            with replica.connect() as connection:
                self._replayed = connection.scalar(REPLAYED)
        return self._replayed >= self._written
