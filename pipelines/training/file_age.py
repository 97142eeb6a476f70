"""Selects files and folders by age."""

import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path


def older_than(paths: Iterable[Path], age: timedelta) -> list[Path]:
    """Returns the paths last modified longer ago than an age.

    Args:
      paths: Files and folders; one removed meanwhile is left out.
      age: Minimum time since the last modification.
    """
    before = time.time() - age.total_seconds()
    return [path for path in paths if _is_older(path, before)]


def _is_older(path: Path, before: float) -> bool:
    try:
        return path.stat().st_mtime < before
    except FileNotFoundError:
        return False
