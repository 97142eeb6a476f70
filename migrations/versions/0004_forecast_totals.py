"""Keep what the fleet and each city are forecast, with their own intervals.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "forecast_totals",
        sa.Column("city", sa.Text(), nullable=False),
        sa.Column("origin_on", sa.Date(), nullable=False),
        sa.Column("target_on", sa.Date(), nullable=False),
        sa.Column("model_version", sa.Text(), nullable=False),
        sa.Column("p10", sa.Double(), nullable=False),
        sa.Column("p50", sa.Double(), nullable=False),
        sa.Column("p90", sa.Double(), nullable=False),
        sa.CheckConstraint(
            "target_on > origin_on", name=op.f("ck_forecast_totals_future")
        ),
        sa.CheckConstraint(
            "0 <= p10 and p10 <= p50 and p50 <= p90",
            name=op.f("ck_forecast_totals_quantiles"),
        ),
        sa.ForeignKeyConstraint(
            ["model_version"],
            ["models.version"],
            name=op.f("fk_forecast_totals_model_version_models"),
        ),
        sa.PrimaryKeyConstraint(
            "city",
            "origin_on",
            "target_on",
            "model_version",
            name=op.f("pk_forecast_totals"),
        ),
    )


def downgrade() -> None:
    op.drop_table("forecast_totals")
