"""Takes away what killed trainings left, and log lines that nobody will read any more."""

import shutil
from datetime import timedelta

import sqlalchemy as sa
import structlog

from pipelines.settings import Settings
from pipelines.store import run_lines
from pipelines.training.file_age import older_than

log = structlog.get_logger()

STAGED_FOR = timedelta(days=1)
"""Longer than writing a file takes, on any machine that shares the folder."""
RESUMED_FOR = timedelta(days=14)
"""A training that was cut off is gone on with by then, or its data is no longer the data."""
LINES_FOR = timedelta(days=90)
"""The ledger's rows stay for ever; what they logged is of use as long as it is fresh."""


def clean_up(engine: sa.Engine, settings: Settings) -> int:
    """Removes artefacts never published, checkpoints of abandoned trainings, old lines.

    Returns:
      How many files and folders are gone.
    """
    with engine.begin() as connection:
        run_lines.forget_lines(connection, LINES_FOR)
    staged = older_than(settings.artefacts.glob(".*.tmp"), STAGED_FOR)
    abandoned = older_than(settings.checkpoints.glob("*"), RESUMED_FOR)
    for path in staged:
        path.unlink(missing_ok=True)
    for path in abandoned:
        shutil.rmtree(path, ignore_errors=True)
    if staged or abandoned:
        log.info("swept", staged=len(staged), checkpoints=len(abandoned))
    return len(staged) + len(abandoned)
