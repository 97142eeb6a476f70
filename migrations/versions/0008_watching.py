"""Keep what the watch has told people, how the dashboard answered, and who is alive.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "notices",
        sa.Column("notice_id", sa.BigInteger(), sa.Identity(always=True)),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("made_at", MOMENT, nullable=False, server_default=sa.text("now()")),
        sa.Column("tries", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("next_try_at", MOMENT),
        sa.Column("sent_at", MOMENT),
        sa.Column("error", sa.Text()),
        sa.CheckConstraint(
            "kind in ('failure','recovery','silence')", name=op.f("ck_notices_kind")
        ),
        sa.CheckConstraint(
            "sent_at is null or next_try_at is null", name=op.f("ck_notices_sent")
        ),
        sa.PrimaryKeyConstraint("notice_id", name=op.f("pk_notices")),
        sa.UniqueConstraint("key", "channel", name="uq_notices_key_channel"),
    )
    op.create_table(
        "dashboard_probes",
        sa.Column("probed_at", MOMENT, nullable=False),
        sa.Column("answered", sa.Boolean(), nullable=False),
        sa.Column("seconds", sa.Double()),
        sa.CheckConstraint("seconds >= 0", name=op.f("ck_dashboard_probes_seconds")),
        sa.PrimaryKeyConstraint("probed_at", name=op.f("pk_dashboard_probes")),
    )
    op.create_table(
        "beats",
        sa.Column("process", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("beat_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("process", name=op.f("pk_beats")),
    )


def downgrade() -> None:
    op.drop_table("beats")
    op.drop_table("dashboard_probes")
    op.drop_table("notices")
