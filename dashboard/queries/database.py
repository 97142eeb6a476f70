"""The dashboard's Postgres: read-only, with short timeouts; reads go to a replica if there is one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import pandas as pd
import sqlalchemy as sa
import streamlit as st
from pydantic import SecretStr
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, ProgrammingError

from forecaster.errors import BadInputError, DatabaseError
from pipelines.planning.days_ahead import Shown
from pipelines.planning.tables import select
from pipelines.settings import Settings

STATEMENT_SECONDS = 15
CONNECT_SECONDS = 5
READ_ONLY = (
    "-c default_transaction_read_only=on "
    f"-c statement_timeout={STATEMENT_SECONDS}s -c timezone=UTC"
)
ROLE = "harbor_dashboard"
# Since Postgres 16 a member may be barred from taking the role on.
MAY_SET_ROLE = f"""
select coalesce(
    case when current_setting('server_version_num')::int >= 160000
         then pg_has_role(to_regrole('{ROLE}'), 'set')
         else pg_has_role(to_regrole('{ROLE}'), 'member') end, false)
"""
REFUSED = "HF001"
"""SQLSTATE with which planners' functions refuse a change, in a sentence for people."""
OTHER_RELEASE = (
    "The database lacks a column or function that the dashboard needs, so the two are of "
    "different releases. Bring it up to date with `harbor db upgrade`."
)
MESSAGES = {
    "40001": "The replica broke the statement off, because it had to apply a change of the "
    "main database. Load the page again; if that happens often, set hot_standby_feedback = "
    "on there.",
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
    "The database does not answer. Check that it runs with `harbor doctor`, then load "
    "this page again."
)


# Bytes of the write-ahead log. Not of what has reached the disk: a commit may be ahead of it.
WRITTEN = sa.text("select (pg_current_wal_insert_lsn() - '0/0')::bigint")
REPLAYED = sa.text("select coalesce(pg_last_wal_replay_lsn() - '0/0', 0)::bigint")


class Changes:
    """Whether the replica has what planners have saved here, shared by all sessions."""

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
            "HARBOR_DATABASE_URL is not set, and the dashboard has no other way to know "
            "where the data is. Stop it, and start it with `harbor dashboard`, which "
            "does."
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
    """Counters of the changes made here, shared by all sessions."""
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
    """Switches to the role that may read and add overrides, where the user may.

    The user may be the owner of the tables, as in the embedded database; the dashboard
    needs no more than that role.
    """
    link.autocommit = True
    if link.execute(MAY_SET_ROLE).fetchone()[0]:
        link.execute(f"set role {ROLE}")
    link.autocommit = False


@contextmanager
def snapshot() -> Iterator[sa.Connection]:
    """A connection whose statements all see one snapshot (REPEATABLE READ).

    To the replica, if there is one and it has what planners have saved here.

    Raises:
      DatabaseError: the database is not there, not migrated, or too slow; without its
        address.
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
    """Runs one SELECT in a transaction of its own; as `select` and `snapshot`."""
    with snapshot() as connection:
        return select(connection, statement, numbers, days, **parameters)


def read_table(
    query: Callable[[sa.Connection, Shown], pd.DataFrame], shown: Shown
) -> pd.DataFrame:
    """Runs a query of `pipelines.planning.days_ahead` in a transaction of its own; as `snapshot`."""
    with snapshot() as connection:
        return query(connection, shown)


def read_row(statement: str, **parameters: Any) -> dict[str, Any]:
    """The only row of a SELECT, by column; None where null. Raises as `snapshot`."""
    with snapshot() as connection:
        result = connection.execute(sa.text(statement), parameters)
        return dict(result.mappings().one())


def call(statement: str, **parameters: Any) -> None:
    """Calls one writing function in a transaction of its own.

    On the main database. Every read after it sees what it changed, or was refused for.

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
    """From now on no page reads a replica that lacks what the main database has by now."""
    if replica() is not None:
        with engine().connect() as connection:
            _changes().record(connection)


def database_error(error: DBAPIError) -> DatabaseError | None:
    """Maps a database error to a message with a remedy; None for a programming error."""
    message = MESSAGES.get(_sqlstate(error))
    if message is None and isinstance(error, OperationalError):
        message = NO_ANSWER
    return None if message is None else DatabaseError(message)


def _sqlstate(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlstate", None) or ""
