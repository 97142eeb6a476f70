"""Creates `signal_versions`, numbers known in advance, and admits files of signals.

Revision ID: 0003_signals
Revises: 0002_city_settings
"""

import sqlalchemy as sa
from alembic import op

revision = "0003_signals"
down_revision = "0002_city_settings"

KIND = "ck_files_kind"
KINDS_BEFORE = "'depots','orders','daily','events'"


def upgrade() -> None:
    op.create_table(
        "signal_versions",
        sa.Column("signal", sa.Text(), nullable=False),
        sa.Column("depot_id", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("city", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("day_on", sa.Date(), nullable=False),
        sa.Column("known_from", sa.Date(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column(
            "withdrawn", sa.Boolean(), server_default=sa.text("false"), nullable=False
        ),
        sa.Column("known_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("superseded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "(depot_id = '') <> (city = '')", name=op.f("ck_signal_versions_place")
        ),
        sa.PrimaryKeyConstraint(
            "signal",
            "depot_id",
            "city",
            "day_on",
            "known_from",
            "version",
            name=op.f("pk_signal_versions"),
        ),
    )
    op.create_index(
        "ix_signal_versions_day_on",
        "signal_versions",
        ["day_on"],
        postgresql_where=sa.text("superseded_at IS NULL"),
    )
    _admit(f"{KINDS_BEFORE},'signals'")


def downgrade() -> None:
    op.drop_table("signal_versions")
    op.execute(
        "delete from file_repeats r using files f "
        "where f.kind = 'signals' and f.file_id in (r.file_id, r.repeats_file_id)"
    )
    op.execute("delete from files where kind = 'signals'")
    _admit(KINDS_BEFORE)


def _admit(kinds: str) -> None:
    """Replaces the constraint that lists the kinds of files."""
    op.drop_constraint(op.f(KIND), "files", type_="check")
    op.create_check_constraint(op.f(KIND), "files", f"kind in ({kinds})")
