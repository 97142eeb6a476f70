"""Files and folders that nobody has written to for long."""

import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path


def older_than(paths: Iterable[Path], age: timedelta) -> list[Path]:
    """Those written longer ago than that; one that is gone by now is none.

    Args:
      paths: Other programs may rename or remove them meanwhile.
      age: Since the last change.
    """
    before = time.time() - age.total_seconds()
    return [path for path in paths if _is_older(path, before)]


def _is_older(path: Path, before: float) -> bool:
    try:
        return path.stat().st_mtime < before
    except FileNotFoundError:
        return False
