"""`harbor watch`: metrics for Prometheus, and notifications."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from forecaster.errors import BadInputError, DatabaseError
from pipelines.cli.console import echo, show_json
from pipelines.cli.context import AsJson, Port
from pipelines.monitoring import ports

if TYPE_CHECKING:
    from pipelines.settings import Settings

PORT = 9464


def watch(
    address: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Port = PORT,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Answer other machines, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serves /metrics, /healthz and /readyz, and sends notifications, until Ctrl-C.

    Metrics of runs, data and accuracy come from the database, so a restart changes none. Other
    machines are answered only with --insecure. With --json it first prints its address.

    Example: `harbor watch --port 9464`
    """
    from pipelines.cli.logs import configure_logs
    from pipelines.settings import Settings
    from pipelines.settings.login import LOOPBACK

    configure_logs(logging.INFO)
    settings = Settings.load()
    if address not in LOOPBACK and not insecure:
        raise BadInputError(
            f"--address is {address}, which other machines reach, and there is no login. "
            "Leave it at 127.0.0.1, or add --insecure where only Prometheus can reach it."
        )
    ports.require_free(address, port)
    if as_json:
        show_json({"url": ports.url(address, port)})
    echo(f"Watching: {ports.url(address, port)}/metrics  (Ctrl-C stops)")
    _serve(settings, address, port)


def _serve(settings: Settings, address: str, port: int) -> None:
    import structlog

    from pipelines.database.engine import database_url
    from pipelines.database.roles import create_readonly_engine
    from pipelines.monitoring.notifications import Notifier, channels_of
    from pipelines.monitoring.server import MonitorState, Snapshot, serving
    from pipelines.monitoring.watcher import INTERVAL_S, Watcher

    state = MonitorState(settings.home, datetime.now(UTC))
    notifier = Notifier(channels_of(settings))
    with serving(state, address, port):
        while True:
            # Reopened in each pass, which restarts the embedded database if it has stopped.
            try:
                with database_url(settings) as url:
                    engine = create_readonly_engine(url)
                    try:
                        Watcher(settings, engine, state, notifier).run()
                    finally:
                        engine.dispose()
            except DatabaseError as error:
                structlog.get_logger().warning(
                    "database_unavailable", reason=str(error)
                )
                state.snapshot = Snapshot(datetime.now(UTC), str(error))
                time.sleep(INTERVAL_S)
