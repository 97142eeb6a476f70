"""Takes a backup: the database in one moment, and every artefact it names."""

import errno
import os
import shutil
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from psycopg import sql

from forecaster.errors import ArtefactError, BadInputError, NoDataError
from forecaster.inference.artefact_file import recorded_content
from pipelines.backup import clients
from pipelines.backup import manifest as manifests
from pipelines.backup.manifest import ARTEFACTS, DATABASE, MANIFEST, Manifest
from pipelines.database import migrate
from pipelines.runs.ledger import recorded
from pipelines.settings import Settings

NAME = "harbor-*Z"
STAGED = ".harbor-*.making"
STAGED_FOR_S = 86_400.0


KEPT = """
select filename, sha256 from models
where pruned_at is null
order by filename
"""


@dataclass(frozen=True)
class Created:
    """A backup that is whole, and what was taken away for it."""

    folder: Path
    manifest: Manifest
    removed: list[str]

    @property
    def size_bytes(self) -> int:
        """Of all its parts."""
        return sum(part.size_bytes for part in self.manifest.parts)


def create(
    engine: sa.Engine, settings: Settings, folder: Path, now: datetime, keep: int | None
) -> Created:
    """Writes a backup into a folder of its own, made aside and renamed when it is whole.

    Args:
      engine: Whose user may read every table.
      settings: Say where the artefacts are.
      folder: Where backups lie.
      now: Its name and date.
      keep: How many whole backups stay there, this one included; all without.

    Raises:
      NoDataError: the database has no tables.
      BadInputError: the folder cannot be written to.
      DatabaseError: it could not be read, or is ahead of this program.
    """
    found = migrate.status(engine)
    if found.found is None:
        raise NoDataError(
            "The database has no tables, so there is nothing to back up. Make them with "
            "'harbor db upgrade'."
        )
    migrate.refuse_if_ahead(found)
    target = folder / f"harbor-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    _sweep(folder)
    staging = folder / f".{target.name}.{os.getpid()}.making"
    _make(folder, staging)
    try:
        manifest = _fill(staging, engine, settings, found, now)
        manifests.keep_to_disk(staging)
        _publish(staging, target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return Created(target, manifest, _remove_old(folder, keep))


def newest_in(folder: Path) -> Path:
    """A backup, or the newest one in a folder of them."""
    if (folder / MANIFEST).exists():
        return folder
    return max(_whole(folder), default=folder)


def _fill(
    staging: Path,
    engine: sa.Engine,
    settings: Settings,
    status: migrate.SchemaStatus,
    now: datetime,
) -> Manifest:
    with engine.connect() as connection:
        connection.execution_options(isolation_level="REPEATABLE READ")
        snapshot = str(connection.scalar(sa.text("select pg_export_snapshot()")))
        # Begun after the snapshot, which does not show a run that never ends.
        with _in_ledger(engine, status) as run:
            tables = _rows(connection)
            schema = str(connection.scalar(sa.text("select current_schema()")))
            # First: what the snapshot has, a night may prune during a long dump.
            missing = _copy_artefacts(connection, settings.artefacts, staging)
            clients.dump(engine.url, schema, snapshot, staging / DATABASE)
            paths = [path for path in staging.rglob("*") if path.is_file()]
            manifest = Manifest(
                made_at=now,
                program=version("harbor-fleet"),
                postgres=str(connection.scalar(sa.text("show server_version"))),
                revision=str(status.found),
                tables=tables,
                parts=tuple(manifests.part_of(staging, path) for path in sorted(paths)),
                missing=missing,
            )
            manifests.write(staging, manifest)
            if run is not None:
                run.metrics |= {"parts": len(manifest.parts), "missing": len(missing)}
    return manifest


def _in_ledger(
    engine: sa.Engine, status: migrate.SchemaStatus
) -> AbstractContextManager[Any]:
    """Of a database that this program's ledger fits; an older one is backed up too."""
    return recorded(engine, "backup") if status.is_current else nullcontext()


def _rows(connection: sa.Connection) -> dict[str, int]:
    link = connection.connection.driver_connection
    assert link is not None
    counted = sql.SQL("select count(*) from {}")
    names = sorted(sa.inspect(connection).get_table_names())
    each = [link.execute(counted.format(sql.Identifier(name))) for name in names]
    return {name: row.fetchone()[0] for name, row in zip(names, each, strict=True)}


def _copy_artefacts(
    connection: sa.Connection, artefacts: Path, staging: Path
) -> dict[str, str]:
    """Copies every file that a model names and has, and says which are not whole."""
    folder = staging / ARTEFACTS
    folder.mkdir(mode=0o700)
    missing = {}
    for filename, sha256 in connection.execute(sa.text(KEPT)):
        try:
            content = recorded_content(artefacts / filename, sha256)
        except ArtefactError as error:
            missing[filename] = str(error)
            continue
        target = folder / filename
        target.touch(mode=0o600)
        target.write_bytes(content)
    return missing


def _make(folder: Path, staging: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        staging.mkdir(mode=0o700)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise BadInputError(
            f"{folder} cannot be written to: {error.strerror}. Name a folder that this "
            "user may write to."
        ) from None


def _publish(staging: Path, target: Path) -> None:
    try:
        staging.rename(target)
    except OSError as error:
        raise BadInputError(
            f"{target} cannot be made: {error.strerror}. Wait a second, or name another "
            "folder."
        ) from error
    manifests.keep_to_disk(target)


def _whole(folder: Path) -> list[Path]:
    found = folder.glob(NAME) if folder.is_dir() else []
    return sorted(path for path in found if (path / MANIFEST).exists())


def _remove_old(folder: Path, keep: int | None) -> list[str]:
    old = [] if keep is None else _whole(folder)[:-keep]
    for path in old:
        # Without its manifest first: one that is half removed is no backup.
        (path / MANIFEST).unlink()
        shutil.rmtree(path)
    return [path.name for path in old]


def _sweep(folder: Path) -> None:
    """Takes away what backups left that were killed."""
    before = time.time() - STAGED_FOR_S
    for path in folder.glob(STAGED) if folder.is_dir() else ():
        if path.stat().st_mtime < before:
            shutil.rmtree(path, ignore_errors=True)
