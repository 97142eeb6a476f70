"""Heartbeats of runs, and the detection of stale runs."""

import os
import socket
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Lock, Thread
from typing import Any

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import SQLAlchemyError

from pipelines.runs.run_log import LOG
from pipelines.store import run_lines, runs

log = structlog.get_logger()

HEARTBEAT_INTERVAL_S = 5.0
LOST_AFTER = timedelta(minutes=2)
"""Longer than a database restart, so that a run waiting for it is not failed."""
LOST_WITHOUT_PROCESS_AFTER = timedelta(seconds=20)
"""Several heartbeats: a container may share the host's name but not its processes."""
STATEMENT_TIMEOUT_MS = 10_000


def this_process() -> tuple[str, int]:
    """Host name and pid of this process, as stored with a run."""
    return socket.gethostname(), os.getpid()


class Heartbeat:
    """Renews the heartbeats of a run and its steps from a background thread.

    It has its own connection: a step may hold every other one for minutes.
    """

    def __init__(self, engine: sa.Engine, interval_s: float) -> None:
        """Prepares the thread; `start` starts it.

        Args:
          engine: Gives the database's URL; its pool is not used.
          interval_s: Seconds between heartbeats.
        """
        timeout = f"-c statement_timeout={STATEMENT_TIMEOUT_MS}"
        self._engine = sa.create_engine(
            engine.url,
            pool_size=1,
            pool_pre_ping=True,
            connect_args={"options": timeout},
        )
        self._interval_s = interval_s
        self._run_ids: set[int] = set()
        self._guard = Lock()
        self._stopped = Event()
        self._thread = Thread(target=self._run_loop, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stops the thread, writes the last log lines and closes the connection."""
        self._stopped.set()
        self._thread.join()
        self.write_lines()
        self._engine.dispose()

    def write_lines(self) -> None:
        """Stores the buffered log lines; on an error they stay buffered."""
        lines = LOG.take()
        if not lines:
            return
        try:
            with self._engine.begin() as connection:
                run_lines.write_lines(connection, lines)
        except SQLAlchemyError as error:
            LOG.give_back(lines)
            fields = {"lines": len(lines), "reason": _first_line(error)}
            log.warning("log_lines_buffered", **self._run_field(), **fields)

    def add(self, run_id: int) -> None:
        """Adds a run whose heartbeat is renewed."""
        with self._guard:
            self._run_ids.add(run_id)

    def remove(self, run_id: int) -> None:
        """Stops renewing the heartbeat of a run."""
        with self._guard:
            self._run_ids.discard(run_id)

    def _run_loop(self) -> None:
        while not self._stopped.wait(self._interval_s):
            try:
                self._renew()
            except SQLAlchemyError as error:
                # The database may be away for a minute; the run waits, or fails by itself.
                reason = _first_line(error)
                log.warning("heartbeat_missed", **self._run_field(), reason=reason)

    def _run_field(self) -> dict[str, int]:
        """The parent's run id for log lines: this thread does not inherit the context."""
        with self._guard:
            return {"run_id": min(self._run_ids)} if self._run_ids else {}

    def _renew(self) -> None:
        self.write_lines()
        with self._guard:
            run_ids = sorted(self._run_ids)
        if not run_ids:
            return
        with self._engine.begin() as connection:
            alive = runs.beat(connection, run_ids)
        for run_id in set(run_ids) - alive:
            # It has just ended, or another process has failed it as stale.
            self.remove(run_id)


def fail_stale_runs(
    engine: sa.Engine, process_exists: Callable[[int], bool] | None = None
) -> list[int]:
    """Marks runs whose heartbeat stopped as failed, and returns their ids.

    Args:
      engine: Database the pipelines own.
      process_exists: Whether this machine has a process of that pid. A run of this
        machine without a process is stale sooner.
    """
    exists = process_exists or _process_exists
    stale = []
    with engine.begin() as connection:
        for run in runs.silent_runs(connection, LOST_WITHOUT_PROCESS_AFTER):
            if run["silence"] < LOST_AFTER and not _is_gone(run, exists):
                continue
            runs.end_lost(connection, run["run_id"], _stale_run_message(run))
            stale.append(int(run["run_id"]))
    for run_id in stale:
        log.warning("run_stale", run_id=run_id)
    return stale


def _is_gone(run: dict[str, Any], process_exists: Callable[[int], bool]) -> bool:
    return run["host"] == socket.gethostname() and not process_exists(run["pid"])


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's process
        return True
    return True


def _stale_run_message(run: dict[str, Any]) -> str:
    process = f"process {run['pid']} on {run['host']}" if run["pid"] else "its process"
    return (
        f"Its heartbeat stopped at {run['heartbeat_at']:%Y-%m-%d %H:%M:%S %Z}: {process} "
        "was killed, or lost the database. What it stored is complete; start it "
        "again, and it continues from there."
    )


def _first_line(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]
