"""Runs the migrations: one at a time, never waiting long for a lock.

Alembic takes no lock of its own, so a session-level advisory lock keeps two upgrades
apart; each migration is one transaction with lock and statement timeouts.
"""

import sqlalchemy as sa
from alembic import context

from pipelines.schema import metadata

ADVISORY_LOCK = 0x4841_5242  # "HARB"


def run_migrations(engine: sa.Engine) -> None:
    """Brings the database to the revision asked for."""
    with engine.connect() as connection:
        # Waits as long as another upgrade takes; the timeouts are for what follows.
        connection.execute(sa.select(sa.func.pg_advisory_lock(ADVISORY_LOCK)))
        connection.execute(sa.text("set lock_timeout = '10s'"))
        connection.execute(sa.text("set statement_timeout = '30min'"))
        connection.commit()
        context.configure(
            connection=connection,
            target_metadata=metadata,
            transaction_per_migration=True,
            compare_type=True,
            compare_server_default=False,
        )
        try:
            with context.begin_transaction():
                context.run_migrations()
        finally:
            # Ends the session: the pool must not hand on its lock and timeouts.
            connection.invalidate()


def configured_engine() -> sa.Engine:
    """The engine handed over by `pipelines.database.migrate`, or one from the settings."""
    engine = context.config.attributes.get("engine")
    if engine is not None:
        return engine
    from pipelines.database.engine import connect
    from pipelines.settings import Settings

    url = Settings.load().database_url
    if url is None:
        raise SystemExit("Set HARBOR_DATABASE_URL, or use 'harbor db upgrade'.")
    return connect(url.get_secret_value())


run_migrations(configured_engine())
