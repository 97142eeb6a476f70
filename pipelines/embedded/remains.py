"""What a crash leaves of a server: a number that may mislead, and processes that end."""

import time
from pathlib import Path

from pipelines.embedded.cluster import Cluster, answers

PATIENCE_S = 300


def forget_dead_server(cluster: Cluster, sockets: Path) -> None:
    """Removes the pid file of a server that a crash ended, if its number misleads.

    Another program may carry the number now, or the dead process may wait for a parent
    that never asks. Everything that still works in the data directory is waited for.

    Args:
      cluster: Whose server it was.
      sockets: Where its sockets lie.
    """
    pid_file = cluster.data / "postmaster.pid"
    if not pid_file.exists():
        return
    said = pid_file.read_text().split()
    if said and _lives_on(cluster, int(said[0])):
        return
    deadline = time.monotonic() + PATIENCE_S
    while _works_in(cluster.data) and time.monotonic() < deadline:
        time.sleep(0.1)
    pid_file.unlink()
    for left in sockets.glob(".s.PGSQL.*"):
        left.unlink()


def _lives_on(cluster: Cluster, pid: int) -> bool:
    """Whether that server goes on; one that does not answer yet, or dies, is awaited."""
    deadline = time.monotonic() + PATIENCE_S
    while _is_postgres(pid) and not answers(cluster) and time.monotonic() < deadline:
        time.sleep(0.1)
    return _is_postgres(pid)


def _is_postgres(pid: int) -> bool:
    """Whether a living server has that number; where /proc is not, Postgres judges."""
    if not Path("/proc/self").exists():
        return True
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return "Name:\tpostgres" in status and "State:\tZ" not in status


def _works_in(data: Path) -> bool:
    """Whether any process has the data directory as its own."""
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if link.readlink() == data:
                return True
        except OSError:  # it ended meanwhile, or is another user's
            continue
    return False
