"""Creates `scores_due`, and triggers that mark what must be scored.

Revision ID: 0004_scores_due
Revises: 0003_signals
"""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0004_scores_due"
down_revision = "0003_signals"

SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    op.create_table(
        "scores_due",
        sa.Column("due_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("origin_on", sa.Date(), nullable=True),
        sa.Column("target_on", sa.Date(), nullable=True),
        sa.PrimaryKeyConstraint("due_id", name=op.f("pk_scores_due")),
    )
    _run_script("0004_scores_due.sql")


def downgrade() -> None:
    _run_script("0004_down.sql")


def _run_script(name: str) -> None:
    """Runs a file of several statements."""
    op.get_bind().connection.driver_connection.execute((SQL / name).read_text())
