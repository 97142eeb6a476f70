"""Checks a backup, then restores its artefacts, and its database in one transaction."""

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa
from psycopg import sql

from forecaster.errors import BadInputError, DatabaseError
from forecaster.inference.artefact_file import publish
from pipelines.backup import archive, postgres
from pipelines.backup.archive import DATABASE, MANIFEST, Manifest
from pipelines.database import migrate, roles, schema_version
from pipelines.runs.ledger import recorded
from pipelines.settings import Settings

OTHER_SESSIONS = """
select count(*) from pg_stat_activity
where datname = current_database() and usesysid is not null
  and coalesce(backend_type, 'client backend') = 'client backend'
  and pid <> pg_backend_pid()
"""
SESSION_CHECKS, CHECK_INTERVAL_S = 20, 0.1
# Without cascade: views that somebody else built on these tables must not disappear.
DROP_ALL = r"""
set client_min_messages = warning;
set lock_timeout = '30s';
select format('drop %s %s', kind, string_agg(name, ', ')) from (
    select oid, oid::regclass::text, relowner, relnamespace, case relkind
           when 'v' then 'view' when 'm' then 'materialized view' else 'table' end
    from pg_class where relkind in ('v', 'm', 'r', 'p')
    union all
    select oid, oid::regprocedure::text, proowner, pronamespace, 'function' from pg_proc
) as object(oid, name, owner, namespace, kind)
where namespace = quote_ident(current_schema())::regnamespace and pg_has_role(owner, 'usage')
  and not exists (select from pg_depend d where d.objid = object.oid and d.deptype = 'e')
group by kind order by array_position('{view,materialized view,table,function}', kind)
\gexec
"""
CHECK_ROWS = """
do $$ begin
    if (select count(*) from {table}) <> {rows} then
        raise exception '% does not have the rows that were backed up', {name};
    end if;
end $$;
"""


@dataclass(frozen=True)
class RestoredBackup:
    """A backup that was restored, and the number of its artefacts."""

    folder: Path
    manifest: Manifest
    artefacts: int


def restore(
    engine: sa.Engine, settings: Settings, folder: Path, now: datetime, *, replace: bool
) -> RestoredBackup:
    """Checks a backup, or the newest in a folder of backups, then restores artefacts and database.

    The database changes in one transaction, which is rolled back if a row count is wrong. An older
    backup is then upgraded to this release's schema. `engine` must connect as the owner of the
    tables, and no other session may be open.

    Raises:
      BadInputError: the backup is damaged or of a newer release, or the database is not
        empty and `replace` is false.
      DatabaseError: the database is in use, or the restore failed.
    """
    if not (folder / MANIFEST).exists():
        folder = [folder, *archive.complete_backups(folder, now)][-1]
    manifest = archive.read_manifest(folder)
    schema = schema_version.status(engine)
    if manifest.revision not in schema.known:
        raise BadInputError(
            f"{folder.name} has schema {manifest.revision}, which this older program does "
            f"not know (it knows up to {schema.head}). Install the release that made "
            f"it ({manifest.program}), or a newer one."
        )
    _require_unused(engine, replace)
    artefacts = sorted((folder / name) for name in manifest.files if name != DATABASE)
    for path in artefacts:
        publish(settings.artefacts / path.name, path.read_bytes())
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with engine.connect() as connection:
        name = str(connection.scalar(sa.text("select current_schema()")))
    # Open connections and psql would wait for each other's locks.
    engine.dispose()
    postgres.load(
        engine.url,
        name,
        folder / DATABASE,
        before=DROP_ALL,
        after=_row_checks(name, manifest),
        scratch=settings.home,
    )
    migrate.upgrade(engine)
    roles.ensure_from_settings(engine, settings)
    with recorded(engine, "restore") as run:
        run.metrics |= {"backup": folder.name, "model_files": len(artefacts)}
    return RestoredBackup(folder, manifest, len(artefacts))


def _require_unused(engine: sa.Engine, replace: bool) -> None:
    with engine.connect() as connection:
        tables = sa.inspect(connection).get_table_names()
        if tables and not replace:
            raise BadInputError(
                f"The database is not empty: it has {len(tables)} tables. Name another "
                "with HARBOR_DATABASE_URL or HARBOR_HOME, or add --replace to delete "
                "what is there."
            )
        # A session whose client has just gone takes a moment to end.
        for _ in range(SESSION_CHECKS):
            # Within one transaction, pg_stat_activity would return the same rows again.
            connection.rollback()
            others = connection.scalar(sa.text(OTHER_SESSIONS))
            if not others:
                return
            time.sleep(CHECK_INTERVAL_S)
    raise DatabaseError(
        f"The database is in use (other sessions: {others}), but nobody else may use it "
        "while it is replaced. Stop the scheduler and the dashboard, then try again."
    )


def _row_checks(schema: str, manifest: Manifest) -> str:
    """SQL that fails unless every table has as many rows as the manifest records."""
    return "".join(
        sql.SQL(CHECK_ROWS)
        .format(table=sql.Identifier(schema, name), rows=rows, name=name)
        .as_string(None)
        for name, rows in manifest.tables.items()
    )
