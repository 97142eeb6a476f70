"""Takes away what a training left that was killed and is not gone on with."""

import shutil
import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import structlog

from pipelines.settings import Settings

log = structlog.get_logger()

STAGED_FOR = timedelta(days=1)
"""Longer than writing a file takes, on any machine that shares the folder."""
RESUMED_FOR = timedelta(days=14)
"""A training that was cut off is gone on with by then, or its data is no longer the data."""


def sweep(settings: Settings) -> int:
    """Removes artefacts that were never published, and checkpoints of abandoned trainings.

    Returns:
      How many files and folders are gone.
    """
    staged = _older(settings.artefacts.glob(".*.tmp"), STAGED_FOR)
    abandoned = _older(settings.checkpoints.glob("*"), RESUMED_FOR)
    for path in staged:
        path.unlink(missing_ok=True)
    for path in abandoned:
        shutil.rmtree(path, ignore_errors=True)
    if staged or abandoned:
        log.info("swept", staged=len(staged), checkpoints=len(abandoned))
    return len(staged) + len(abandoned)


def _older(paths: Iterable[Path], age: timedelta) -> list[Path]:
    before = time.time() - age.total_seconds()
    return [path for path in paths if path.stat().st_mtime < before]
