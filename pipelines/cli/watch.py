"""`harbor watch`: how the program does, for Prometheus and for people."""

import logging
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import TYPE_CHECKING, Annotated

import structlog
import typer

from forecaster.errors import BadInputError, DatabaseError
from pipelines.cli.console import say, show_json
from pipelines.cli.logs import configure_logs
from pipelines.cli.workplace import AsJson, Port
from pipelines.database.engine import database_url, parsed_url
from pipelines.database.readonly_engine import create_readonly_engine
from pipelines.monitoring import ports
from pipelines.settings import Settings

if TYPE_CHECKING:
    from pipelines.monitoring.notifications.notifier import Notifier
    from pipelines.monitoring.state import MonitorState

log = structlog.get_logger()

LOOPBACK = ("127.0.0.1", "::1", "localhost")
PORT = 9464


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("watch")(watch)


def watch(
    address: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Port = PORT,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Answer other machines, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serves /metrics, /healthz and /readyz, and sends notices, until Ctrl-C.

    Everything is read from the database, so it is the same after a restart. Other
    machines are answered with --insecure only. With --json it first prints its address.

    Example: `harbor watch --port 9464`
    """
    configure_logs(logging.INFO)
    settings = Settings.load()
    _require_guard(address, insecure)
    ports.require_free(address, port)
    if as_json:
        show_json({"url": f"http://{address}:{port}"})
    say(f"Watching: http://{address}:{port}/metrics  (Ctrl-C stops)")
    _serve(settings, address, port)


def _require_guard(address: str, insecure: bool) -> None:
    if address in LOOPBACK or insecure:
        return
    raise BadInputError(
        f"--address is {address}, which other machines reach, and there is no login. "
        "Leave it at 127.0.0.1, or add --insecure where only Prometheus can reach it."
    )


def _serve(settings: Settings, address: str, port: int) -> None:
    from pipelines.monitoring.notifications.channels import channels_of
    from pipelines.monitoring.notifications.notifier import Notifier
    from pipelines.monitoring.server import serving
    from pipelines.monitoring.snapshot import Snapshot
    from pipelines.monitoring.state import MonitorState
    from pipelines.monitoring.watcher import LOOK_EVERY_S

    state = MonitorState(settings.home, datetime.now(UTC))
    silence = timedelta(hours=settings.alert_no_run_hours)
    notifier = Notifier(channels_of(settings), silence)
    stopped = Event()
    with serving(state, address, port):
        while not stopped.is_set():
            # Opened anew each time: the embedded database is started again if it went away.
            try:
                with database_url(settings) as url:
                    _watch(settings, url, state, notifier, stopped)
            except DatabaseError as error:
                log.warning("database_unavailable", reason=str(error))
                state.snapshot = Snapshot(datetime.now(UTC), str(error))
                notifier.of_database(str(error), state.snapshot.at)
                stopped.wait(LOOK_EVERY_S)


def _watch(
    settings: Settings,
    url: str,
    state: "MonitorState",
    notifier: "Notifier",
    stopped: Event,
) -> None:
    import sqlalchemy as sa

    from dashboard.sql import fleet
    from pipelines.database.roles import set_role_on_connect
    from pipelines.monitoring.probe import Page
    from pipelines.monitoring.watcher import Watcher

    page = Page(fleet.FRESHNESS, fleet.DAILY_TOTALS, fleet.FLEET_WEEK)
    reader_engine = create_readonly_engine(url)
    writes = sa.create_engine(parsed_url(url), pool_pre_ping=True)
    set_role_on_connect(writes)
    try:
        Watcher(settings, reader_engine, writes, state, page, notifier).run(stopped)
    finally:
        reader_engine.dispose()
        writes.dispose()
