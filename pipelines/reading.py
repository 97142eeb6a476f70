"""An engine that only reads, and never for long: for what looks on while others work."""

from typing import Any

import sqlalchemy as sa

from pipelines.database import parsed_url

ROLE = "harbor_dashboard"
CONNECT_SECONDS = 5
STATEMENT_SECONDS = 10
READ_ONLY = (
    "-c default_transaction_read_only=on -c timezone=UTC -c lock_timeout=1s "
    f"-c statement_timeout={STATEMENT_SECONDS}s"
)
# Since Postgres 16 a member may be barred from taking the role on.
MAY_BE_ROLE = f"""
select coalesce(
    case when current_setting('server_version_num')::int >= 160000
         then pg_has_role(to_regrole('{ROLE}'), 'set')
         else pg_has_role(to_regrole('{ROLE}'), 'member') end, false)
"""


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
    sa.event.listen(engine, "connect", _give_up_rights)
    return engine


def _give_up_rights(link: Any, _: Any) -> None:
    link.autocommit = True
    if link.execute(MAY_BE_ROLE).fetchone()[0]:
        link.execute(f"set role {ROLE}")
    link.autocommit = False
