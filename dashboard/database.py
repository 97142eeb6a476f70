"""The dashboard's one connection to Postgres: read only, and never for long."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import sqlalchemy as sa
import streamlit as st
from sqlalchemy.exc import ArgumentError, OperationalError, ProgrammingError

from forecaster.errors import DatabaseError
from pipelines.settings import Settings

STATEMENT_SECONDS = 15
CONNECT_SECONDS = 5
READ_ONLY = (
    "-c default_transaction_read_only=on "
    f"-c statement_timeout={STATEMENT_SECONDS}s -c timezone=UTC"
)
TOO_LONG, FORBIDDEN = "57014", "42501"
UNKNOWN_TABLE = "42P01"
UNKNOWN = {"42703": "column", "42883": "function"}


@st.cache_resource(max_entries=1, show_spinner=False)
def engine() -> sa.Engine:
    """The engine all sessions share.

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
        return sa.create_engine(
            url.get_secret_value(),
            connect_args={"options": READ_ONLY, "connect_timeout": CONNECT_SECONDS},
            pool_pre_ping=True,
        )
    except ArgumentError:
        raise DatabaseError(
            "HARBOR_DATABASE_URL is not an address that can be read; it looks like "
            "postgresql://USER@HOST/NAME. Mend it and start `harbor dashboard` again."
        ) from None


def read(
    statement: str,
    numbers: Sequence[str] = (),
    days: Sequence[str] = (),
    **asked: Any,
) -> pd.DataFrame:
    """Runs one SELECT in a transaction of its own.

    Args:
      statement: With named binds.
      numbers: Columns that become floats, NaN where null.
      days: Columns that become timestamps at midnight, NaT where null.
      asked: The binds.

    Raises:
      DatabaseError: the database is not there, not migrated, or too slow; without its
        address.
    """
    try:
        with engine().connect() as connection:
            result = connection.execute(sa.text(statement), asked)
            table = pd.DataFrame(result.fetchall(), columns=list(result.keys()))
    except (OperationalError, ProgrammingError) as error:
        sentence = told(error)
        if sentence is None:
            raise
        raise sentence from error
    kinds = dict.fromkeys(numbers, "float64") | dict.fromkeys(days, "datetime64[s]")
    return table.astype(kinds)


def told(error: OperationalError | ProgrammingError) -> DatabaseError | None:
    """What a user can do about it; None for a mistake of ours."""
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
            "The database does not let the dashboard's user read one of its tables; it "
            "must be allowed to read all of them. Grant it `select` on all tables of "
            "the schema."
        )
    if isinstance(error, ProgrammingError):
        return None
    return DatabaseError(
        "The database does not answer. Check that it runs with `harbor doctor`, then "
        "load this page again."
    )
