"""What a long command says when Ctrl-C or SIGTERM stops it."""

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
def kept(what: str) -> Iterator[None]:
    """Ends with a sentence if Ctrl-C or SIGTERM stops what is done inside.

    Args:
      what: Says what was kept, and what to type to go on.

    Raises:
      StoppedError: it was stopped.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError(f"Stopped. {what}", INTERRUPTED) from None
    except SystemExit as asked:
        code = asked.code if isinstance(asked.code, int) else 1
        raise StoppedError(f"Stopped. {what}", code) from None
