"""Ends a child whose parent is gone: killed, the parent can tell it nothing more."""

import os
import signal
import sys
import time
from threading import Thread, main_thread
from typing import BinaryIO

PATIENCE_S = 60


def exit_with_parent(leash: BinaryIO | None = None) -> None:
    """Watches a pipe from the parent, which the kernel closes when the parent ends.

    The end is asked for by SIGTERM, so that what is open is closed; after a minute it is
    made.

    Args:
      leash: The pipe; standard input without it.
    """
    pipe = sys.stdin.buffer if leash is None else leash
    Thread(target=_end_with, args=(pipe,), name="leash", daemon=True).start()


def _end_with(pipe: BinaryIO) -> None:
    # Nothing is ever written there, so this returns when the other end is closed.
    os.read(pipe.fileno(), 1)
    # To the thread that handles it: another one might be given it, and leave it asleep.
    signal.pthread_kill(main_thread().ident or 0, signal.SIGTERM)
    time.sleep(PATIENCE_S)
    os.kill(os.getpid(), signal.SIGKILL)
