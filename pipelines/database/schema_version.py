"""Compares the schema of a database with this release's.

Every command makes this comparison, so this module avoids Alembic, which is slow to import.
"""

from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from psycopg.errors import UndefinedColumn, UndefinedFunction, UndefinedTable
from sqlalchemy.engine import ExceptionContext

from forecaster.errors import DatabaseError
from pipelines.settings import CHECKOUT

MIGRATIONS = Path(CHECKOUT, "migrations", "versions")
VERSION_TABLE = "alembic_version"
OTHER_TABLES_ADVICE = (
    "If an unreleased version made them, set HARBOR_HOME to a new folder, or "
    "HARBOR_DATABASE_URL to an empty database, and load your files again with 'harbor "
    "ingest', those in inbox/done too; planners' changes stay in the old database"
)
"""Needed because, before release 0.1.0, tables change without a migration or a new revision."""
VERSION = sa.text(f"select version_num from {VERSION_TABLE}")  # noqa: S608 - a constant


@dataclass(frozen=True)
class SchemaStatus:
    """The schema revision of a database, and the one that this release needs."""

    revision: str | None
    head: str
    # All revisions of this release.
    known: frozenset[str]

    @property
    def is_current(self) -> bool:
        """Whether the database needs no migration."""
        return self.revision == self.head

    @property
    def is_behind(self) -> bool:
        """Whether this release can upgrade the database."""
        return not self.is_current and (
            self.revision is None or self.revision in self.known
        )


def status(engine: sa.Engine) -> SchemaStatus:
    """Returns the schema revisions of the database and of this release.

    Migration files are named after their revisions, and the names sort in order.
    """
    known = sorted(path.stem for path in MIGRATIONS.glob("[0-9]*.py"))
    with engine.connect() as connection:
        migrated = sa.inspect(connection).has_table(VERSION_TABLE)
        revision = connection.scalar(VERSION) if migrated else None
    return SchemaStatus(revision, known[-1], frozenset(known))


def compare_if_undefined(listened: sa.Engine, compared: sa.Engine) -> None:
    """Compares the tables with this release's when a statement names an undefined object.

    If they differ, a DatabaseError with the differences replaces the statement's error.
    Errors of `listened` are handled; `compared` is an engine with a free connection.
    """

    def compare(context: ExceptionContext) -> None:
        undefined = (UndefinedColumn, UndefinedFunction, UndefinedTable)
        is_undefined = isinstance(context.original_exception, undefined)
        if is_undefined and status(compared).is_current:
            from pipelines.database import migrate

            migrate.check(compared)

    sa.event.listen(listened, "handle_error", compare)


def require_current(engine: sa.Engine) -> None:
    """Refuses a database whose schema is not this release's.

    Raises:
      DatabaseError: the schema is behind, ahead, or missing.
    """
    schema = status(engine)
    if schema.is_current:
        return
    if schema.is_behind:
        raise DatabaseError(
            f"The database is at schema {schema.revision or 'none'}, and this program needs "
            f"{schema.head}. Run 'harbor db upgrade'."
        )
    refuse_if_ahead(schema)


def refuse_if_ahead(schema: SchemaStatus) -> None:
    """Refuses a database of a newer release.

    Raises:
      DatabaseError: no migration of this release starts from its schema.
    """
    if schema.is_current or schema.is_behind:
        return
    raise DatabaseError(
        f"The database is at schema {schema.revision}, which this older program does not "
        f"know (it knows up to {schema.head}). Install the newer release."
    )
