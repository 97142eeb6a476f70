"""Command line and checks of `harbor dashboard`; imports no slow modules."""

import sys
from pathlib import Path

from dashboard.auth import login
from forecaster.errors import BadInputError

APP = Path(__file__).with_name("asgi.py")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
# Partly repeated from `.streamlit/config.toml`: a flag outranks the user's own configuration.
FLAGS = {
    "server.headless": "true",
    "server.fileWatcherType": "none",
    "server.enableXsrfProtection": "true",
    "server.enableAgentApi": "false",
    "browser.gatherUsageStats": "false",
    # Its greeting asks an outside address for this machine's own.
    "logger.hideWelcomeMessage": "true",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
    "client.toolbarMode": "minimal",
}


def require_guard(address: str, home: Path, *, insecure: bool) -> None:
    """Refuses to serve other machines without a login, unless --insecure was given.

    Raises:
      BadInputError: other machines reach the address, and nothing guards it.
      ConfigError: login.toml is incomplete, or lets nobody in.
    """
    has_login = login.read_rule(home) is not None
    if address in LOOPBACK or insecure or has_login:
        return
    raise BadInputError(
        f"--address is {address}, which other machines reach, and no login is set. Set "
        f"one in {login.FILE} in HARBOR_HOME, leave the address at 127.0.0.1, or add "
        "--insecure if a proxy guards it."
    )


def is_private(address: str, home: Path, *, insecure: bool) -> bool:
    """Whether only this machine reaches the pages, directly and without a login."""
    return address in LOOPBACK and not insecure and login.read_rule(home) is None


def streamlit_arguments(
    address: str, port: int, home: Path, *, insecure: bool = False
) -> list[str]:
    """The server's command line; arguments and errors as `require_guard`."""
    flags = {**FLAGS, "server.address": address, "server.port": str(port)}
    if login.read_rule(home) is not None:
        flags["secrets.files"] = str(home / login.FILE)
    options = [f"--{name}={value}" for name, value in flags.items()]
    if is_private(address, home, insecure=insecure):
        # A page elsewhere may give its own name this machine's address (DNS rebinding).
        options += [f"--server.allowedHosts={name}" for name in LOOPBACK]
    return [sys.executable, "-m", "streamlit", "run", str(APP), *options]
