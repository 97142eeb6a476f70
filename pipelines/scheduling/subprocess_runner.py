"""One command in a process of its own: what it leaks or crashes stays there."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from threading import Event

import structlog

from pipelines.runs.heartbeat import LOST_AFTER

log = structlog.get_logger()

PATIENCE_S = 60.0
LOOK_EVERY_S = 5.0
NOT_STARTED = -1

HeartbeatAge = Callable[[int], timedelta | None]
"""For how long the process of that pid has shown no life; None where that is not known."""


def harbor(*arguments: str) -> list[str]:
    """The command line of our own program."""
    return [sys.executable, "-m", "pipelines", *arguments]


class SubprocessRunner:
    """Runs one command at a time, and ends it when it must."""

    def __init__(
        self, deadline: timedelta, silence: HeartbeatAge = lambda _: None
    ) -> None:
        """Nothing runs yet.

        Args:
          deadline: How long a command may take.
          silence: Asked of a command while it runs.
        """
        self._deadline, self._silence = deadline, silence
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = Event()

    def run(self, command: Sequence[str]) -> int:
        """Runs a command to its end, its deadline or its last heartbeat; its status.

        It is ended too if this process is: its standard input is a pipe that closes then.
        """
        if self._stopped.is_set():
            return NOT_STARTED
        with subprocess.Popen(command, stdin=subprocess.PIPE) as self._process:  # noqa: S603 - our own program, no shell
            why = self._watch(self._process)
            if why is not None:
                log.warning("child_ended", pid=self._process.pid, because=why)
                end(self._process)
            return self._process.wait()

    def stop(self) -> None:
        """Asks what runs to end, and ends it if it does not; nothing runs after that."""
        self._stopped.set()
        process = self._process
        if process is not None and process.poll() is None:
            end(process)

    def _watch(self, process: subprocess.Popen[bytes]) -> str | None:
        """Waits for the end; or says why the process must be ended."""
        until = time.monotonic() + self._deadline.total_seconds()
        while (left := until - time.monotonic()) > 0:
            try:
                process.wait(min(left, LOOK_EVERY_S))
            except subprocess.TimeoutExpired:
                if self._stopped.is_set():
                    return "it was stopped"
                silence = self._silence(process.pid)
                if silence is not None and silence > LOST_AFTER:
                    return f"no heartbeat for {silence.total_seconds():.0f} s"
            else:
                return None
        return f"not done after {self._deadline}"


def end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, and SIGKILL where that is not enough."""
    process.terminate()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
