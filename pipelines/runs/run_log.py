"""Keeps what a run logs, until its heart writes it down beside the run."""

import math
from collections import deque
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from structlog.typing import EventDict, WrappedLogger

from pipelines.store.run_lines import Line

MOST_WAITING = 10_000
"""Lines that wait for a database which is away; older ones are dropped."""
MOST_CHARACTERS = 2_000


class RunLog:
    """Lines on their way to the ledger; any thread may add some."""

    def __init__(self) -> None:
        """Nothing waits."""
        self._waiting: deque[Line] = deque(maxlen=MOST_WAITING)
        self._guard = Lock()

    def keep(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """Keeps a line that names its run; a processor of structlog's."""
        if isinstance(event.get("run_id"), int):
            with self._guard:
                self._waiting.append(_line(method, event))
        return event

    def take(self) -> list[Line]:
        """What waits, which does not wait any more."""
        with self._guard:
            lines = list(self._waiting)
            self._waiting.clear()
        return lines

    def give_back(self, lines: list[Line]) -> None:
        """Lines that could not be written; they come first again."""
        with self._guard:
            self._waiting.extendleft(reversed(lines))


LOG = RunLog()
"""Of this process; logging is configured for a process, too."""


def _line(method: str, event: EventDict) -> Line:
    # The ledger has its step.
    apart = {"run_id", "step", "event", "level", "timestamp"}
    fields = {key: plain(value) for key, value in event.items() if key not in apart}
    now = datetime.now(UTC)
    return Line(event["run_id"], now, method, str(event["event"]), fields)


def plain(value: Any) -> Any:
    """As JSON has it."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)[:MOST_CHARACTERS]
