"""The message of a long command that Ctrl-C or SIGTERM stops."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from forecaster.errors import HarborError
from pipelines.cli.console import echo

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


class StoppedError(HarborError):
    """A command was stopped from outside; the message says what was kept."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@contextmanager
def report_interruption(message: str) -> Iterator[None]:
    """Turns Ctrl-C and SIGTERM inside the block into an error: what was kept, how to continue.

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
    """The number of the signal, Ctrl-C or SIGTERM, that has requested to stop; 0 without one."""

    number: int = 0

    @property
    def exit_code(self) -> int:
        """128 and the number of the signal."""
        return 128 + self.number

    def is_requested(self) -> bool:
        """Whether a signal has come."""
        return self.number != 0


@contextmanager
def stop_requests(message: str) -> Iterator[StopRequests]:
    """Turns the first Ctrl-C or SIGTERM inside the block into a request to stop soon.

    The message is printed then; a second signal acts as it does outside of the block.
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
