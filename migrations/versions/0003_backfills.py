"""Keep what a backfill was asked to do, slot by slot, and how far it came.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "backfills",
        sa.Column("backfill_id", sa.BigInteger(), sa.Identity(always=True)),
        sa.Column(
            "created_at", MOMENT, server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("asked", postgresql.JSONB(), nullable=False),
        sa.Column("ledger", postgresql.JSONB(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("wanted", sa.Text()),
        sa.CheckConstraint(
            "state in ('planned','running','paused','cancelled','done','failed')",
            name=op.f("ck_backfills_state"),
        ),
        sa.CheckConstraint(
            "wanted in ('pause','cancel')", name=op.f("ck_backfills_wanted")
        ),
        sa.PrimaryKeyConstraint("backfill_id", name=op.f("pk_backfills")),
    )
    op.create_table(
        "backfill_slots",
        sa.Column("backfill_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("origin_on", sa.Date()),
        sa.Column("is_in", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("model_version", sa.Text()),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("estimate_s", sa.Double()),
        sa.Column("overwrites", sa.BigInteger(), nullable=False),
        sa.Column("newest_made_at", MOMENT),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("run_id", sa.BigInteger()),
        sa.Column("finished_at", MOMENT),
        sa.CheckConstraint(
            "step in ('ingest','demand','train','forecast','score')",
            name=op.f("ck_backfill_slots_step"),
        ),
        sa.CheckConstraint(
            "state in ('left out','waiting','done','failed')",
            name=op.f("ck_backfill_slots_state"),
        ),
        sa.CheckConstraint(
            "is_in = (state <> 'left out')", name=op.f("ck_backfill_slots_is_in")
        ),
        sa.ForeignKeyConstraint(
            ["backfill_id"],
            ["backfills.backfill_id"],
            name=op.f("fk_backfill_slots_backfill_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.run_id"], name=op.f("fk_backfill_slots_run_id")
        ),
        sa.PrimaryKeyConstraint(
            "backfill_id", "number", name=op.f("pk_backfill_slots")
        ),
    )


def downgrade() -> None:
    op.drop_table("backfill_slots")
    op.drop_table("backfills")
