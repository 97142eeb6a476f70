"""Opens the database: a Postgres of the user's own, or the embedded one."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, OperationalError

from forecaster.errors import DatabaseError
from pipelines import embedded
from pipelines.settings import Settings


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
def open_engine(settings: Settings) -> Iterator[sa.Engine]:
    """An engine on the database; its connections are closed at the end.

    Raises:
      DatabaseError: nothing answers there, or it refuses us.
    """
    with database_url(settings) as url:
        engine = connect(url)
        try:
            yield engine
        finally:
            engine.dispose()


def connect(url: str) -> sa.Engine:
    """An engine that has answered once.

    Raises:
      DatabaseError: nothing answers there, or it refuses us; never with the URL.
    """
    try:
        # libpq takes both spellings, SQLAlchemy one; psycopg 3 is the driver we bring.
        parsed = sa.make_url(url.replace("postgres://", "postgresql://", 1))
        parsed = parsed.set(drivername="postgresql+psycopg")
    except ArgumentError:
        raise DatabaseError(
            "HARBOR_DATABASE_URL is no address of a database. Write it as "
            "postgresql://USER@HOST:5432/DATABASE."
        ) from None
    engine = sa.create_engine(parsed, pool_pre_ping=True)
    try:
        with engine.connect():
            return engine
    except OperationalError as error:
        reason = str(error.orig).strip().splitlines()[-1]
        raise DatabaseError(
            f"The database does not answer: {reason}. Check HARBOR_DATABASE_URL and "
            "that the server runs."
        ) from None
