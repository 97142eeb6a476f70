"""Runs a command in a subprocess, which isolates its leaks and crashes."""

import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from threading import Event

import structlog

log = structlog.get_logger()

GRACE_PERIOD_S = 60.0
POLL_INTERVAL_S = 5.0
NOT_STARTED = -1


def harbor_command(*arguments: str) -> list[str]:
    """The command line of `harbor` with arguments."""
    return [sys.executable, "-m", "pipelines", *arguments]


class SubprocessRunner:
    """Runs one command at a time, and ends it at its deadline."""

    def __init__(self, deadline: timedelta) -> None:
        """Creates a runner with a time limit for each command."""
        self._deadline = deadline
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = Event()

    def run(self, command: Sequence[str]) -> int:
        """Runs a command until it ends, or ends it; returns its exit status.

        Its standard input is a pipe that closes when this process ends.
        """
        if self._stopped.is_set():
            return NOT_STARTED
        with subprocess.Popen(command, stdin=subprocess.PIPE) as self._process:  # noqa: S603 - our own program, no shell
            reason = self._wait(self._process)
            if reason is not None:
                log.warning("subprocess_ended", pid=self._process.pid, reason=reason)
                terminate(self._process)
            return self._process.wait()

    def stop(self) -> None:
        """Ends the running command; no command is started after that."""
        self._stopped.set()
        process = self._process
        if process is not None and process.poll() is None:
            terminate(process)

    def _wait(self, process: subprocess.Popen[bytes]) -> str | None:
        """Waits for the process; returns the reason if it must be ended."""
        until = time.monotonic() + self._deadline.total_seconds()
        while (left := until - time.monotonic()) > 0:
            try:
                process.wait(min(left, POLL_INTERVAL_S))
            except subprocess.TimeoutExpired:
                if self._stopped.is_set():
                    return "it was stopped"
            else:
                return None
        return f"not done after {self._deadline}"


def terminate(process: subprocess.Popen[bytes]) -> None:
    """Sends SIGTERM, and SIGKILL after the grace period."""
    process.terminate()
    try:
        process.wait(GRACE_PERIOD_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
