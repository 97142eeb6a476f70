"""`harbor backup`: backs up and restores database and artefacts together."""

from pathlib import Path
from typing import Annotated

import typer

from forecaster.errors import shortened_list
from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import echo, show_json
from pipelines.cli.context import AsJson, open_database

app = CommandGroup("backup", "Backups of the database and the models' artefacts.")

MIB = 1 << 20


@app.command("create")
def create(
    folder: Annotated[Path, typer.Argument(help="Folder that backups are kept in.")],
    keep: Annotated[
        int | None,
        typer.Option(
            help="Complete backups to keep there; older ones are deleted. [default: all]",
            min=1,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Backs up a snapshot of the database, and every artefact that it names.

    Each backup is a folder of its own, written completely or not at all. It holds no
    password, no login.toml, no checkpoint and no file of the inbox.

    Example: `harbor backup create /srv/backups --keep 14`
    """
    from pipelines import backup

    with open_database() as context:
        created = backup.create(
            context.engine, context.settings, folder, context.now, keep
        )
    manifest, removed = created.manifest, created.removed
    if as_json:
        details = {"missing": manifest.missing, "removed": removed}
        show_json({"backup": created.folder, "bytes": created.size_bytes, **details})
        return
    echo(
        f"{created.folder}: {sum(manifest.tables.values()):,} rows and "
        f"{len(manifest.files) - 1} artefacts, {created.size_bytes / MIB:.1f} MiB."
    )
    for reason in manifest.missing.values():
        echo(f"Missing from the backup: {reason}")
    if removed:
        echo(f"Removed: {', '.join(removed)}.")


@app.command("restore")
def restore(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A backup, or a folder of backups, of which the newest is used."
        ),
    ],
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Delete what the database holds now, and replace it."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Restores database and artefacts; every part is checked first.

    Nobody else may use the database during the restore: stop the scheduler and the dashboard.

    Example: `harbor backup restore /srv/backups --replace`
    """
    from pipelines import backup
    from pipelines.arrivals import files_since
    from pipelines.settings.ingest import DONE

    with open_database() as context:
        restored = backup.restore(
            context.engine, context.settings, folder, context.now, replace=replace
        )
        done = context.settings.inbox / DONE
    manifest, artefacts = restored.manifest, restored.artefacts
    rows = sum(manifest.tables.values())
    if later := [path.name for path in files_since(done, manifest.made_at)]:
        echo(
            f"Files in {done} that are newer than the backup, which lacks their rows: "
            f"{shortened_list(later)}. Move them back into the inbox; the next night loads "
            "them."
        )
    if as_json:
        details = {"artefacts": artefacts, "missing": manifest.missing}
        show_json({"backup": restored.folder, "rows": rows, **details})
        return
    echo(
        f"Restored {restored.folder.name}: {rows:,} rows and {artefacts} artefacts, "
        f"as of {manifest.made_at:%Y-%m-%d %H:%M %Z}."
    )
    for reason in manifest.missing.values():
        echo(f"Missing from the backup: {reason}")
