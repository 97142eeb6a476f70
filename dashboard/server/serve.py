"""Command line and checks of `harbor dashboard`; imports no slow modules."""

import importlib.util
import sys
from pathlib import Path

from dashboard.auth import login
from forecaster.errors import BadInputError, ConfigError

APP = Path(__file__).with_name("asgi.py")
NEEDED = ("authlib", "httpx")
"""Packages that `st.login` is made of."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def login_file(home: Path) -> Path | None:
    """The file that sets a login; None where none is set.

    Args:
      home: HARBOR_HOME.

    Raises:
      ConfigError: it is not whole, lets nobody in, or what it needs is not installed.
    """
    if login.rule(home) is None:
        return None
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"{login.FILE} sets a login, which needs the packages {' and '.join(NEEDED)}, "
            f"and there is no {' and no '.join(missing)}. Install what is missing with "
            f"`pip install {' '.join(missing)}`."
        )
    return home / login.FILE


def require_guard(address: str, insecure: bool, guard: Path | None) -> None:
    """Refuses to serve other machines without a login.

    Args:
      address: To listen on.
      insecure: Whether --insecure was given.
      guard: From `login_file`.

    Raises:
      BadInputError: other machines reach the address, and nothing guards it.
    """
    if address in LOOPBACK or insecure or guard is not None:
        return
    raise BadInputError(
        f"--address is {address}, which other machines reach, and no login is set. Set "
        f"one in {login.FILE} in HARBOR_HOME, leave the address at 127.0.0.1, or add "
        "--insecure if a proxy guards it."
    )


def streamlit_arguments(
    address: str, port: int, guard: Path | None = None, *, insecure: bool = False
) -> list[str]:
    """The command line of the server; `.streamlit/config.toml` beside it has the rest.

    What keeps the server quiet and closed is said here too, because a flag outranks the
    environment and the configuration of whoever starts it.

    Args:
      address: To listen on.
      port: To listen on.
      guard: From `login_file`.
      insecure: Whether a proxy guards the pages, which then have other host names.
    """
    flags = {
        "server.address": address,
        "server.port": str(port),
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "server.enableXsrfProtection": "true",
        "browser.gatherUsageStats": "false",
        # Its greeting asks an outside address for this machine's own.
        "logger.hideWelcomeMessage": "true",
        "server.enableAgentApi": "false",
        "client.showErrorDetails": "none",
        "client.toolbarMode": "minimal",
    }
    if guard is not None:
        flags["secrets.files"] = str(guard)
    options = [f"--{name}={value}" for name, value in flags.items()]
    if address in LOOPBACK and guard is None and not insecure:
        # A page elsewhere may give its own name this machine's address (DNS rebinding).
        options += [f"--server.allowedHosts={name}" for name in LOOPBACK]
    return [sys.executable, "-m", "streamlit", "run", str(APP), *options]
