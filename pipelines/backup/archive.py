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
      missing: Artefacts that the database names and that are unusable, with the reason.
    """

    made_at: datetime
    program: str
    revision: str
    tables: dict[str, int]
    files: dict[str, str]
    missing: dict[str, str]


_JSON = TypeAdapter(Manifest)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Completes a backup: a folder without a manifest is none."""
    path = folder / MANIFEST
    path.touch(mode=0o600)
    path.write_bytes(_JSON.dump_json(manifest, indent=1))


def read_manifest(folder: Path) -> Manifest:
    """Returns the manifest of a backup, after checking every file.

    Raises:
      BadInputError: the folder is no backup, or a file is missing or has changed.
    """
    try:
        manifest = _JSON.validate_json((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise BadInputError(
            f"{folder} is no backup: it has no {MANIFEST}. Name a folder that 'harbor "
            "backup create' has made, or the folder above."
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
    """The name of a backup that is made now: they sort by time."""
    return f"harbor-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def complete_backups(folder: Path, now: datetime) -> list[Path]:
    """The complete backups in a folder, oldest first.

    Those of a clock that was ahead, with a time later than now, count as the oldest.
    """
    found = (path.parent for path in folder.glob(f"harbor-*Z/{MANIFEST}"))
    return sorted(found, key=lambda path: (path.name <= backup_name(now), path.name))


def _damaged(folder: Path, reason: str) -> BadInputError:
    return BadInputError(
        f"{folder} is damaged: {reason}. Nothing was changed. Restore from "
        "another backup."
    )
