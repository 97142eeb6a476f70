"""Removes a stale postmaster.pid, left by a crash or copied with a home."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from forecaster.errors import DatabaseError
from pipelines.database.embedded.cluster import Cluster, is_running

log = structlog.get_logger()

START_TIMEOUT_S = 300
# The time that pg_ctl waits by default for a server to stop.
STOP_TIMEOUT_S = 60


@dataclass(frozen=True)
class PidFile:
    """The pid file that a running server keeps in its data directory.

    The status, "starting", "ready" or "stopping", was written `age_s` seconds ago.
    """

    pid: int
    data: Path
    status: str
    age_s: float


def read_pid_file(cluster: Cluster) -> PidFile | None:
    """Returns the pid file of a cluster; None if it is missing or incomplete."""
    path = cluster.data / "postmaster.pid"
    try:
        lines = path.read_text().splitlines()
        age_s = time.time() - path.stat().st_mtime
        status = lines[7].strip() if len(lines) > 7 else "starting"
        return PidFile(int(lines[0]), Path(lines[1]), status, age_s)
    except (FileNotFoundError, IndexError, ValueError):
        return None


def remove_stale_pidfile(cluster: Cluster) -> None:
    """Removes a pid file whose server does not run in this data directory.

    The recorded pid may belong to another program or to a zombie, or, if the home is a copy,
    to the original's server. This function waits for processes that still run in the
    data directory, and kills a server stuck while stopping.

    Raises:
      DatabaseError: the directory's server does not answer within `START_TIMEOUT_S`.
    """
    _wait_until(lambda: not _is_unresponsive(cluster), cluster)
    if is_running(cluster):
        return
    _wait_until(lambda: not _has_process_in(cluster.data), cluster)
    recorded = read_pid_file(cluster)
    if recorded is not None and _is_elsewhere(recorded.data, cluster.data):
        log.warning(
            "database_copied_while_running",
            original=str(recorded.data.parent),
            advice="such a copy may be damaged; 'harbor backup create' makes a consistent one",
        )
    (cluster.data / "postmaster.pid").unlink(missing_ok=True)
    if cluster.sockets.exists():
        for left in cluster.sockets.glob(".s.PGSQL.*"):
            left.unlink()


def _is_unresponsive(cluster: Cluster) -> bool:
    """Whether the directory's server is alive but does not answer; kills it if stuck stopping."""
    recorded = read_pid_file(cluster)
    if recorded is None or not _is_ours(cluster, recorded) or is_running(cluster):
        return False
    if recorded.status == "stopping" and recorded.age_s > STOP_TIMEOUT_S:
        log.warning("database_stuck_while_stopping", pid=recorded.pid, ended="at once")
        with suppress(ProcessLookupError):
            os.kill(recorded.pid, signal.SIGQUIT)
    return True


def _wait_until(condition: Callable[[], bool], cluster: Cluster) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise DatabaseError(
                f"The embedded Postgres in {cluster.directory} has not answered for "
                f"{START_TIMEOUT_S} s; after a crash it may recover for longer. Start this "
                f"again when {cluster.log} says that it is ready."
            )
        time.sleep(0.1)


def _is_ours(cluster: Cluster, recorded: PidFile) -> bool:
    """Whether the server is alive and runs in this directory, by /proc or the recorded path."""
    if not Path("/proc/self").exists():
        return _is_alive(recorded.pid) and not _is_elsewhere(
            recorded.data, cluster.data
        )
    try:
        return Path(f"/proc/{recorded.pid}/cwd").samefile(cluster.data)
    except OSError:  # the process has ended, or is another user's
        return False


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # alive, and another user's
        return True
    return True


def _is_elsewhere(recorded: Path, data: Path) -> bool:
    return recorded.exists() and not recorded.samefile(data)


def _has_process_in(data: Path) -> bool:
    """Whether any process of Postgres has the data directory as its working directory."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "comm").read_text().strip()
            if name == "postgres" and (folder / "cwd").samefile(data):
                return True
        except OSError:  # the process has ended, or is another user's
            continue
    return False
