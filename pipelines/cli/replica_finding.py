"""Finding of `harbor doctor` on the replica that the pages read."""

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from forecaster.errors import DatabaseError
from pipelines.cli.doctor import Finding
from pipelines.database.engine import connection_error_message, parsed_url
from pipelines.settings import Settings

CHECK, SETTING = "replica", "HARBOR_REPLICA_URL"
CONNECT_SECONDS = 5
SERVER = "select system_identifier from pg_control_system()"
# Positions in bytes of the write-ahead log; null on a server that is not a replica.
MAIN = f"select ({SERVER}), (pg_current_wal_insert_lsn() - '0/0')::bigint"
REPLICA = f"""
select ({SERVER}),
       case when pg_is_in_recovery()
            then (pg_last_wal_replay_lsn() - '0/0')::bigint end
"""


def check_replica(engine: sa.Engine, settings: Settings) -> list[Finding]:
    """Checks that the replica answers and follows this database; reports how far behind it is.

    Returns:
      One finding; an empty list if no replica is configured.
    """
    if settings.replica_url is None:
        return []
    try:
        url = parsed_url(settings.replica_url.get_secret_value(), SETTING)
        server, replayed = _row(url)
    except DatabaseError as error:
        return [Finding(CHECK, False, str(error))]
    except OperationalError as error:
        reason = connection_error_message(error)
        message = f"does not answer: {reason}; the pages read from it. Start it, or unset {SETTING}"
        return [Finding(CHECK, False, message)]
    with engine.connect() as connection:
        main_server, written = connection.execute(sa.text(MAIN)).one()
    if replayed is None or server != main_server:
        message = (
            f"{SETTING} names a server that follows another database or none. Name a streaming "
            "replica of this one, or unset it"
        )
        return [Finding(CHECK, False, message)]
    behind = max(written - replayed, 0) / 2**20
    return [Finding(CHECK, True, f"answers, {behind:,.1f} MiB of changes behind")]


def _row(url: sa.URL) -> tuple[int, int | None]:
    engine = sa.create_engine(url, connect_args={"connect_timeout": CONNECT_SECONDS})
    try:
        with engine.connect() as connection:
            server, replayed = connection.execute(sa.text(REPLICA)).one()
        return server, replayed
    finally:
        engine.dispose()
