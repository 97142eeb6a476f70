"""Opens the database: an external Postgres, or the embedded one."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import ArgumentError, OperationalError, ProgrammingError

from forecaster.errors import DatabaseError
from pipelines.database import embedded, schema_version
from pipelines.settings import Settings

log = structlog.get_logger()

RETRY_INTERVAL_S = 2.0
LOGIN_ADVICE = "Check user and password in HARBOR_DATABASE_URL"
REFUSAL_ADVICE = {
    "password": LOGIN_ADVICE,
    "fe_sendauth": LOGIN_ADVICE,
    "no pg_hba": "Admit this host and user in the server's pg_hba.conf",
    "role": "Create the user, let it log in, or name another in HARBOR_DATABASE_URL",
    "database": "Create the database with 'createdb', or name another in "
    "HARBOR_DATABASE_URL",
}
"""Advice, by the beginning of the message with which the server refuses a user."""
UNREACHABLE_ADVICE = "Check HARBOR_DATABASE_URL and that the server runs"


@contextmanager
def database_url(settings: Settings) -> Iterator[str]:
    """Yields the URL of the database; an embedded server runs at least until the block ends.

    Raises:
      DatabaseError: the embedded server does not start.
    """
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    with embedded.running(settings.home) as url:
        yield url


@contextmanager
def open_engine(settings: Settings, timeout_s: float = 0) -> Iterator[sa.Engine]:
    """Yields an engine on the database, and closes its connections at the end.

    Waits up to `timeout_s` seconds for a database that does not answer.

    Raises:
      DatabaseError: no server answers, or it refuses the connection.
    """
    with database_url(settings) as url:
        engine = connect(url, timeout_s)
        try:
            yield engine
        finally:
            engine.dispose()


@contextmanager
def snapshot(engine: sa.Engine, lock: int | None = None) -> Iterator[sa.Connection]:
    """Yields a connection in one REPEATABLE READ, READ ONLY transaction.

    All statements on it see the same state of the database; every reader that needs more than
    one statement uses it. `lock` is the key of an advisory lock that is acquired before the
    snapshot is taken and held until the block ends.
    """
    with engine.connect() as connection:
        if lock is not None:
            connection.execute(sa.select(sa.func.pg_advisory_lock(lock)))
            connection.commit()
        try:
            yield connection.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        finally:
            if lock is not None:
                connection.rollback()
                connection.execute(sa.select(sa.func.pg_advisory_unlock(lock)))
                connection.commit()


def connect(
    url: str, timeout_s: float = 0, wait: Callable[[float], None] = time.sleep
) -> sa.Engine:
    """Returns an engine that has connected once, after waiting up to `timeout_s` for the database.

    Raises:
      DatabaseError: no server answers, or it refuses the connection; the message never
        contains the URL.
    """
    engine = sa.create_engine(parsed_url(url), pool_pre_ping=True)
    schema_version.compare_if_undefined(engine, engine)
    remaining_s = timeout_s
    while True:
        began = time.monotonic()
        try:
            with engine.connect():
                return engine
        except ProgrammingError as error:  # The URL has an option unknown to libpq.
            raise DatabaseError(
                f"HARBOR_DATABASE_URL cannot be used: {str(error.orig).strip()}. Correct it."
            ) from None
        except OperationalError as error:
            message = connection_error_message(error)
        # An attempt may take long: a server may take the connection and say nothing.
        remaining_s -= time.monotonic() - began
        for beginning, advice in REFUSAL_ADVICE.items():
            if message.startswith(beginning):
                raise DatabaseError(
                    f"The database refuses the connection: {message}. {advice}."
                )
        if remaining_s <= 0:
            raise DatabaseError(
                f"The database does not answer: {message}. {UNREACHABLE_ADVICE}."
            )
        log.warning(
            "database_unavailable",
            reason=message,
            waiting_s=round(remaining_s),
        )
        wait(min(RETRY_INTERVAL_S, remaining_s))
        remaining_s -= RETRY_INTERVAL_S


def parsed_url(url: str, setting: str = "HARBOR_DATABASE_URL") -> sa.URL:
    """Parses the URL in a setting, and sets the driver to psycopg 3.

    Raises:
      DatabaseError: the setting is not the URL of a Postgres; the message never contains the URL.
    """
    try:
        # libpq accepts both schemes, SQLAlchemy only postgresql://.
        parsed = sa.make_url(url.replace("postgres://", "postgresql://", 1))
    except (ArgumentError, ValueError):  # ValueError: the port is not a number.
        parsed = None
    if parsed is None or parsed.get_backend_name() != "postgresql":
        raise DatabaseError(
            f"{setting} is not the address of a Postgres. Write it as "
            "postgresql://USER@HOST:5432/DATABASE."
        ) from None
    if "@" in (parsed.host or ""):  # The driver's message would show text before the @.
        raise DatabaseError(
            f"{setting} has an @ in its password or user. Write it as %40."
        )
    return parsed.set(drivername="postgresql+psycopg")


def connection_error_message(error: OperationalError) -> str:
    """Returns libpq's message without its hints and the server's address."""
    lines = [line for line in str(error.orig).splitlines() if not line.startswith("\t")]
    last_line = lines[-1] if lines else str(error.orig)
    return last_line.split("FATAL:")[-1].split(" failed: ")[-1].strip().rstrip(".")
