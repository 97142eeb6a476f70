"""Adds to overrides which earlier one an undo restores.

A downgrade forgets it: a number that an undo brought back is then the undoer's.

Revision ID: 0006_restores
Revises: 0005_point
"""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0006_restores"
down_revision = "0005_point"

SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    op.add_column("overrides", sa.Column("restores", sa.BigInteger(), nullable=True))
    _run_script("0006_restores.sql")


def downgrade() -> None:
    _run_script("add_overrides.sql")
    op.drop_column("overrides", "restores")


def _run_script(name: str) -> None:
    """Runs a file; `{schema}` is the schema of the tables, `{shown}` the column of the number."""
    bind = op.get_bind()
    schema = bind.scalar(sa.text("select quote_ident(current_schema())"))
    script = (SQL / name).read_text().replace("{schema}", str(schema))
    script = script.replace("{shown}", "point").replace("{newest}", "f.made_at desc")
    bind.connection.driver_connection.execute(script)
