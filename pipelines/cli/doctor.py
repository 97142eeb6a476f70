"""`harbor doctor`: what is installed, reachable, stale or wrong, and what to do."""

import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import sqlalchemy as sa
import typer

from forecaster.errors import HarborError
from pipelines import forecasting, migrate
from pipelines.cli.console import say, show_json, show_table
from pipelines.cli.workplace import AsJson, upgrade_embedded
from pipelines.database import open_engine
from pipelines.settings import Settings
from pipelines.store import demand as demand_store
from pipelines.store import models

LIBRARIES = ("jax", "flax", "optax", "orbax-checkpoint", "streamlit", "sqlalchemy")
LEAST_FREE_BYTES = 2 * 2**30


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    what: str
    good: bool
    says: str


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("doctor")(doctor)


def doctor(as_json: AsJson = False) -> None:
    """Looks at everything the program needs, and says what to do about it.

    Example: `harbor doctor`
    """
    settings = Settings.load()
    findings = [*_installed(), _disk(settings), *_database(settings)]
    if as_json:
        show_json([vars(finding) for finding in findings])
    else:
        rows = [
            ("ok" if found.good else "LOOK", found.what, found.says)
            for found in findings
        ]
        show_table("", ("", "what", "finding"), rows)
    if not all(found.good for found in findings):
        say("Some of this needs a look.")
        raise typer.Exit(1)


def _installed() -> list[Finding]:
    found = []
    for name in LIBRARIES:
        try:
            found.append(Finding(name, True, version(name)))
        except PackageNotFoundError:
            says = "not installed; training needs jax, flax, optax and orbax-checkpoint"
            found.append(Finding(name, name == "streamlit", says))
    return found


def _disk(settings: Settings) -> Finding:
    settings.home.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(settings.home).free
    says = f"{free / 2**30:.1f} GiB free under {settings.home}"
    if free < LEAST_FREE_BYTES:
        return Finding("disk", False, f"{says}; make room, a full disk stops Postgres")
    return Finding("disk", True, says)


def _database(settings: Settings) -> list[Finding]:
    try:
        with open_engine(settings) as engine:
            if settings.database_url is None:
                upgrade_embedded(engine)
            migrate.require_current(engine)
            return [Finding("database", True, "answers"), *_data(engine, settings)]
    except HarborError as error:
        return [Finding("database", False, str(error))]


def _data(engine: sa.Engine, settings: Settings) -> list[Finding]:
    from datetime import datetime

    with engine.connect() as connection:
        newest = demand_store.last_day(connection)
        champion = models.champion(connection)
    if newest is None:
        return [
            Finding("data", False, "no demand yet; load orders with 'harbor ingest'")
        ]
    late = (settings.due_on(datetime.now(settings.zone)) - newest).days
    data = Finding("data", late <= 0, f"ends {newest}, {max(late, 0)} days late")
    if champion is None:
        return [data, Finding("champion", False, "none; train one with 'harbor train'")]
    try:
        forecasting.load_recorded(settings.artefacts, champion)
    except HarborError as error:
        return [data, Finding("champion", False, str(error))]
    return [data, Finding("champion", True, f"{champion['version']}, whole")]
