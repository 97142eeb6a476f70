"""Ports of this machine for what tests start."""

import socket


def free_port() -> int:
    """One that nobody listens on at 127.0.0.1 now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
