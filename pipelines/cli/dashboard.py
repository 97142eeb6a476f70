"""`harbor dashboard`: the pages, served on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from forecaster.errors import HarborError
from pipelines.cli.console import echo, show_json
from pipelines.cli.context import AsJson, CommandContext, Port, open_context
from pipelines.monitoring import ports

if TYPE_CHECKING:
    from pathlib import Path

# Partly repeated from `.streamlit/config.toml`: a flag outranks the user's own configuration.
FLAGS = {
    "server.headless": "true",
    "server.fileWatcherType": "none",
    "server.enableXsrfProtection": "true",
    "server.enableAgentApi": "false",
    "browser.gatherUsageStats": "false",
    # The welcome message asks an external server for this machine's address.
    "logger.hideWelcomeMessage": "true",
    # Streamlit warns of each cached function that is imported before the server runs.
    "logger.level": "error",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
    "client.toolbarMode": "minimal",
}


def dashboard(
    address: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Port = 8501,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Serve other machines without a login.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serves the dashboard until Ctrl-C.

    Other machines are served only with a login (login.toml in HARBOR_HOME) or with
    --insecure. With --json it first prints its address.

    Example: `harbor dashboard --port 8501`
    """
    from pipelines.settings import Settings, login

    login.require_guard(address, Settings.load().home, insecure=insecure)
    ports.require_free(address, port)
    with open_context() as context:
        if as_json:
            show_json({"url": ports.url(address, port)})
        with server(context, address, port, insecure=insecure) as wait:
            wait()


@contextmanager
def server(
    context: CommandContext, address: str, port: int, *, insecure: bool = False
) -> Iterator[Callable[[], None]]:
    """Runs Streamlit in a child process until the block ends; yields a function to await the child.

    The child gets the address of the running database, so that it does not start another.
    The function raises a HarborError if the child ends with an error.
    """
    echo(f"Dashboard: {ports.url(address, port)}  (Ctrl-C stops everything)")
    home = context.settings.home
    arguments = streamlit_arguments(address, port, home, insecure=insecure)
    environment = _environment(context)
    # Streamlit's output goes to stderr: stdout is kept for --json.
    child = subprocess.Popen(arguments, env=environment, stdout=sys.stderr)  # noqa: S603 - no shell

    def wait() -> None:
        try:
            _require_success(child.wait())
        except KeyboardInterrupt:
            echo("Stopping.")

    try:
        yield wait
    finally:
        child.terminate()
        child.wait()


def streamlit_arguments(
    address: str, port: int, home: Path, *, insecure: bool = False
) -> list[str]:
    """The server's command line.

    Raises:
      ConfigError: login.toml is incomplete, or lets nobody in.
    """
    from pipelines.settings import CHECKOUT, login

    flags = {**FLAGS, "server.address": address, "server.port": str(port)}
    has_login = login.read_rule(home) is not None
    if has_login:
        flags["secrets.files"] = str(home / login.FILE)
    options = [f"--{name}={value}" for name, value in flags.items()]
    if address in login.LOOPBACK and not (insecure or has_login):
        # Against DNS rebinding, in which another site's host name resolves to this machine.
        options += [f"--server.allowedHosts={name}" for name in login.LOOPBACK]
    app = CHECKOUT / "dashboard" / "server" / "asgi.py"
    return [sys.executable, "-m", "streamlit", "run", str(app), *options]


def _require_success(status: int) -> None:
    if status != 0:
        cause = f"status {status}"
        if status < 0:
            cause = f"signal {signal.Signals(-status).name}"
        raise HarborError(
            f"The dashboard's server ended ({cause}). See its output above, check "
            "whether the machine ran out of memory, and start 'harbor dashboard' again."
        )


def _environment(context: CommandContext) -> dict[str, str]:
    """This process's environment, with the addresses of the databases for the pages."""
    from pipelines.database.engine import parsed_url
    from pipelines.database.roles import DASHBOARD

    prefixes = ("HARBOR_DATABASE_", "HARBOR_REPLICA_")
    names = [name for name in os.environ if not name.startswith(prefixes)]
    environment = {name: os.environ[name] for name in names}
    settings, url = context.settings, context.engine.url
    urls = {"HARBOR_DATABASE_URL": url}
    if settings.database_url is None:
        # The pages connect with the role that has only the rights they need.
        urls = {"HARBOR_DATABASE_URL": url.set(username=DASHBOARD)}
    elif settings.replica_url is not None:
        name, replica = "HARBOR_REPLICA_URL", settings.replica_url
        urls[name] = parsed_url(replica.get_secret_value(), name)
    for name, each in urls.items():
        environment[name] = each.render_as_string(hide_password=False)
    return environment | {"HARBOR_HOME": str(settings.home)}
