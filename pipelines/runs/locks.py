"""Session-level advisory locks, and publishing on the session that holds one.

Two runs must never publish at once, and a run that was replaced must not publish late. So
every transaction in which a run publishes (demand, models, forecasts, scores, the end of the
run itself) is executed on the one session that holds its advisory lock; no fence, heartbeat
or take-over is needed. Postgres keeps the lock exactly as long as the session, and releases
it only after the session's last transaction has committed or been rolled back. A run that gets
the lock sees everything that its last holder stored, and the holder cannot store anything more:
its session is gone, and `own_session` opens no second one.

- **Killed process, `pg_terminate_backend`, Postgres restarted**: the session ends at once.
  The next statement of a run that is still working raises `LostRunError`.
- **Network cut, host without power**: the server's TCP keepalives, set per session, end it
  within two minutes. Until then the lock counts as held, and no other run begins.
- **Hours of training between two statements**: the keepalives also keep firewalls and NAT
  from forgetting the connection, and `idle_session_timeout` is switched off.
- **A dead run marked as running** has no session: `fail_dead_runs` sees that its lock is free.
- **Poolers**: PgBouncer must pool by session (`pool_mode = session`), because in its other
  modes statements of one client reach different sessions.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import SQLAlchemyError

from forecaster.errors import DatabaseError
from pipelines.database import schema_version

IS_FREE = """
select not exists (
    select from pg_locks
    where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = current_database())
      and classid = 0 and objid = :key and objsubid = 1
)
"""
# Settings unknown to the server are skipped; on a Unix socket keepalives have no effect.
SESSION_SETTINGS = """
select set_config(name, value, false)
from (values ('idle_session_timeout', '0'), ('tcp_keepalives_idle', '60'),
             ('tcp_keepalives_interval', '15'), ('tcp_keepalives_count', '4'))
     as wanted (name, value)
join pg_settings using (name)
"""


class LostRunError(DatabaseError):
    """A run has lost the session that it publishes on."""

    def __init__(self) -> None:
        super().__init__(
            "The run lost the database session that held its lock, so nothing more of it is "
            "stored: another run may have begun. Start it again; finished steps are "
            "not repeated."
        )


def is_free(connection: sa.Connection, key: int) -> bool:
    """Whether no session holds a lock."""
    return bool(connection.scalar(sa.text(IS_FREE), {"key": key}))


def is_held(engine: sa.Engine, key: int) -> bool:
    """Whether any session holds a lock."""
    with engine.connect() as connection:
        return not is_free(connection, key)


@contextmanager
def try_lock(engine: sa.Engine, key: int) -> Iterator[sa.Engine | None]:
    """Tries to acquire an advisory lock (key below 2**32), and holds it until the block ends.

    Yields an engine on the session that holds it (`own_session`); None if another session does.
    """
    with own_session(engine) as session:
        with session.begin() as connection:
            is_acquired = connection.scalar(
                sa.select(sa.func.pg_try_advisory_lock(key))
            )
        yield session if is_acquired else None


@contextmanager
def own_session(engine: sa.Engine) -> Iterator[sa.Engine]:
    """Yields an engine with one connection, which is never replaced by another.

    Its locks are released when the block ends. It allows one transaction at a time: a second
    one in the same thread would wait for the first.

    Raises:
      LostRunError: from any use of the yielded engine once the session has ended.
    """
    opened = engine.raw_connection()
    opened.detach()
    connections = iter([opened.dbapi_connection])

    def connect_once() -> Any:
        for connection in connections:
            return connection
        raise LostRunError

    session = sa.create_engine(
        engine.url, creator=connect_once, pool_size=1, max_overflow=0
    )
    sa.event.listen(session, "handle_error", _raise_if_lost)
    schema_version.compare_if_undefined(session, engine)
    try:
        with session.begin() as connection:
            connection.execute(sa.text(SESSION_SETTINGS))
        yield session
    finally:
        # Released here, because the server notices the end of the session a little later.
        with suppress(SQLAlchemyError, LostRunError), session.begin() as connection:
            connection.execute(sa.select(sa.func.pg_advisory_unlock_all()))
        session.dispose()


def _raise_if_lost(context: ExceptionContext) -> None:
    if context.is_disconnect:
        raise LostRunError from context.original_exception
