"""Removes a stale postmaster.pid: of a server that crashed, or of a copied home's original."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from forecaster.errors import DatabaseError
from pipelines.database.embedded.cluster import Cluster, answers

log = structlog.get_logger()

PATIENCE_S = 300
# What PostgreSQL's own pg_ctl waits for a server that was asked to stop.
STOP_PATIENCE_S = 60


@dataclass(frozen=True)
class PidFile:
    """What a running server notes in its data directory.

    Attributes:
      pid: Of the server.
      data: The data directory when it was started.
      status: "starting", "ready" or "stopping".
      age_s: Seconds since the status was written.
    """

    pid: int
    data: Path
    status: str
    age_s: float


def read_pid_file(cluster: Cluster) -> PidFile | None:
    """The pid file of a cluster; None where there is none, or half of one."""
    path = cluster.data / "postmaster.pid"
    try:
        lines = path.read_text().splitlines()
        age_s = time.time() - path.stat().st_mtime
        status = lines[7].strip() if len(lines) > 7 else "starting"
        return PidFile(int(lines[0]), Path(lines[1]), status, age_s)
    except (FileNotFoundError, IndexError, ValueError):
        return None


def forget_dead_server(cluster: Cluster) -> None:
    """Removes a pid file whose server is not, or no longer, at work in this directory.

    Another program may carry the number now, the dead process may wait for a parent
    that never asks, or the home is a copy and the server its original's. Everything that
    still works in the data directory is waited for; a server stuck while stopping is ended.

    Raises:
      DatabaseError: one works on there and does not answer within `PATIENCE_S`.
    """
    if _is_served(cluster):
        return
    _await(lambda: not _works_in(cluster.data), cluster)
    noted = read_pid_file(cluster)
    if noted is not None and _is_elsewhere(noted.data, cluster.data):
        log.warning(
            "database_was_copied_while_it_ran",
            original=str(noted.data.parent),
            advice="such a copy may be damaged; 'harbor backup' makes one that is whole",
        )
    (cluster.data / "postmaster.pid").unlink(missing_ok=True)
    if cluster.sockets.exists():
        for left in cluster.sockets.glob(".s.PGSQL.*"):
            left.unlink()


def _is_served(cluster: Cluster) -> bool:
    """Whether a server of this directory answers; one that lives is waited for."""
    _await(lambda: not _is_silent(cluster), cluster)
    return answers(cluster)


def _is_silent(cluster: Cluster) -> bool:
    """Whether a server of this directory lives and does not answer."""
    noted = read_pid_file(cluster)
    if noted is None or not _is_ours(cluster, noted) or answers(cluster):
        return False
    if noted.status == "stopping" and noted.age_s > STOP_PATIENCE_S:
        log.warning("database_stuck_while_stopping", pid=noted.pid, ended="at once")
        with suppress(ProcessLookupError):
            os.kill(noted.pid, signal.SIGQUIT)
    return True


def _await(is_so: Callable[[], bool], cluster: Cluster) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise DatabaseError(
                f"The embedded Postgres in {cluster.directory} has not answered for "
                f"{PATIENCE_S} s; after a crash it may recover for longer. Start this "
                f"again when {cluster.log} says that it is ready."
            )
        time.sleep(0.1)


def _is_ours(cluster: Cluster, noted: PidFile) -> bool:
    """Whether that server lives and works here; where /proc is not, its path is believed."""
    if not Path("/proc/self").exists():
        return _is_alive(noted.pid) and not _is_elsewhere(noted.data, cluster.data)
    try:
        return Path(f"/proc/{noted.pid}/cwd").samefile(cluster.data)
    except OSError:  # it has ended, or is another user's
        return False


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _is_elsewhere(noted: Path, data: Path) -> bool:
    return noted.exists() and not noted.samefile(data)


def _works_in(data: Path) -> bool:
    """Whether any process has the data directory as its own."""
    for folder in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if folder.samefile(data):
                return True
        except OSError:  # it ended meanwhile, or is another user's
            continue
    return False
