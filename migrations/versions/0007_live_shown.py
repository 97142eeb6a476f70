"""Planners change the live forecast of a day, not a hindcast of it that was made later.

It is the forecast that the pages show.

Revision ID: 0007_live_shown
Revises: 0006_restores
"""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0007_live_shown"
down_revision = "0006_restores"

ADD_OVERRIDES = Path(__file__).parents[1] / "sql" / "0006_restores.sql"


def upgrade() -> None:
    _shown_is("f.is_live desc, f.made_at desc")


def downgrade() -> None:
    _shown_is("f.made_at desc")


def _shown_is(newest: str) -> None:
    """Makes planners see, of several forecasts of one origin, the first in this order."""
    bind = op.get_bind()
    schema = bind.scalar(sa.text("select quote_ident(current_schema())"))
    script = ADD_OVERRIDES.read_text().replace("{schema}", str(schema))
    script = script.replace("{shown}", "point").replace("{newest}", newest)
    bind.connection.driver_connection.execute(script)
