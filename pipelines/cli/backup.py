"""`harbor backup`: database and artefacts, saved and brought back together."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from pipelines import backup
from pipelines.cli.console import say, show_json
from pipelines.cli.workplace import AsJson
from pipelines.database import open_engine
from pipelines.settings import Settings

app = typer.Typer(
    name="backup",
    help="Database and artefacts, saved and brought back together.",
    no_args_is_help=True,
)

MIB = 1 << 20


@app.command("create")
def create(
    folder: Annotated[Path, typer.Argument(help="Where backups lie.")],
    keep: Annotated[
        int | None, typer.Option(help="Whole backups that stay there.", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Saves the database, as it is in one moment, and every artefact that it names.

    The backup is a folder of its own, there whole or not at all. It holds no password,
    no login.toml, no checkpoint and nothing of the inbox.

    Example: `harbor backup create /srv/backups --keep 14`
    """
    settings = Settings.load()
    with open_engine(settings) as engine:
        made = backup.create(engine, settings, folder, datetime.now(UTC), keep)
    if as_json:
        told = {"missing": made.manifest.missing, "removed": made.removed}
        show_json({"backup": made.folder, "bytes": made.size_bytes, **told})
        return
    rows = sum(made.manifest.tables.values())
    say(
        f"{made.folder}: {rows:,} rows and {len(made.manifest.parts) - 1} artefacts, "
        f"{made.size_bytes / MIB:.1f} MiB."
    )
    for why in made.manifest.missing.values():
        say(f"Not in it: {why}")
    if made.removed:
        say(f"Removed: {', '.join(made.removed)}.")


@app.command("restore")
def restore(
    folder: Annotated[
        Path, typer.Argument(help="A backup, or a folder of them: then the newest.")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Lose what the database has now.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Puts database and artefacts back as they were; every part is checked first.

    Nobody else may use the database meanwhile: stop scheduler and dashboard.

    Example: `harbor backup restore /srv/backups --replace`
    """
    settings = Settings.load()
    with open_engine(settings) as engine:
        done = backup.restore(engine, settings, folder, replace=replace)
    rows = sum(done.manifest.tables.values())
    if as_json:
        show_json({"backup": done.folder, "rows": rows, "artefacts": done.artefacts})
        return
    say(
        f"{done.folder.name} is back: {rows:,} rows and {done.artefacts} artefacts, as "
        f"of {done.manifest.made_at:%Y-%m-%d %H:%M %Z}."
    )
    for why in done.manifest.missing.values():
        say(f"It was not in the backup: {why}")
