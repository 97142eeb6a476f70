"""Findings of `harbor doctor`: what is installed, reachable, stale or wrong."""

import shutil
from datetime import UTC, date, datetime, timedelta

import sqlalchemy as sa

from forecaster.errors import DeviceError, HarborError, shortened_list
from pipelines.cli.console import not_started_depots
from pipelines.cli.context import make_inbox, open_context
from pipelines.cli.doctor import Finding
from pipelines.cli.night_findings import check_nights
from pipelines.cli.replica_finding import check_replica
from pipelines.database.engine import snapshot
from pipelines.forecasting import forecast
from pipelines.ingest.rows.options import problems_of_sources
from pipelines.ingest.sources.files import Skipped, files_at_path
from pipelines.monitoring import ports
from pipelines.planning.words import count
from pipelines.runs.error_messages import describe_error, is_expected
from pipelines.settings import Settings
from pipelines.settings.ingest import DONE
from pipelines.store import demand as demand_store
from pipelines.store import depots as depot_store
from pipelines.store import events, files, late_depots, models
from pipelines.store.demand import ClosedDayOrders
from pipelines.store.depots import OddZone
from pipelines.store.files import LoadedFile
from pipelines.store.models import Model
from pipelines.store.signal_summaries import SignalSummary, summaries
from pipelines.training import accelerators

LIBRARIES = ("jax", "flax", "optax", "orbax-checkpoint", "streamlit", "sqlalchemy")
# The dashboard's defaults.
ADDRESS, PORT = "127.0.0.1", 8501
MIN_FREE_BYTES = 2 * 2**30
LOOK_BACK_DAYS = 28


def find_all(settings: Settings) -> list[Finding]:
    """Checks libraries, accelerators, disk, inbox, sources, port and database, in this order."""
    return [
        *_libraries(),
        *_accelerators(),
        _disk(settings),
        _inbox(settings),
        *source_findings(settings),
        _port(),
        *_database(settings),
    ]


def _libraries() -> list[Finding]:
    missing = "not installed; training needs jax, flax, optax and orbax-checkpoint"
    versions = {name: accelerators.installed(name) for name in LIBRARIES}
    return [
        Finding(name, bool(version) or name == "streamlit", version or missing)
        for name, version in versions.items()
    ]


def _accelerators() -> list[Finding]:
    """Checks whether JAX would use the accelerators of this machine; empty without JAX."""
    if accelerators.installed("jax") is None:
        return []
    wrong = accelerators.mismatches()
    told = [*wrong, "install harbor-fleet with the extra again"] if wrong else []
    wheels = Finding("wheels", not wrong, "; ".join(told) or "match jax")
    try:
        devices = accelerators.probe()
    except DeviceError as error:
        # Only one process at a time can use a TPU; a nightly run that trains may hold it.
        is_busy = "already in use" in str(error)
        message = f"{error}; see 'driver or wheel mismatch' in deploy/RUNBOOK.md"
        return [wheels, Finding("devices", is_busy, str(error) if is_busy else message)]
    return [wheels, device_finding(devices)]


def device_finding(devices: accelerators.Devices) -> Finding:
    """Checks whether JAX uses the accelerators whose device files exist."""
    if devices.platform != "cpu":
        message = f"JAX trains on {devices.count} × {devices.kind}"
        return Finding("devices", True, message)
    if devices.requested == "cpu":
        return Finding("devices", True, "JAX trains on the CPU, as JAX_PLATFORMS says")
    tpus, gpus = accelerators.tpu_files(), accelerators.gpu_files()
    if not (tpus or gpus):
        return Finding("devices", True, "JAX trains on the CPU")
    message = f"JAX trains on the CPU, but {[*tpus, *gpus][0]} exists; "
    if any(map(accelerators.installed, accelerators.PACKAGES)):
        message += f"see 'driver or wheel mismatch' in deploy/RUNBOOK.md {devices.log}"
        return Finding("devices", False, message.strip())
    if tpus:
        return Finding("devices", False, f"{message}install the extra 'tpu'")
    # A GPU may be there for other work.
    return Finding("devices", True, f"{message}the extra 'gpu' would use it")


def _disk(settings: Settings) -> Finding:
    settings.home.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(settings.home).free
    is_enough = free >= MIN_FREE_BYTES
    advice = "" if is_enough else "; make room, a full disk stops Postgres"
    message = f"{free / 2**30:.1f} GiB free under {settings.home}{advice}"
    return Finding("disk", is_enough, message)


def _inbox(settings: Settings) -> Finding:
    make_inbox(settings)
    try:
        next(settings.inbox.iterdir(), None)  # fails where it is no folder
        found = list(files_at_path(settings.inbox, settings.inbox / DONE))
    except OSError as error:
        message = (
            f"{settings.inbox} cannot be read ({error.strerror}); each night loads it"
        )
        return Finding("inbox", False, message)
    if skipped := [each.reason for each in found if isinstance(each, Skipped)]:
        return Finding("inbox", False, skipped[0])
    content = f"holds {count(len(found), 'file')}" if found else "is empty"
    return Finding("inbox", True, f"{settings.inbox} {content}; each night loads it")


def source_findings(settings: Settings) -> list[Finding]:
    """Checks `[sources.NAME]` of harbor.toml; files of an invalid source are refused."""
    problems = problems_of_sources(settings.sources)
    if not problems:
        return [Finding("sources", True, "are valid")] if settings.sources else []
    message = f"{' '.join(problems)} Files of such a source are refused"
    return [Finding("sources", False, message)]


def _port() -> Finding:
    """Reports whether the port is free; never a failure, because the dashboard may use it."""
    message = f"{PORT} is in use; unless by the dashboard, choose another with --port"
    if ports.is_free(ADDRESS, PORT):
        message = f"{PORT} is free for the dashboard"
    return Finding("port", True, message)


def _database(settings: Settings) -> list[Finding]:
    try:
        with open_context(settings=settings) as context:
            return [
                Finding("database", True, "answers"),
                *check_replica(context.engine, settings),
                *check_nights(context.engine, settings),
                *_data(context.engine, settings),
            ]
    except Exception as error:
        if not (is_expected(error) or isinstance(error, OSError)):
            raise
        return [Finding("database", False, describe_error(error))]


def _data(engine: sa.Engine, settings: Settings) -> list[Finding]:
    with snapshot(engine) as connection:
        last_day_on = demand_store.last_day(connection)
        if last_day_on is None:
            message = "no demand yet; load orders with 'harbor ingest'"
            return [Finding("data", False, message)]
        due_on = settings.due_on(datetime.now(UTC), demand_store.zones(connection))
        since = last_day_on - timedelta(days=LOOK_BACK_DAYS)
        champion = models.champion(connection)
        found = [
            data_finding(last_day_on, late_depots.newest_open_day(connection, due_on)),
            unknown_finding(demand_store.unknown_days(connection, since), since),
            zone_finding(depot_store.far_from_their_city(connection)),
            *zone_rule_findings(
                depot_store.zones_read_otherwise(connection, datetime.now(UTC))
            ),
            started_finding(depot_store.not_started(connection)),
            _closed_days(demand_store.on_closed_days(connection, since), since),
            *signal_findings(summaries(connection, last_day_on, settings.horizon)),
            *event_findings(events.unplaced(connection, last_day_on)),
            *clock_findings(files.loaded_ahead(connection)),
        ]
    # Outside the transaction, as it reads a file.
    return [*found, _champion(settings, champion)]


def _champion(settings: Settings, champion: Model | None) -> Finding:
    if champion is None:
        return Finding("champion", False, "none; train one with 'harbor train'")
    try:
        forecast.load_recorded(settings.artefacts, champion)
    except HarborError as error:
        return Finding("champion", False, str(error))
    return Finding("champion", True, f"{champion['version']}, its artefact is intact")


def data_finding(last_day_on: date, due_on: date) -> Finding:
    """Checks whether the newest day of data is the day that is due."""
    late = max((due_on - last_day_on).days, 0)
    return Finding("data", late == 0, f"ends {last_day_on}, {count(late, 'day')} late")


def unknown_finding(unknown: dict[date, int], since: date) -> Finding:
    """Lists the past days with unknown orders; not a failure, as they may stay unknown."""
    if not unknown:
        return Finding("past days", True, f"all known since {since}")
    days = shortened_list(f"{day} ({count(n, 'depot')})" for day, n in unknown.items())
    message = (
        f"no orders are known for {days}; they are left out, not counted as 0. Load their files "
        "with 'harbor ingest'"
    )
    return Finding("past days", True, message)


def zone_finding(odd: list[OddZone]) -> Finding:
    """Checks for depots whose time zone is hours away from the rest of their city."""
    if not odd:
        return Finding("time zones", True, "fit the other depots of each city")
    depots = shortened_list(
        f"{depot.depot_id} ({depot.timezone}; {depot.city} is in {depot.usual})"
        for depot in odd
    )
    message = (
        f"hours apart from another depot of the same city: {depots}; correct the "
        "timezone that is wrong in a depots file, and load it with 'harbor ingest'"
    )
    return Finding("time zones", False, message)


def zone_rule_findings(zones: list[str]) -> list[Finding]:
    """Names the zones in which the database and this program disagree on the time, if any."""
    if not zones:
        return []
    message = (
        f"{shortened_list(zones)}: the database and this program disagree on when clocks change in "
        "the coming year, so orders may be counted in a neighbouring hour or day; update the time "
        "zone data (tzdata) of both"
    )
    return [Finding("clock rules", False, message)]


def started_finding(not_started: list[str]) -> Finding:
    """Lists the depots that forecasts leave out; not a failure: their opening may be planned."""
    message = "have all started"
    if not_started:
        depots = not_started_depots(not_started)
        message = f"not started, and left out of forecasts: {depots}"
    return Finding("depots", True, message)


def signal_findings(signals: list[SignalSummary]) -> list[Finding]:
    """Lists signals with missing values in the days ahead; not a failure: gaps may be intended."""
    if not signals:
        return []
    lacking = [
        f"{each.signal} ({each.missing:,}, from {each.first_missing_on})"
        for each in signals
        if each.missing
    ]
    if not lacking:
        return [
            Finding("signals", True, "lack no day ahead where they had values lately")
        ]
    message = (
        f"values missing in the days ahead: {shortened_list(lacking)}; they "
        "are not guessed. If they are known, load them with 'harbor ingest'"
    )
    return [Finding("signals", True, message)]


def event_findings(unplaced: list[str]) -> list[Finding]:
    """Lists depots and cities that coming events name, but that are not in the fleet."""
    if not unplaced:
        return []
    message = (
        f"depots or cities that are not in the fleet: {shortened_list(unplaced)}; their events "
        "have no effect. Correct the name in a file of events, or load a depots file that has it"
    )
    return [Finding("events", False, message)]


def clock_findings(ahead: list[LoadedFile]) -> list[Finding]:
    """Lists the files that were loaded while the clock was ahead, and the consequences."""
    if not ahead:
        return []
    loads = shortened_list(f"{each.file_id} ({each.path})" for each in ahead)
    message = (
        f"was ahead, to {ahead[0].loaded_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC, when it loaded "
        f"{loads}: their days count as over, and their corrections and signals as known only "
        "then. Withdraw each file with 'harbor files withdraw', and load it again"
    )
    return [Finding("clock", False, message)]


def _closed_days(closed: ClosedDayOrders, since: date) -> Finding:
    """Reports orders on closed days; they may be real, so this is not a failure."""
    if closed.last_on is None:
        return Finding("closed days", True, f"no orders on them since {since}")
    message = (
        f"{closed.orders:,} orders came on {closed.days:,} closed depot-days since "
        f"{since}, the last on {closed.last_on}; kept, not scored. If the depots were "
        "open, correct closed_weekdays, opened_on, closed_on or the events of kind "
        "'closed'"
    )
    return Finding("closed days", True, message)
