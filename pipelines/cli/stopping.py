"""The message of a long command that Ctrl-C or SIGTERM stops."""

from collections.abc import Iterator
from contextlib import contextmanager

from forecaster.errors import HarborError

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
