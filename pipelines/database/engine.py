"""Opens the database: a Postgres of the user's own, or the embedded one."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import ArgumentError, OperationalError

from forecaster.errors import DatabaseError
from pipelines.database import embedded
from pipelines.settings import Settings

log = structlog.get_logger()

PAUSE_S = 2.0
REFUSALS = {
    "password": "Check user and password in HARBOR_DATABASE_URL",
    "pg_hba.conf": "Let this host and user in, in the server's pg_hba.conf",
    "role ": "Create the user, or name another in HARBOR_DATABASE_URL",
    "database ": "Create the database with 'createdb', or name another in "
    "HARBOR_DATABASE_URL",
}
"""What the server says of who it does not let in, and what to do; it is not waited for."""
NO_ANSWER = "Check HARBOR_DATABASE_URL and that the server runs"


@contextmanager
def database_url(settings: Settings) -> Iterator[str]:
    """The URL of the database, which answers as long as this is open.

    Raises:
      DatabaseError: the embedded server does not start.
    """
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    with embedded.running(settings.home) as url:
        yield url


@contextmanager
def open_engine(settings: Settings, patience_s: float = 0) -> Iterator[sa.Engine]:
    """An engine on the database; its connections are closed at the end.

    Args:
      settings: Say where it is.
      patience_s: How long a database that does not answer is waited for.

    Raises:
      DatabaseError: nothing answers there, or it refuses us.
    """
    with database_url(settings) as url:
        engine = connect(url, patience_s)
        try:
            yield engine
        finally:
            engine.dispose()


@contextmanager
def snapshot(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One REPEATABLE READ, READ ONLY transaction: all its statements see one moment.

    Whatever reads more than one statement reads in it; what commits between two of them
    is seen by neither.

    Args:
      engine: Database the pipelines own.
    """
    with engine.connect() as connection:
        yield connection.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )


def connect(
    url: str, patience_s: float = 0, wait: Callable[[float], None] = time.sleep
) -> sa.Engine:
    """An engine that has answered once.

    Args:
      url: Of the database.
      patience_s: How long one that does not answer is waited for.
      wait: Lets so many seconds pass.

    Raises:
      DatabaseError: nothing answers there, or it refuses us; never with the URL.
    """
    engine = sa.create_engine(parsed_url(url), pool_pre_ping=True)
    left_s = patience_s
    while True:
        try:
            with engine.connect():
                return engine
        except OperationalError as error:
            said = reason(error)
            refusal = _refusal(said)
        if refusal is not None:
            raise DatabaseError(
                f"The database refuses the connection: {said}. {refusal}."
            )
        if left_s <= 0:
            raise DatabaseError(f"The database does not answer: {said}. {NO_ANSWER}.")
        log.warning("database_away", reason=said, waiting_s=round(left_s))
        wait(min(PAUSE_S, left_s))
        left_s -= PAUSE_S


def parsed_url(url: str) -> sa.URL:
    """An address as SQLAlchemy has it, with the driver that we bring.

    Raises:
      DatabaseError: it is no address of a Postgres; never with the address.
    """
    try:
        # libpq takes both spellings, SQLAlchemy one; psycopg 3 is the driver we bring.
        parsed = sa.make_url(url.replace("postgres://", "postgresql://", 1))
    except ArgumentError:
        parsed = None
    if parsed is None or parsed.get_backend_name() != "postgresql":
        raise DatabaseError(
            "HARBOR_DATABASE_URL is no address of a Postgres. Write it as "
            "postgresql://USER@HOST:5432/DATABASE."
        ) from None
    return parsed.set(drivername="postgresql+psycopg")


def reason(error: OperationalError) -> str:
    """What libpq says, without what it guesses and where it asked."""
    said = [line for line in str(error.orig).splitlines() if not line.startswith("\t")]
    last = said[-1] if said else str(error.orig)
    return last.split("FATAL:")[-1].split(" failed: ")[-1].strip().rstrip(".")


def _refusal(reason: str) -> str | None:
    """What to do where the server answers, and does not let us in."""
    denied = reason.startswith(
        ("password", "no pg_hba", "role", "database", "fe_sendauth")
    )
    if not denied:
        return None
    return next(advice for said, advice in REFUSALS.items() if said in reason)
