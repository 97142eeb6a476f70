"""The dashboard's Postgres: read-only, with short timeouts; reads go to a replica if there is one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import pandas as pd
import sqlalchemy as sa
import streamlit as st
import structlog
from pydantic import SecretStr
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, ProgrammingError

from forecaster.errors import BadInputError, DatabaseError
from pipelines.planning.days_ahead import Shown
from pipelines.planning.tables import select
from pipelines.settings import Settings

log = structlog.get_logger()
STATEMENT_SECONDS = 15
CONNECT_SECONDS = 5
READ_ONLY = (
    "-c default_transaction_read_only=on "
    f"-c statement_timeout={STATEMENT_SECONDS}s -c timezone=UTC"
)
ROLE = "harbor_dashboard"
# Since Postgres 16 a member of a role may lack the right to SET ROLE to it.
MAY_SET_ROLE = f"""
select coalesce(
    case when current_setting('server_version_num')::int >= 160000
         then pg_has_role(to_regrole('{ROLE}'), 'set')
         else pg_has_role(to_regrole('{ROLE}'), 'member') end, false)
"""
REFUSED = "HF001"
"""SQLSTATE of a change that planners' functions refuse; the message is shown to planners."""
OTHER_RELEASE = (
    "The database lacks a column or function that the dashboard needs, so the two are of "
    "different releases. Bring it up to date with `harbor db upgrade`."
)
MESSAGES = {
    "40001": "The replica cancelled the statement to apply a change of the main database. "
    "Load the page again; if that happens often, turn on hot_standby_feedback there.",
    "57014": f"The database needed more than {STATEMENT_SECONDS} seconds for an answer. "
    "Wait until the nightly run is over and load the page again.",
    "42P01": "The database has no tables of this program yet. Make them with "
    "`harbor db upgrade`.",
    "42703": OTHER_RELEASE,
    "42883": OTHER_RELEASE,
    "42501": "The database does not let the dashboard's user do what the page needs; it "
    "must read all tables, and call the functions that save what planners change. Run `harbor db upgrade` as the tables' "
    f"owner, and grant the user the role {ROLE}.",
}
"""Remedies of database errors, by SQLSTATE."""
NO_ANSWER = (
    "The numbers cannot be read just now. Try again in a minute; if it stays, tell whoever runs "
    "Harbor Fleet."
)


# Positions in the write-ahead log, in bytes; the insert position, as a commit may not be flushed.
WRITTEN = sa.text("select (pg_current_wal_insert_lsn() - '0/0')::bigint")
REPLAYED = sa.text("select coalesce(pg_last_wal_replay_lsn() - '0/0', 0)::bigint")


class Changes:
    """Tracks whether the replica has the changes saved here; shared by all sessions."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._written = self._replayed = 0

    def record(self, main: sa.Connection) -> None:
        """Records the main database's log position, after a change has been committed."""
        position = main.scalar(WRITTEN)
        with self._lock:
            self._written = max(self._written, position)

    def are_replayed(self, replica: sa.Engine) -> bool:
        """Whether the replica has all changes; queries it only while one may be missing."""
        if self._written > self._replayed:
            with replica.connect() as connection:
                self._replayed = connection.scalar(REPLAYED)
        return self._replayed >= self._written


@st.cache_resource(ttl=60, max_entries=1, show_spinner=False)
def settings() -> Settings:
    """The settings, read again every minute: `harbor.toml` may change.

    Raises:
      ConfigError: as `Settings.load`.
    """
    return Settings.load()


@st.cache_resource(max_entries=1, show_spinner=False)
def engine() -> sa.Engine:
    """The engine of the main database, shared by all sessions.

    Raises:
      DatabaseError: no database was named, or its address cannot be read.
    """
    url = settings().database_url
    if url is None:
        raise DatabaseError(
            "HARBOR_DATABASE_URL is not set, so the dashboard cannot find the data. Stop it, and "
            "start it with `harbor dashboard`, which sets it."
        )
    return _read_only_engine("HARBOR_DATABASE_URL", url)


@st.cache_resource(max_entries=1, show_spinner=False)
def replica() -> sa.Engine | None:
    """The engine of the replica, shared by all sessions; None without one.

    Raises:
      DatabaseError: its address cannot be read.
    """
    url = settings().replica_url
    return None if url is None else _read_only_engine("HARBOR_REPLICA_URL", url)


@st.cache_resource(max_entries=1, show_spinner=False)
def _changes() -> Changes:
    """Log positions of the changes made here, shared by all sessions."""
    return Changes()


def _reading_engine() -> sa.Engine:
    """The replica once it has every change of this dashboard, else the main database."""
    second = replica()
    if second is None or not _changes().are_replayed(second):
        return engine()
    return second


def _read_only_engine(setting: str, url: SecretStr) -> sa.Engine:
    try:
        created = sa.create_engine(
            url.get_secret_value(),
            connect_args={"options": READ_ONLY, "connect_timeout": CONNECT_SECONDS},
            pool_pre_ping=True,
        )
    except ArgumentError:
        raise DatabaseError(
            f"{setting} is not an address that can be read; it looks like "
            "postgresql://USER@HOST/NAME. Correct it and start `harbor dashboard` again."
        ) from None
    sa.event.listen(created, "connect", _set_role)
    return created


def _set_role(link: Any, _: Any) -> None:
    """Switches, if permitted, to the dashboard's role, which may read, and save planners' changes.

    The user may own the tables, as in the embedded database; the role drops those rights.
    """
    link.autocommit = True
    if link.execute(MAY_SET_ROLE).fetchone()[0]:
        link.execute(f"set role {ROLE}")
    link.autocommit = False


@contextmanager
def snapshot() -> Iterator[sa.Connection]:
    """A connection whose statements all see one snapshot (REPEATABLE READ).

    It is to the replica if that has every change saved here, else to the main database.

    Raises:
      DatabaseError: the database is down, not migrated or too slow; the message has no address.
    """
    try:
        with _reading_engine().connect() as connection:
            yield connection.execution_options(isolation_level="REPEATABLE READ")
    except (OperationalError, ProgrammingError) as error:
        raise database_error(error) or error from error


def read(
    statement: str,
    numbers: Sequence[str] = (),
    days: Sequence[str] = (),
    **parameters: Any,
) -> pd.DataFrame:
    """Runs one SELECT in a transaction of its own; arguments as `select`, raises as `snapshot`."""
    with snapshot() as connection:
        return select(connection, statement, numbers, days, **parameters)


def read_table(
    query: Callable[[sa.Connection, Shown], pd.DataFrame], shown: Shown
) -> pd.DataFrame:
    """Runs a query of `planning.days_ahead` in a transaction of its own; raises as `snapshot`."""
    with snapshot() as connection:
        return query(connection, shown)


def read_row(statement: str, **parameters: Any) -> dict[str, Any]:
    """The only row of a SELECT, by column; None where null. Raises as `snapshot`."""
    with snapshot() as connection:
        result = connection.execute(sa.text(statement), parameters)
        return dict(result.mappings().one())


def call(statement: str, **parameters: Any) -> None:
    """Calls one writing function on the main database, in a transaction of its own.

    Every later read sees the change, or the newer data because of which it was refused.

    Raises:
      BadInputError: the function refused a change; with its message.
      DatabaseError: as `snapshot`.
    """
    try:
        with engine().begin() as connection:
            connection.execute(sa.text("set transaction read write"))
            connection.execute(sa.text(statement), parameters)
        _show_changes()
    except DBAPIError as error:
        if _sqlstate(error) == REFUSED:
            _show_changes()
            message = getattr(error.orig, "diag").message_primary  # noqa: B009 - untyped
            raise BadInputError(str(message)) from error
        raise database_error(error) or error from error


def _show_changes() -> None:
    """Keeps all pages off the replica until it has replayed the main database's current state."""
    if replica() is not None:
        with engine().connect() as connection:
            _changes().record(connection)


def database_error(error: DBAPIError) -> DatabaseError | None:
    """Maps a database error to a message with a remedy; None for a programming error."""
    message = MESSAGES.get(_sqlstate(error))
    if message is None and isinstance(error, OperationalError):
        log.error(
            "database_unavailable", reason=str(error.orig), advice="harbor doctor"
        )
        message = NO_ANSWER
    return None if message is None else DatabaseError(message)


def _sqlstate(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlstate", None) or ""
