"""A command of `harbor` in the process of the test, where a process of its own proves nothing."""

import io
import os
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

import structlog

from pipelines import cli


@dataclass(frozen=True)
class CommandResult:
    """A command that has ended.

    Attributes:
      returncode: Its exit status.
      stdout: What it printed.
      stderr: What it said to people.
    """

    returncode: int
    stdout: str
    stderr: str


def harbor(*arguments: str, **environment: str) -> CommandResult:
    """Runs a command as the program does; its environment, signals and logs end with it."""
    out, err = io.StringIO(), io.StringIO()
    on_termination, logs = signal.getsignal(signal.SIGTERM), structlog.get_config()
    status: object = 0
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(sys, "argv", ["harbor", *arguments]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as end:
            status = end.code or 0
        finally:
            signal.signal(signal.SIGTERM, on_termination)
            structlog.configure(**logs)
    assert isinstance(status, int), status
    return CommandResult(status, out.getvalue(), err.getvalue())
