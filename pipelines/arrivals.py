"""Files that have come into a folder since a moment."""

from datetime import datetime
from pathlib import Path


def files_since(folder: Path, moment: datetime) -> list[Path]:
    """Returns the files in a folder and below it that came after a moment, in order of name."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in files if _arrived_s(path) > moment.timestamp()]


def _arrived_s(path: Path) -> float:
    """When a file came to be here, whatever time of writing was copied or moved with it."""
    try:
        status = path.stat()
    except FileNotFoundError:  # Another load has moved it away by now.
        return 0.0
    return max(status.st_mtime, status.st_ctime)
