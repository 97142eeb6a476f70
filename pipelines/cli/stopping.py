"""Stops a long command on Ctrl-C or SIGTERM, with a message."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from forecaster.errors import HarborError
from pipelines.cli.console import echo

INTERRUPTED = 130
"""Exit code after Ctrl-C, by the convention of shells."""


class StoppedError(HarborError):
    """A command was stopped by a signal; the message says what was kept."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@contextmanager
def report_interruption(message: str) -> Iterator[None]:
    """Turns Ctrl-C and SIGTERM inside the block into an error with this message.

    Raises:
      StoppedError: the block was interrupted.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError(f"Stopped. {message}", INTERRUPTED) from None
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
        raise StoppedError(f"Stopped. {message}", code) from None


@dataclass
class StopRequests:
    """Number of the signal (SIGINT or SIGTERM) that has requested a stop; 0 without one."""

    number: int = 0

    @property
    def exit_code(self) -> int:
        """128 plus the number of the signal."""
        return 128 + self.number

    def is_requested(self) -> bool:
        """Whether a signal has requested a stop."""
        return self.number != 0


@contextmanager
def stop_requests(message: str) -> Iterator[StopRequests]:
    """Turns the first Ctrl-C or SIGTERM inside the block into a request to stop soon.

    The first signal prints the message; a second one acts as it does outside the block.
    """
    requests = StopRequests()
    handlers = {
        each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)
    }

    def restore() -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    def on_signal(number: int, _frame: FrameType | None) -> None:
        requests.number = number
        restore()
        echo(message)

    for number in handlers:
        signal.signal(number, on_signal)
    try:
        yield requests
    finally:
        restore()
