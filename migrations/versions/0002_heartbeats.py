"""Say which process a run is, and keep its log lines beside it.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("runs", sa.Column("host", sa.Text(), nullable=True))
    op.add_column("runs", sa.Column("pid", sa.BigInteger(), nullable=True))
    op.create_table(
        "run_lines",
        sa.Column("line_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("fields", postgresql.JSONB(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["runs.run_id"],
            name="fk_run_lines_run_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("line_id", name="pk_run_lines"),
    )
    op.create_index("ix_run_lines_run_id", "run_lines", ["run_id"], unique=False)


def downgrade() -> None:
    op.drop_table("run_lines")
    op.drop_column("runs", "pid")
    op.drop_column("runs", "host")
