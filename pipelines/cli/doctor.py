"""`harbor doctor`: what is installed, reachable, stale or wrong, and what to do."""

import shutil
from datetime import UTC, date, datetime, timedelta

import sqlalchemy as sa
import typer

from forecaster.errors import DeviceError, HarborError
from pipelines.cli.console import say, show_json, show_table
from pipelines.cli.findings import Finding
from pipelines.cli.night_findings import look_at_nights
from pipelines.cli.workplace import AsJson, make_inbox, upgrade_embedded
from pipelines.database import migrate, roles
from pipelines.database.engine import open_engine, snapshot
from pipelines.forecasting import forecast
from pipelines.monitoring import ports
from pipelines.settings import Settings
from pipelines.store import demand as demand_store
from pipelines.store import depots as depot_store
from pipelines.store import models
from pipelines.store.depots import OddZone
from pipelines.store.models import Model
from pipelines.training import accelerators

LIBRARIES = ("jax", "flax", "optax", "orbax-checkpoint", "streamlit", "sqlalchemy")
# Where the dashboard listens unless told otherwise.
ADDRESS, PORT = "127.0.0.1", 8501
LEAST_FREE_BYTES = 2 * 2**30
CLOSED_DAYS_LOOKED_AT = 28
MOST_TOLD = 5


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("doctor")(doctor)


def doctor(as_json: AsJson = False) -> None:
    """Checks everything the program needs, and says how to correct what is wrong.

    Example: `harbor doctor`
    """
    settings = Settings.load()
    findings = [
        *_libraries(),
        *_accelerators(),
        _disk(settings),
        _inbox(settings),
        _port(),
        *_database(settings),
    ]
    if as_json:
        show_json([vars(finding) for finding in findings])
    else:
        rows = [
            ("ok" if finding.good else "LOOK", finding.what, finding.says)
            for finding in findings
        ]
        show_table("", ("", "what", "finding"), rows)
    if not all(finding.good for finding in findings):
        say("Lines marked LOOK need attention.")
        raise typer.Exit(1)


def _libraries() -> list[Finding]:
    missing = "not installed; training needs jax, flax, optax and orbax-checkpoint"
    versions = {name: accelerators.installed(name) for name in LIBRARIES}
    return [
        Finding(name, bool(version) or name == "streamlit", version or missing)
        for name, version in versions.items()
    ]


def _accelerators() -> list[Finding]:
    """Whether JAX would train on what this machine has; nothing without JAX."""
    if accelerators.installed("jax") is None:
        return []
    wheels = Finding("wheels", True, "match jax")
    if wrong := accelerators.mismatches():
        says = f"{'; '.join(wrong)}; install harbor-fleet with the extra again"
        wheels = Finding("wheels", False, says)
    try:
        devices = accelerators.probe()
    except DeviceError as error:
        # A TPU belongs to one process: while a night trains, to that one.
        is_busy = "already in use" in str(error)
        says = f"{error}; see 'driver or wheel mismatch' in deploy/RUNBOOK.md"
        return [wheels, Finding("devices", is_busy, str(error) if is_busy else says)]
    return [wheels, device_finding(devices)]


def device_finding(devices: accelerators.Devices) -> Finding:
    """Whether JAX uses the accelerators whose device files are there."""
    if devices.platform != "cpu":
        return Finding(
            "devices", True, f"JAX trains on {devices.count} × {devices.kind}"
        )
    if devices.requested == "cpu":
        return Finding("devices", True, "JAX trains on the CPU, as JAX_PLATFORMS says")
    files = [*accelerators.tpu_files(), *accelerators.gpu_files()]
    if not files:
        return Finding("devices", True, "JAX trains on the CPU")
    extra = "tpu" if accelerators.tpu_files() else "gpu"
    says = f"JAX trains on the CPU, but {files[0]} is here; "
    if any(map(accelerators.installed, accelerators.PACKAGES)):
        says += f"see 'driver or wheel mismatch' in deploy/RUNBOOK.md {devices.log}"
        return Finding("devices", False, says.strip())
    return Finding("devices", extra == "gpu", f"{says}the extra '{extra}' would use it")


def _disk(settings: Settings) -> Finding:
    settings.home.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(settings.home).free
    says = f"{free / 2**30:.1f} GiB free under {settings.home}"
    if free < LEAST_FREE_BYTES:
        return Finding("disk", False, f"{says}; make room, a full disk stops Postgres")
    return Finding("disk", True, says)


def _inbox(settings: Settings) -> Finding:
    make_inbox(settings)
    try:
        found = sum(path.is_file() for path in settings.inbox.iterdir())
    except OSError as error:
        says = (
            f"{settings.inbox} cannot be read ({error.strerror}); each night loads it"
        )
        return Finding("inbox", False, says)
    many = "1 file" if found == 1 else f"{found} files"
    holds = f"holds {many}" if found else "is empty"
    return Finding("inbox", True, f"{settings.inbox} {holds}; each night loads it")


def _port() -> Finding:
    """The dashboard may be what uses it, so that is no failure."""
    if ports.is_free(ADDRESS, PORT):
        return Finding("port", True, f"{PORT} is free for the dashboard")
    says = f"{PORT} is in use; if not by the dashboard, give it another with --port"
    return Finding("port", True, says)


def _database(settings: Settings) -> list[Finding]:
    try:
        with open_engine(settings) as engine:
            if settings.database_url is None:
                upgrade_embedded(engine)
            migrate.require_current(engine)
            roles.set_role_on_connect(engine)
            answers = Finding("database", True, "answers")
            return [
                answers,
                *look_at_nights(engine, settings),
                *_data(engine, settings),
            ]
    except HarborError as error:
        return [Finding("database", False, str(error))]


def _data(engine: sa.Engine, settings: Settings) -> list[Finding]:
    with snapshot(engine) as connection:
        newest = demand_store.last_day(connection)
        champion = models.champion(connection)
        zones = demand_store.zones(connection)
        strange = depot_store.far_from_their_city(connection)
    if newest is None:
        return [
            Finding("data", False, "no demand yet; load orders with 'harbor ingest'")
        ]
    return [
        lateness(newest, settings.due_on(datetime.now(UTC), zones)),
        odd_zones(strange),
        _closed_days(engine, newest),
        _champion(settings, champion),
    ]


def _champion(settings: Settings, champion: Model | None) -> Finding:
    if champion is None:
        return Finding("champion", False, "none; train one with 'harbor train'")
    try:
        forecast.load_recorded(settings.artefacts, champion)
    except HarborError as error:
        return Finding("champion", False, str(error))
    return Finding("champion", True, f"{champion['version']}, its artefact is intact")


def lateness(newest: date, due_on: date) -> Finding:
    """By how much the newest day of the data lies before the one that is due."""
    late = max((due_on - newest).days, 0)
    days = "1 day" if late == 1 else f"{late} days"
    return Finding("data", late == 0, f"ends {newest}, {days} late")


def odd_zones(strange: list[OddZone]) -> Finding:
    """Depots whose clock is hours away from that of most depots of their city."""
    if not strange:
        return Finding("time zones", True, "fit the other depots of each city")
    told = ", ".join(
        f"{each.depot_id} ({each.timezone}; {each.city} is in {each.usual})"
        for each in strange[:MOST_TOLD]
    )
    more = f" and {len(strange) - MOST_TOLD} more" if len(strange) > MOST_TOLD else ""
    says = (
        f"{told}{more} are 3 hours or more away from the rest of their city; correct "
        "the timezone in a depots file, and load it with 'harbor ingest'"
    )
    return Finding("time zones", False, says)


def _closed_days(engine: sa.Engine, newest: date) -> Finding:
    """Flags orders on closed days; they may be real, so this alone is no failure."""
    since = newest - timedelta(days=CLOSED_DAYS_LOOKED_AT)
    with engine.connect() as connection:
        found = demand_store.on_closed_days(connection, since)
    if found.last_on is None:
        return Finding("closed days", True, f"no orders on them since {since}")
    says = (
        f"{found.orders:,} orders came on {found.days:,} closed depot-days since "
        f"{since}, the last on {found.last_on}; kept, not scored. If the depots were "
        "open, correct closed_weekdays, opened_on, closed_on or the events of kind "
        "'closed'"
    )
    return Finding("closed days", True, says)
