"""Creates a backup: a snapshot of the database, and every artefact it names."""

import os
import shutil
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import sqlalchemy as sa

from forecaster.errors import ArtefactError, NoDataError
from forecaster.inference.artefact import file_sha256
from forecaster.inference.artefact_file import publish, recorded_content
from pipelines.backup import archive, postgres
from pipelines.backup.archive import ARTEFACTS, DATABASE, Manifest
from pipelines.database import schema_version
from pipelines.pruning import older_than
from pipelines.runs.ledger import recorded
from pipelines.settings import Settings

STAGED_FOR = timedelta(days=1)
"""Age at which an unfinished backup is removed: by then, its process must have been killed."""
KEPT_ARTEFACTS = """
select filename, sha256 from models where pruned_at is null order by filename
"""


@dataclass(frozen=True)
class CreatedBackup:
    """A complete backup, and the names of the older ones that were removed."""

    folder: Path
    manifest: Manifest
    size_bytes: int
    removed: list[str]


def create(
    engine: sa.Engine, settings: Settings, folder: Path, now: datetime, keep: int | None
) -> CreatedBackup:
    """Writes a backup into a temporary folder, which is renamed once it is complete.

    Of the complete backups in `folder`, only the newest `keep` are kept; None keeps all.

    Raises:
      NoDataError: the database has no tables.
      DatabaseError: the database cannot be read, or is of a newer release.
    """
    schema = schema_version.status(engine)
    if schema.revision is None:
        raise NoDataError(
            "The database has no tables, so there is nothing to back up. Make them with "
            "'harbor db upgrade'."
        )
    schema_version.refuse_if_ahead(schema)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in older_than(folder.glob(".harbor-*"), STAGED_FOR):
        shutil.rmtree(path, ignore_errors=True)
    target = folder / archive.backup_name(now)
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=folder))
    try:
        manifest = _fill(staging, engine, settings, schema, now)
        os.sync()
        staging.rename(target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    size_bytes = sum((target / name).stat().st_size for name in manifest.files)
    return CreatedBackup(target, manifest, size_bytes, _remove_old(folder, now, keep))


def _fill(
    staging: Path,
    engine: sa.Engine,
    settings: Settings,
    schema: schema_version.SchemaStatus,
    now: datetime,
) -> Manifest:
    with engine.connect() as connection:
        connection.execution_options(isolation_level="REPEATABLE READ")
        snapshot = connection.scalar(sa.text("select pg_export_snapshot()"))
        # The run is recorded after the snapshot is taken: the backup would otherwise contain
        # a run that never ends. In an older schema no run is recorded: its ledger may lack columns.
        with recorded(engine, "backup") if schema.is_current else nullcontext() as run:
            # Artefacts are copied first: a nightly run may remove some that the snapshot names.
            missing = _copy_artefacts(connection, settings.artefacts, staging)
            name = str(connection.scalar(sa.text("select current_schema()")))
            postgres.dump(engine.url, name, str(snapshot), staging / DATABASE)
            files = [path for path in sorted(staging.rglob("*")) if path.is_file()]
            manifest = Manifest(
                made_at=now,
                program=version("harbor-fleet"),
                revision=str(schema.revision),
                tables=_count_rows(connection),
                files={
                    path.relative_to(staging).as_posix(): file_sha256(path)
                    for path in files
                },
                missing=missing,
            )
            archive.write_manifest(staging, manifest)
            if run is not None:
                run.metrics |= {"parts": len(files), "missing": len(missing)}
    return manifest


def _copy_artefacts(
    connection: sa.Connection, artefacts: Path, staging: Path
) -> dict[str, str]:
    """Copies the artefacts of all models; returns the reason for each unusable one."""
    missing = {}
    for filename, sha256 in connection.execute(sa.text(KEPT_ARTEFACTS)):
        try:
            content = recorded_content(artefacts / filename, sha256)
        except ArtefactError as error:
            missing[filename] = str(error)
        else:
            publish(staging / ARTEFACTS / filename, content)
    return missing


def _count_rows(connection: sa.Connection) -> dict[str, int]:
    counted = sa.select(sa.func.count())
    return {
        name: connection.execute(counted.select_from(sa.table(name))).scalar_one()
        for name in sorted(sa.inspect(connection).get_table_names())
    }


def _remove_old(folder: Path, now: datetime, keep: int | None) -> list[str]:
    old = [] if keep is None else archive.complete_backups(folder, now)[:-keep]
    for path in old:
        # Hidden first, so that a half-removed backup does not look complete.
        leaving = path.rename(folder / f".{path.name}")
        leaving.touch()  # else another backup removes it at once, as a killed one's
        shutil.rmtree(leaving)
    return [path.name for path in old]
