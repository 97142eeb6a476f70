"""An engine that only reads, and never for long: for what looks on while others work."""

import sqlalchemy as sa

from pipelines.database.engine import parsed_url
from pipelines.database.roles import READER, step_down

CONNECT_SECONDS = 5
STATEMENT_SECONDS = 10
READ_ONLY = (
    "-c default_transaction_read_only=on -c timezone=UTC -c lock_timeout=1s "
    f"-c statement_timeout={STATEMENT_SECONDS}s"
)


def reader(url: str) -> sa.Engine:
    """An engine that has not connected yet; whether anything answers shows later.

    Args:
      url: Of the database, as whatever user.

    Raises:
      DatabaseError: it is no address of a Postgres.
    """
    engine = sa.create_engine(
        parsed_url(url),
        pool_size=1,
        max_overflow=0,
        pool_pre_ping=True,
        connect_args={"options": READ_ONLY, "connect_timeout": CONNECT_SECONDS},
    )
    step_down(engine, READER)
    return engine
