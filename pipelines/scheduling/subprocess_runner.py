"""Runs a command in a subprocess, which isolates its leaks and crashes."""

import subprocess
from collections.abc import Sequence
from datetime import timedelta
from threading import Event

import structlog

log = structlog.get_logger()

GRACE_PERIOD_S = 60.0
"""Between SIGTERM and SIGKILL, for the run to record its end and the database to stop."""


class SubprocessRunner:
    """Runs one command at a time, and ends it at its deadline."""

    def __init__(self, deadline: timedelta) -> None:
        """Creates a runner with a time limit for each command."""
        self._deadline = deadline
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = Event()

    def run(self, command: Sequence[str]) -> int | None:
        """Runs a command until it ends or its deadline; returns its exit status.

        None if `stop` was called before: the command is not started.
        """
        if self._stopped.is_set():
            return None
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as self._process:  # noqa: S603 - our own program, no shell
            if self._stopped.is_set():
                terminate(self._process)
            try:
                return self._process.wait(self._deadline.total_seconds())
            except subprocess.TimeoutExpired:
                pid, deadline = self._process.pid, str(self._deadline)
                log.warning(
                    "subprocess_ended", pid=pid, reason=f"not done in {deadline}"
                )
                terminate(self._process)
                return self._process.returncode

    def stop(self) -> None:
        """Ends the running command; no command is started after that."""
        self._stopped.set()
        process = self._process
        if process is not None and process.poll() is None:
            terminate(process)


def terminate(process: subprocess.Popen[bytes]) -> None:
    """Sends SIGTERM, and SIGKILL after the grace period."""
    process.terminate()
    try:
        process.wait(GRACE_PERIOD_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
