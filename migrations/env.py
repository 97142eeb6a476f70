"""Runs the migrations: one upgrade at a time, with timeouts for locks and statements.

Alembic takes no lock of its own, so a session-level advisory lock keeps two upgrades
apart; each migration is one transaction with lock and statement timeouts.
"""

import sqlalchemy as sa
from alembic import context

from pipelines.schema import metadata

ADVISORY_LOCK = 0x4841_5242  # "HARB"


def run_migrations(engine: sa.Engine) -> None:
    """Migrates the database to the requested revision."""
    with engine.connect() as connection:
        # Waits until any other upgrade has ended; the timeouts apply only to later statements.
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
    """The engine that `pipelines.database.migrate` passes; Alembic's own command is refused."""
    engine = context.config.attributes.get("engine")
    if engine is None:
        raise SystemExit("Use 'harbor db upgrade', which opens the database.")
    return engine


run_migrations(configured_engine())
