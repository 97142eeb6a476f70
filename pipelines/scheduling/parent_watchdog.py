"""Ends this process when its parent ends, even if the parent was killed."""

import os
import signal
import sys
import time
from threading import Thread, main_thread
from typing import BinaryIO

GRACE_PERIOD_S = 60


def exit_with_parent(pipe: BinaryIO | None = None) -> None:
    """Starts a thread that ends this process when a pipe from its parent closes.

    The kernel closes the pipe when the parent ends. The thread sends SIGTERM, so that
    resources are released, and SIGKILL after the grace period.

    Args:
      pipe: The pipe from the parent; by default standard input.
    """
    pipe = sys.stdin.buffer if pipe is None else pipe
    Thread(target=_end_with, args=(pipe,), name="watchdog", daemon=True).start()


def _end_with(pipe: BinaryIO) -> None:
    # Nothing is ever written to the pipe, so this returns when it is closed.
    os.read(pipe.fileno(), 1)
    # To the main thread, which handles signals and may be blocked in a system call.
    signal.pthread_kill(main_thread().ident or 0, signal.SIGTERM)
    time.sleep(GRACE_PERIOD_S)
    os.kill(os.getpid(), signal.SIGKILL)
