"""Files that have arrived in a folder since a given time."""

from datetime import datetime
from pathlib import Path


def files_since(folder: Path, moment: datetime) -> list[Path]:
    """Returns the files in a folder and its subfolders that arrived after `moment`, by path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in files if _arrived_s(path) > moment.timestamp()]


def _arrived_s(path: Path) -> float:
    """Time of a file's arrival here, in epoch seconds, even if it kept an older modification time."""
    try:
        status = path.stat()
    except FileNotFoundError:  # Another load has moved it away by now.
        return 0.0
    return max(status.st_mtime, status.st_ctime)
