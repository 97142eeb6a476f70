"""Brings a backup back: checked before anything is touched, and whole or not at all."""

import time
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from psycopg import sql

from forecaster.errors import BadInputError, DatabaseError
from forecaster.inference.artefact_file import publish
from pipelines.backup import clients
from pipelines.backup import manifest as manifests
from pipelines.backup.creating import newest_in
from pipelines.backup.manifest import ARTEFACTS, DATABASE, Manifest
from pipelines.database import migrate, roles
from pipelines.runs.ledger import recorded
from pipelines.settings import Settings

OTHERS = """
select count(*) from pg_stat_activity
where datname = current_database() and backend_type = 'client backend'
  and pid <> pg_backend_pid()
"""
LOOKS, LOOK_EVERY_S = 20, 0.1
# Not by cascade: a view of somebody else's must not go without a word.
MAKE_ROOM = """
set client_min_messages = warning;
set lock_timeout = '30s';
do $$
declare
    ours text;
    each record;
begin
    for each in select c.oid::regclass as name from pg_class c
        where c.relnamespace = current_schema()::regnamespace and c.relkind = 'v'
          and pg_has_role(c.relowner, 'usage')
          and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
    loop
        execute format('drop view %s', each.name);
    end loop;
    select string_agg(c.oid::regclass::text, ', ') into ours from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
      and pg_has_role(c.relowner, 'usage')
      and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e');
    if ours is not null then
        execute 'drop table ' || ours;
    end if;
    for each in select p.oid::regprocedure as name from pg_proc p
        where p.pronamespace = current_schema()::regnamespace
          and pg_has_role(p.proowner, 'usage')
          and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    loop
        execute format('drop function %s', each.name);
    end loop;
end $$;
"""
ALL_CAME = """
do $$ begin
    if (select count(*) from {table}) <> {rows} then
        raise exception '% has not the rows that were backed up', {name};
    end if;
end $$;
"""


@dataclass(frozen=True)
class Restored:
    """What is there again."""

    folder: Path
    manifest: Manifest
    artefacts: int


def restore(
    engine: sa.Engine, settings: Settings, folder: Path, *, replace: bool
) -> Restored:
    """Checks a backup, then puts its artefacts and its database in place.

    The database changes in one transaction, which is undone unless every row has come.
    An older backup is brought up to this program's schema afterwards.

    Args:
      engine: Connected as the owner of the tables, and alone.
      settings: Say where artefacts go, and what passwords the roles have.
      folder: A backup, or a folder of them, of which the newest is taken.
      replace: Whether what is there may go.

    Raises:
      BadInputError: the backup is not whole, or of a newer program; or the database is
        not empty.
      DatabaseError: somebody else uses the database, or it failed.
    """
    source = newest_in(folder)
    manifest = manifests.read(source)
    _require_known(migrate.status(engine), manifest, source)
    _require_room(engine, replace)
    copied = _put_artefacts(source, settings.artefacts)
    with engine.connect() as connection:
        schema = str(connection.scalar(sa.text("select current_schema()")))
    # Ours would wait for locks that ours holds.
    engine.dispose()
    clients.load(
        engine.url, schema, source / DATABASE, MAKE_ROOM, _checks(schema, manifest)
    )
    migrate.upgrade(engine)
    roles.ensure_from_settings(engine, settings)
    with recorded(engine, "restore") as run:
        run.metrics |= {"backup": source.name, "artefacts": copied}
    return Restored(source, manifest, copied)


def _require_known(
    status: migrate.SchemaStatus, manifest: Manifest, source: Path
) -> None:
    if manifest.revision not in status.known:
        raise BadInputError(
            f"{source.name} has schema {manifest.revision}, which this older program does "
            f"not know (it knows up to {status.wanted}). Install the release that made "
            f"it ({manifest.program}), or a newer one."
        )


def _require_room(engine: sa.Engine, replace: bool) -> None:
    with engine.connect() as connection:
        there = sa.inspect(connection).get_table_names()
        others = _others(connection)
    if there and not replace:
        raise BadInputError(
            f"The database is not empty: it has {len(there)} tables. Name another with "
            "HARBOR_DATABASE_URL or HARBOR_HOME, or add --replace to lose what is there."
        )
    if others:
        raise DatabaseError(
            f"The database is in use (other sessions: {others}), but nobody else may "
            "use it while it is replaced. Stop the scheduler and the dashboard, then "
            "try again."
        )


def _others(connection: sa.Connection) -> int:
    """Other sessions; one whose client has just gone takes a moment to end."""
    for _ in range(LOOKS):
        found = int(connection.scalar(sa.text(OTHERS)) or 0)
        # One transaction is told the same all the time.
        connection.rollback()
        if not found:
            break
        time.sleep(LOOK_EVERY_S)
    return found


def _put_artefacts(source: Path, artefacts: Path) -> int:
    """Those there of the same name are replaced: what was recorded is in the backup."""
    artefacts.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = sorted((source / ARTEFACTS).iterdir())
    for path in found:
        publish(artefacts / path.name, path.read_bytes())
    manifests.keep_to_disk(artefacts)
    return len(found)


def _checks(schema: str, manifest: Manifest) -> str:
    """SQL that fails unless every table has the rows it had."""
    return "".join(
        sql.SQL(ALL_CAME)
        .format(table=sql.Identifier(schema, name), rows=rows, name=name)
        .as_string(None)
        for name, rows in manifest.tables.items()
    )
