"""Folder of a cluster that root keeps outside of its home.

The home's `postgres.json` records the folder and the inode of the home: a home that was
moved keeps its inode; a copy has another, and must not use the original's data.
"""

import json
import secrets
from pathlib import Path

from forecaster.errors import DatabaseError
from pipelines.database.embedded.binaries import (
    SYSTEM_HOME,
    make_open_directory,
    make_private_directory,
    may_enter,
    server_account,
)


def find_or_create(home: Path) -> Path | None:
    """Returns the folder of a home's cluster outside of it; None if it is inside.

    Raises:
      DatabaseError: the folder belongs to another home, or is gone.
    """
    note = home / "postgres.json"
    if note.is_file():
        return _read_note(home, note)
    account = server_account()
    if may_enter(home, account):
        return None
    make_open_directory(SYSTEM_HOME)
    directory = SYSTEM_HOME / f"cluster-{secrets.token_hex(6)}"
    # Before the note is written: a recorded folder that is missing counts as lost.
    make_private_directory(directory, account)
    _write(home, note, directory)
    return directory


def _read_note(home: Path, note: Path) -> Path:
    recorded = json.loads(note.read_text())
    directory = Path(recorded["directory"])
    if not directory.exists():
        raise DatabaseError(
            f"The database of {home} lay in {directory}, which is gone or on another "
            f"machine. Put it back; or remove {note} to begin again, and bring a backup in "
            "with 'harbor backup restore'."
        )
    if "inode" not in recorded:
        _write(home, note, directory)
    elif recorded["inode"] != home.stat().st_ino:
        raise DatabaseError(
            f"{home} was copied, or moved to another disk, but its database lies outside "
            f"of it, in {directory}. If it was moved, take 'inode' out of {note}. If it "
            "was copied, that database is the original's: remove that file, and bring a "
            "backup of the original in with 'harbor backup restore'."
        )
    return directory


def _write(home: Path, note: Path, directory: Path) -> None:
    recorded = {"directory": str(directory), "inode": home.stat().st_ino}
    staged = note.with_suffix(".tmp")
    staged.write_text(json.dumps(recorded))
    staged.replace(note)
