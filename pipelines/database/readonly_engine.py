"""A read-only engine with short timeouts, for monitoring."""

import sqlalchemy as sa

from pipelines.database.engine import parsed_url
from pipelines.database.roles import READER, set_role_on_connect

CONNECT_SECONDS = 5
STATEMENT_SECONDS = 10
READ_ONLY = (
    "-c default_transaction_read_only=on -c timezone=UTC -c lock_timeout=1s "
    f"-c statement_timeout={STATEMENT_SECONDS}s"
)


def create_readonly_engine(url: str) -> sa.Engine:
    """Returns a read-only engine, without connecting yet.

    Raises:
      DatabaseError: it is not the URL of a Postgres.
    """
    engine = sa.create_engine(
        parsed_url(url),
        pool_size=1,
        max_overflow=0,
        pool_pre_ping=True,
        connect_args={"options": READ_ONLY, "connect_timeout": CONNECT_SECONDS},
    )
    set_role_on_connect(engine, READER)
    return engine
