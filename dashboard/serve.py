"""How `harbor dashboard` starts the pages. Imports nothing that takes time."""

import sys
from pathlib import Path

APP = Path(__file__).with_name("app.py")


def streamlit_arguments(address: str, port: int) -> list[str]:
    """The command line of the server; `.streamlit/config.toml` beside it has the rest.

    What keeps the server quiet and closed is said here too, because a flag outranks the
    environment and the configuration of whoever starts it.

    Args:
      address: To listen on.
      port: To listen on.
    """
    flags = {
        "server.address": address,
        "server.port": str(port),
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "server.enableXsrfProtection": "true",
        "browser.gatherUsageStats": "false",
        "client.showErrorDetails": "none",
        "client.toolbarMode": "minimal",
    }
    said = [f"--{name}={value}" for name, value in flags.items()]
    return [sys.executable, "-m", "streamlit", "run", str(APP), *said]
