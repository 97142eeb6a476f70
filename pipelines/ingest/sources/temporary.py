"""Folders for copies of remote files, and of what an ingest that was killed left there."""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

PREFIX = "harbor-ingest-"
MIN_AGE_S = 60
"""A folder that was just made is locked in a moment."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Makes an empty folder that is removed in the end, by a later ingest if this one is killed."""
    for left in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError), locked(left):
            if time.time() - left.stat().st_mtime > MIN_AGE_S:
                shutil.rmtree(left)
    with TemporaryDirectory(prefix=PREFIX) as folder, locked(Path(folder)):
        yield Path(folder)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the lock of a temporary folder, which ends with the process.

    Raises:
      BlockingIOError: another process holds it.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
