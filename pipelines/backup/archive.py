"""The folder of a backup: a pg_dump, the artefacts, and a manifest, written last."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from forecaster.errors import BadInputError
from forecaster.inference.artefact import file_sha256

MANIFEST, DATABASE, ARTEFACTS = "manifest.json", "database.dump", "artefacts"


@dataclass(frozen=True)
class Manifest:
    """The content of a backup.

    Args:
      made_at: Time of the backup, with a time zone.
      tables: Number of rows of each table.
      files: sha256 of every other file, by its path in the folder.
      missing: Reason for each artefact that the database names but that is unusable.
    """

    made_at: datetime
    program: str
    revision: str
    tables: dict[str, int]
    files: dict[str, str]
    missing: dict[str, str]


_JSON = TypeAdapter(Manifest)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes the manifest, which completes a backup."""
    path = folder / MANIFEST
    path.touch(mode=0o600)
    path.write_bytes(_JSON.dump_json(manifest, indent=1))


def read_manifest(folder: Path) -> Manifest:
    """Returns the manifest of a backup, after checking every file.

    Raises:
      BadInputError: the folder is not a backup, or a file is missing or has changed.
    """
    try:
        manifest = _JSON.validate_json((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise BadInputError(
            f"{folder} is not a backup: it has no {MANIFEST}. Name a folder that 'harbor "
            "backup create' has made, or its parent folder."
        ) from None
    except ValidationError:
        raise _damaged(folder, f"{MANIFEST} cannot be read") from None
    for name, sha256 in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise _damaged(folder, f"{name} is missing")
        if file_sha256(path) != sha256:
            raise _damaged(folder, f"{name} does not match its sha256")
    return manifest


def backup_name(now: datetime) -> str:
    """Name of a backup created at `now`; names sort by time."""
    return f"harbor-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def complete_backups(folder: Path, now: datetime) -> list[Path]:
    """The complete backups in a folder, oldest first.

    A backup dated later than `now`, created while the clock was ahead, counts as the oldest.
    """
    found = (path.parent for path in folder.glob(f"harbor-*Z/{MANIFEST}"))
    return sorted(found, key=lambda path: (path.name <= backup_name(now), path.name))


def _damaged(folder: Path, reason: str) -> BadInputError:
    return BadInputError(
        f"{folder} is damaged: {reason}. Nothing was changed. Restore from "
        "another backup."
    )
