"""Temporary folders for copies of remote files; removes folders that killed ingests left."""

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
"""Age below which a folder is kept: a new one may not be locked yet."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Makes an empty folder and removes it on exit; if this ingest is killed, a later one does."""
    for left in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError), locked(left):
            if time.time() - left.stat().st_mtime > MIN_AGE_S:
                shutil.rmtree(left)
    with TemporaryDirectory(prefix=PREFIX) as folder, locked(Path(folder)):
        yield Path(folder)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the lock of a temporary folder; the end of the process releases it at the latest.

    Raises:
      BlockingIOError: another process holds it.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
