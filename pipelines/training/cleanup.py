"""Removes files left by killed trainings and restores, and old log lines."""

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
RESTORE_PREFIX = ".restore-"
"""Of the folder, under `HARBOR_HOME`, of a dump that is being restored."""
CHECKPOINT_AGE = timedelta(days=14)
"""An interrupted training is resumed within this time, or its data has changed."""
LOG_LINE_AGE = timedelta(days=90)
"""Rows of runs are kept for ever; their log lines for this long."""


def clean_up(engine: sa.Engine, settings: Settings) -> int:
    """Removes old log lines, and what killed commands left.

    These are unpublished artefacts, checkpoints of trainings and dumps being restored.

    Returns:
      Number of files and folders removed.
    """
    with engine.begin() as connection:
        run_lines.delete_old_lines(connection, LOG_LINE_AGE)
    staged = older_than(settings.artefacts.glob(".*.tmp"), STAGED_FILE_AGE)
    abandoned = [
        *older_than(settings.checkpoints.glob("*"), CHECKPOINT_AGE),
        *older_than(settings.home.glob(f"{RESTORE_PREFIX}*"), STAGED_FILE_AGE),
    ]
    for path in staged:
        path.unlink(missing_ok=True)
    for path in abandoned:
        shutil.rmtree(path, ignore_errors=True)
    if staged or abandoned:
        log.info("cleaned_up", staged=len(staged), folders=len(abandoned))
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
