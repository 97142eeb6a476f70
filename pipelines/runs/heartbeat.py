"""Shows that a run is alive while it works, and finds those that are not any more."""

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

BEAT_S = 5.0
LOST_AFTER = timedelta(minutes=2)
"""Longer than a database restarts, so that a run which waits for it is not given up."""
LOST_WITHOUT_PROCESS_AFTER = timedelta(seconds=20)
"""Some beats, not none: a container may have the host's name and processes of its own."""
STATEMENT_TIMEOUT_MS = 10_000


def this_process() -> tuple[str, int]:
    """Host and pid, as the ledger names them."""
    return socket.gethostname(), os.getpid()


class Heartbeat:
    """Renews the heartbeats of a run and its steps, from a thread with its own connection.

    The step may compute for minutes and hold every other connection meanwhile.
    """

    def __init__(self, engine: sa.Engine, every_s: float) -> None:
        """Nothing beats before `start`.

        Args:
          engine: Tells where the database is; its pool is not used.
          every_s: Seconds from one beat to the next.
        """
        timeout = f"-c statement_timeout={STATEMENT_TIMEOUT_MS}"
        self._engine = sa.create_engine(
            engine.url,
            pool_size=1,
            pool_pre_ping=True,
            connect_args={"options": timeout},
        )
        self._every_s = every_s
        self._run_ids: set[int] = set()
        self._guard = Lock()
        self._stopped = Event()
        self._thread = Thread(target=self._beat_on, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Beats from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Writes the last lines, ends the thread and closes its connection."""
        self._stopped.set()
        self._thread.join()
        self.write_lines()
        self._engine.dispose()

    def write_lines(self) -> None:
        """Writes down what runs have logged; what cannot be written waits."""
        lines = LOG.take()
        if not lines:
            return
        try:
            with self._engine.begin() as connection:
                run_lines.write_lines(connection, lines)
        except SQLAlchemyError as error:
            LOG.give_back(lines)
            told = {"lines": len(lines), "reason": _first_line(error)}
            log.warning("lines_wait", **self._of_run(), **told)

    def take(self, run_id: int) -> None:
        """Beats for one more run."""
        with self._guard:
            self._run_ids.add(run_id)

    def leave(self, run_id: int) -> None:
        """Beats for it no more."""
        with self._guard:
            self._run_ids.discard(run_id)

    def _beat_on(self) -> None:
        while not self._stopped.wait(self._every_s):
            try:
                self._beat()
            except SQLAlchemyError as error:
                # The database may be away for a minute; the run waits, or fails by itself.
                reason = _first_line(error)
                log.warning("heartbeat_missed", **self._of_run(), reason=reason)

    def _of_run(self) -> dict[str, int]:
        """The whole's number: this thread does not inherit what its lines are bound to."""
        with self._guard:
            return {"run_id": min(self._run_ids)} if self._run_ids else {}

    def _beat(self) -> None:
        self.write_lines()
        with self._guard:
            run_ids = sorted(self._run_ids)
        if not run_ids:
            return
        with self._engine.begin() as connection:
            alive = runs.beat(connection, run_ids)
        for run_id in set(run_ids) - alive:
            # It ended a moment ago, or another command has given it up.
            self.leave(run_id)


def fail_stale_runs(
    engine: sa.Engine, process_is_there: Callable[[int], bool] | None = None
) -> list[int]:
    """Ends the runs whose heartbeat stopped, with a sentence, and returns their ids.

    Args:
      engine: Database the pipelines own.
      process_is_there: Whether this machine has a process of that pid; asked of runs of
        this machine only, which need not be waited for as long.
    """
    there = process_is_there or _process_is_there
    lost = []
    with engine.begin() as connection:
        for run in runs.silent_runs(connection, LOST_WITHOUT_PROCESS_AFTER):
            if run["silence"] < LOST_AFTER and not _is_gone(run, there):
                continue
            runs.end_lost(connection, run["run_id"], _stale_run_message(run))
            lost.append(int(run["run_id"]))
    for run_id in lost:
        log.warning("run_lost", run_id=run_id)
    return lost


def _is_gone(run: dict[str, Any], process_is_there: Callable[[int], bool]) -> bool:
    return run["host"] == socket.gethostname() and not process_is_there(run["pid"])


def _process_is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's, so it is there
        return True
    return True


def _stale_run_message(run: dict[str, Any]) -> str:
    who = f"process {run['pid']} on {run['host']}" if run["pid"] else "its process"
    return (
        f"Its heartbeat stopped at {run['heartbeat_at']:%Y-%m-%d %H:%M:%S %Z}: {who} "
        "was killed, or lost the database. What it stored is complete; start it "
        "again, and it continues from there."
    )


def _first_line(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]
