"""The dashboard's Postgres engine: read-only, with short timeouts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import pandas as pd
import sqlalchemy as sa
import streamlit as st
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    OperationalError,
    ProgrammingError,
)

from forecaster.errors import BadInputError, DatabaseError
from pipelines.settings import Settings

STATEMENT_SECONDS = 15
CONNECT_SECONDS = 5
READ_ONLY = (
    "-c default_transaction_read_only=on "
    f"-c statement_timeout={STATEMENT_SECONDS}s -c timezone=UTC"
)
ROLE = "harbor_dashboard"
# Since Postgres 16 a member may be barred from taking the role on.
MAY_BE_ROLE = f"""
select coalesce(
    case when current_setting('server_version_num')::int >= 160000
         then pg_has_role(to_regrole('{ROLE}'), 'set')
         else pg_has_role(to_regrole('{ROLE}'), 'member') end, false)
"""
REFUSED = "HF001"
TOO_LONG, FORBIDDEN = "57014", "42501"
UNKNOWN_TABLE = "42P01"
UNKNOWN = {"42703": "column", "42883": "function"}


@st.cache_resource(max_entries=1, show_spinner=False)
def engine() -> sa.Engine:
    """The engine shared by all sessions.

    Raises:
      DatabaseError: no database was named, or its address cannot be read.
    """
    url = Settings.load().database_url
    if url is None:
        raise DatabaseError(
            "HARBOR_DATABASE_URL is not set, and the dashboard has no other way to know "
            "where the data is. Stop it, and start it with `harbor dashboard`, which "
            "does."
        )
    try:
        created = sa.create_engine(
            url.get_secret_value(),
            connect_args={"options": READ_ONLY, "connect_timeout": CONNECT_SECONDS},
            pool_pre_ping=True,
        )
    except ArgumentError:
        raise DatabaseError(
            "HARBOR_DATABASE_URL is not an address that can be read; it looks like "
            "postgresql://USER@HOST/NAME. Mend it and start `harbor dashboard` again."
        ) from None
    sa.event.listen(created, "connect", _give_up_rights)
    return created


def _give_up_rights(link: Any, _: Any) -> None:
    """Switches to the role that may read and add overrides, where the user may.

    Whoever starts the dashboard may be the owner of the tables, as in the embedded
    database; the dashboard itself needs no more than that role.
    """
    link.autocommit = True
    if link.execute(MAY_BE_ROLE).fetchone()[0]:
        link.execute(f"set role {ROLE}")
    link.autocommit = False


class Reader(Protocol):
    """Runs one SELECT, as `read` does."""

    def __call__(
        self,
        statement: str,
        numbers: Sequence[str] = (),
        days: Sequence[str] = (),
        **parameters: Any,
    ) -> pd.DataFrame: ...


@contextmanager
def snapshot() -> Iterator[Reader]:
    """A REPEATABLE READ transaction; all reads in it see one snapshot.

    Raises:
      DatabaseError: as `read`.
    """
    try:
        with engine().connect() as connection:
            link = connection.execution_options(isolation_level="REPEATABLE READ")
            yield partial(_read, link)
    except (OperationalError, ProgrammingError) as error:
        mapped = database_error(error)
        if mapped is None:
            raise
        raise mapped from error


def read(
    statement: str,
    numbers: Sequence[str] = (),
    days: Sequence[str] = (),
    **parameters: Any,
) -> pd.DataFrame:
    """Runs one SELECT in a transaction of its own.

    Args:
      statement: With named binds.
      numbers: Columns that become floats, NaN where null.
      days: Columns that become timestamps at midnight, NaT where null.
      parameters: The binds.

    Raises:
      DatabaseError: the database is not there, not migrated, or too slow; without its
        address.
    """
    with snapshot() as reader:
        return reader(statement, numbers, days, **parameters)


def _read(
    connection: sa.Connection,
    statement: str,
    numbers: Sequence[str] = (),
    days: Sequence[str] = (),
    **parameters: Any,
) -> pd.DataFrame:
    result = connection.execute(sa.text(statement), parameters)
    table = pd.DataFrame(result.fetchall(), columns=list(result.keys()))
    kinds = dict.fromkeys(numbers, "float64") | dict.fromkeys(days, "datetime64[s]")
    return table.astype(kinds)


def call(statement: str, parameter_sets: Sequence[dict[str, Any]]) -> None:
    """Calls a writing function once per parameter set, in one transaction.

    Args:
      statement: With named binds.
      parameter_sets: The binds of each call.

    Raises:
      BadInputError: the function refused it, with its sentence.
      DatabaseError: as `read`.
    """
    try:
        with engine().begin() as connection:
            connection.execute(sa.text("set transaction read write"))
            for parameters in parameter_sets:
                connection.execute(sa.text(statement), parameters)
    except DBAPIError as error:
        code = getattr(error.orig, "sqlstate", None)
        if code == REFUSED:
            message = getattr(error.orig, "diag").message_primary  # noqa: B009 - untyped
            raise BadInputError(str(message)) from error
        if not isinstance(error, OperationalError | ProgrammingError):
            raise
        raise database_error(error) or error from error


def database_error(error: OperationalError | ProgrammingError) -> DatabaseError | None:
    """Maps a database error to a message with a remedy; None for a programming error."""
    code = getattr(error.orig, "sqlstate", None)
    if code == TOO_LONG:
        return DatabaseError(
            f"The database needed more than {STATEMENT_SECONDS} seconds for an answer. "
            "Wait until the nightly run is over and load the page again."
        )
    if code == UNKNOWN_TABLE:
        return DatabaseError(
            "The database has no tables of this program yet. Make them with "
            "`harbor db upgrade`."
        )
    if code in UNKNOWN:
        return DatabaseError(
            f"The database lacks a {UNKNOWN[code]} that the dashboard asks for, so the "
            "two are of different releases. Bring it up to date with "
            "`harbor db upgrade`."
        )
    if code == FORBIDDEN:
        return DatabaseError(
            "The database does not let the dashboard's user do what the page needs; it "
            "must read all tables and may add overrides. Run `harbor db upgrade` as the "
            f"tables' owner, and grant the user the role {ROLE}."
        )
    if isinstance(error, ProgrammingError):
        return None
    return DatabaseError(
        "The database does not answer. Check that it runs with `harbor doctor`, then "
        "load this page again."
    )
