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
    bind = op.get_bind()
    metadata.create_all(bind)
    # The driver runs a script of several statements; `{schema}` in it is the tables' schema.
    execute = bind.connection.driver_connection.execute
    schema = bind.scalar(sa.text("select quote_ident(current_schema())"))
    for script in SCRIPTS:
        execute((SQL / f"{script}.sql").read_text().replace("{schema}", str(schema)))
    for statement in create_statements():
        execute(statement)
