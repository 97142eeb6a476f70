"""Adds the point to forecasts and scores: what is shown, scored and overridden.

Until now that was the median.

Revision ID: 0005_point
Revises: 0004_scores_due
"""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0005_point"
down_revision = "0004_scores_due"

SQL = Path(__file__).parents[1] / "sql"
LARGEST_ERRORS = "ix_scores_target_on_abs_error"


def upgrade() -> None:
    for table in ("forecasts", "scores"):
        op.add_column(table, sa.Column("point", sa.Double(), nullable=True))
        # Rewrites the table once; an update would leave a dead copy of each row, and mark
        # every forecast to be scored again.
        op.alter_column(
            table, "point", type_=sa.Double(), nullable=False, postgresql_using="p50"
        )
    op.create_check_constraint(
        op.f("ck_forecasts_point"), "forecasts", "p10 <= point and point <= p90"
    )
    op.alter_column("overrides", "p50", new_column_name="point")
    _shown_is("point")


def downgrade() -> None:
    op.alter_column("overrides", "point", new_column_name="p50")
    _shown_is("p50")
    op.drop_column("forecasts", "point")
    op.drop_column("scores", "point")


def _shown_is(column: str) -> None:
    """Makes a column the number that planners see, and that errors are ranked by."""
    op.drop_index(LARGEST_ERRORS, "scores")
    error = sa.literal_column(f"abs({column} - actual)")
    op.create_index(LARGEST_ERRORS, "scores", ["target_on", "is_live", error])
    bind = op.get_bind()
    schema = bind.scalar(sa.text("select quote_ident(current_schema())"))
    script = (SQL / "add_overrides.sql").read_text()
    script = script.replace("{schema}", str(schema)).replace("{shown}", column)
    bind.connection.driver_connection.execute(script)
