"""Buffers the log lines of runs until the heartbeat stores them."""

import math
from collections import deque
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from structlog.typing import EventDict, WrappedLogger

from pipelines.store.run_lines import Line

MAX_BUFFERED_LINES = 10_000
"""Lines buffered while the database is unavailable; the oldest are dropped."""
MAX_CHARACTERS = 2_000


class RunLog:
    """A thread-safe buffer of log lines."""

    def __init__(self) -> None:
        """Creates an empty buffer."""
        self._buffer: deque[Line] = deque(maxlen=MAX_BUFFERED_LINES)
        self._lock = Lock()

    def keep(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """Buffers an event that has a run id; a structlog processor."""
        if isinstance(event.get("run_id"), int):
            with self._lock:
                self._buffer.append(_line(method, event))
        return event

    def take(self) -> list[Line]:
        """Removes and returns the buffered lines."""
        with self._lock:
            lines = list(self._buffer)
            self._buffer.clear()
        return lines

    def give_back(self, lines: list[Line]) -> None:
        """Puts lines that could not be stored back at the front."""
        with self._lock:
            self._buffer.extendleft(reversed(lines))


LOG = RunLog()
"""The buffer of this process; logging is configured per process, too."""


def _line(method: str, event: EventDict) -> Line:
    # Stored in columns, or known from the run.
    excluded = {"run_id", "step", "event", "level", "timestamp"}
    fields = {key: plain(value) for key, value in event.items() if key not in excluded}
    now = datetime.now(UTC)
    return Line(event["run_id"], now, method, str(event["event"]), fields)


def plain(value: Any) -> Any:
    """Converts a value to what JSON can represent."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)[:MAX_CHARACTERS]
