"""Checks that a port can be listened on, and builds the URL of its server."""

import socket

from forecaster.errors import BadInputError


def url(address: str, port: int) -> str:
    """Returns the URL of a server, with an IPv6 address in brackets."""
    host = f"[{address}]" if ":" in address else address
    return f"http://{host}:{port}"


def is_free(address: str, port: int) -> bool:
    """Returns whether this process could listen on the port now."""
    try:
        family, kind, protocol, _, socket_address = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            # Servers set this option, too: a port that has just been closed then counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(socket_address)
    except OSError:
        return False
    return True


def require_free(address: str, port: int) -> None:
    """Rejects a port that another program uses, or an address of another machine.

    Raises:
      BadInputError: the port cannot be listened on.
    """
    if not is_free(address, port):
        raise BadInputError(
            f"port is {port}, which cannot be listened on at {address}: another "
            "program uses it, or the address is not this machine's. Stop that "
            "program, or choose another port with --port."
        )
