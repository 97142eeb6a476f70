"""`harbor dashboard`: the pages, served on this machine."""

import os
import signal
import subprocess
import sys
from typing import Annotated

import typer

from forecaster.errors import HarborError
from pipelines.cli.console import echo, show_json
from pipelines.cli.context import AsJson, CommandContext, Port, open_context
from pipelines.monitoring import ports


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
    from dashboard.server.serve import require_guard
    from pipelines.settings import Settings

    require_guard(address, Settings.load().home, insecure=insecure)
    ports.require_free(address, port)
    with open_context() as context:
        if as_json:
            show_json({"url": f"http://{address}:{port}"})
        serve(context, address, port, insecure=insecure)


def serve(
    context: CommandContext, address: str, port: int, *, insecure: bool = False
) -> None:
    """Runs Streamlit as a child process until it ends or is stopped.

    It gets the address of the running database, so that it never starts one of its own.

    Raises:
      HarborError: it ended with an error.
    """
    from dashboard.server.serve import streamlit_arguments

    echo(f"Dashboard: http://{address}:{port}  (Ctrl-C stops everything)")
    home = context.settings.home
    arguments = streamlit_arguments(address, port, home, insecure=insecure)
    # Streamlit prints for people.
    child = subprocess.Popen(arguments, env=_environment(context), stdout=sys.stderr)  # noqa: S603 - no shell
    try:
        _require_success(child.wait())
    except KeyboardInterrupt:
        echo("Stopping.")
    finally:
        child.terminate()
        child.wait()


def _require_success(status: int) -> None:
    if status != 0:
        signalled = status < 0
        cause = (
            f"signal {signal.Signals(-status).name}"
            if signalled
            else f"status {status}"
        )
        raise HarborError(
            f"The dashboard's server ended, by {cause}. See what it said above, and "
            "whether the machine ran out of memory; then start 'harbor dashboard' again."
        )


def _environment(context: CommandContext) -> dict[str, str]:
    """This process's environment, with the addresses of the open database and a replica."""
    from pipelines.database.engine import parsed_url
    from pipelines.database.roles import READER

    url = context.engine.url
    if context.settings.database_url is None:
        # The pages get no right that they do not need.
        url = url.set(username=READER)
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HARBOR_DATABASE_", "HARBOR_REPLICA_"))
    }
    if (replica := context.settings.replica_url) is not None:
        address = parsed_url(replica.get_secret_value(), "HARBOR_REPLICA_URL")
        inherited["HARBOR_REPLICA_URL"] = address.render_as_string(hide_password=False)
    return {
        **inherited,
        "HARBOR_DATABASE_URL": url.render_as_string(hide_password=False),
        "HARBOR_HOME": str(context.settings.home),
    }
