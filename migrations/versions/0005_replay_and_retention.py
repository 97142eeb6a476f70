"""Rows in quarantine may be replayed; old orders dropped, and their days frozen.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("quarantine", sa.Column("replayed_at", MOMENT, nullable=True))
    op.create_table(
        "frozen_days",
        sa.Column("before_on", sa.Date(), nullable=False),
        sa.Column("orders_dropped", sa.BigInteger(), nullable=False),
        sa.Column("frozen_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("before_on", name=op.f("pk_frozen_days")),
    )
    op.create_table(
        "frozen_depots",
        sa.Column("depot_id", sa.Text(), nullable=False),
        sa.Column("first_on", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("depot_id", name=op.f("pk_frozen_depots")),
    )
    # Of a few pages: orders come in by the day, so old ones lie together.
    op.create_index(
        "ix_orders_ordered_local",
        "orders",
        ["ordered_local"],
        unique=False,
        postgresql_using="brin",
    )


def downgrade() -> None:
    op.drop_index("ix_orders_ordered_local", table_name="orders")
    op.drop_table("frozen_depots")
    op.drop_table("frozen_days")
    op.drop_column("quarantine", "replayed_at")
