"""Creates the tables of `pipelines.schema`, views and planners' functions.

No release has these tables yet, so only the schema lists their columns. The first release
will list them here, too; from then on, each change gets a migration of its own.

Revision ID: 0001_initial
Revises: none
"""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

from pipelines.schema import metadata
from pipelines.schema.reader_views import create_statements

revision = "0001_initial"
down_revision = None

SQL = Path(__file__).parents[1] / "sql"
SCRIPTS = ("events", "publications", "planners")


def upgrade() -> None:
    metadata.create_all(op.get_bind())
    for script in SCRIPTS:
        _run_script(f"{script}.sql")
    for statement in create_statements():
        op.get_bind().connection.driver_connection.execute(statement)


def downgrade() -> None:
    _run_script("drop.sql")
    metadata.drop_all(op.get_bind())


def _run_script(name: str) -> None:
    """Runs a file of several statements; `{schema}` in it is replaced by the tables' schema."""
    bind = op.get_bind()
    schema = bind.scalar(sa.text("select quote_ident(current_schema())"))
    script = (SQL / name).read_text().replace("{schema}", str(schema))
    bind.connection.driver_connection.execute(script)
