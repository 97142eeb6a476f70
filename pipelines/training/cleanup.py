"""Removes files left by killed trainings, and old log lines."""

import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa
import structlog

from pipelines.settings import Settings
from pipelines.store import run_lines

log = structlog.get_logger()

STAGED_FILE_AGE = timedelta(days=1)
"""Longer than writing a file takes on any machine that shares the folder."""
CHECKPOINT_AGE = timedelta(days=14)
"""An interrupted training is resumed within this time, or its data has changed."""
LOG_LINE_AGE = timedelta(days=90)
"""Rows of runs are kept for ever; their log lines for this long."""


def clean_up(engine: sa.Engine, settings: Settings) -> int:
    """Removes unpublished artefacts, checkpoints of abandoned trainings and old log lines.

    Returns:
      Number of files and folders removed.
    """
    with engine.begin() as connection:
        run_lines.delete_old_lines(connection, LOG_LINE_AGE)
    staged = older_than(settings.artefacts.glob(".*.tmp"), STAGED_FILE_AGE)
    abandoned = older_than(settings.checkpoints.glob("*"), CHECKPOINT_AGE)
    for path in staged:
        path.unlink(missing_ok=True)
    for path in abandoned:
        shutil.rmtree(path, ignore_errors=True)
    if staged or abandoned:
        log.info("cleaned_up", staged=len(staged), checkpoints=len(abandoned))
    return len(staged) + len(abandoned)


def older_than(paths: Iterable[Path], age: timedelta) -> list[Path]:
    """Returns the files and folders last modified longer ago than an age."""
    before = time.time() - age.total_seconds()
    old = []
    for path in paths:
        # Another process may remove it meanwhile.
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                old.append(path)
    return old
