"""What a backup holds: a list of its parts with their sha256, written last."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from forecaster.errors import BadInputError

FORMAT = 1
MANIFEST = "manifest.json"
DATABASE = "database.dump"
ARTEFACTS = "artefacts"


@dataclass(frozen=True)
class Part:
    """One file of a backup, by its path in the backup's folder."""

    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """A whole backup.

    Args:
      made_at: When, with a time zone.
      program: Version of the program that made it.
      postgres: Version of the server.
      revision: Schema of the database.
      tables: Rows of each table, in the same moment as all the rest.
      parts: Every file but the manifest itself.
      missing: Artefacts that the database names and that were not whole, with why.
    """

    made_at: datetime
    program: str
    postgres: str
    revision: str
    tables: dict[str, int]
    parts: tuple[Part, ...]
    missing: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """As it is written down; its own sha256 is of the rest."""
        plain = {**asdict(self), "made_at": self.made_at.isoformat(), "format": FORMAT}
        return {**plain, "sha256": _digest(plain)}


def part_of(folder: Path, path: Path) -> Part:
    """A file as it is now."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        size = file.tell()
    return Part(path.relative_to(folder).as_posix(), size, digest.hexdigest())


def write(folder: Path, manifest: Manifest) -> None:
    """Makes the folder a backup: without it, it is none."""
    text = json.dumps(manifest.to_json(), indent=1, sort_keys=True)
    (folder / MANIFEST).write_text(f"{text}\n")
    (folder / MANIFEST).chmod(0o600)


def read(folder: Path) -> Manifest:
    """The manifest of a backup that is whole: every part is there and unchanged.

    Raises:
      BadInputError: it is no backup, of a newer program, or not as it was made.
    """
    manifest = _read_manifest(folder)
    wrong = [_what_is_wrong(folder, part) for part in manifest.parts]
    told = [each for each in wrong if each]
    if told:
        raise _not_as_made(folder, "; ".join(told))
    return manifest


def keep_to_disk(folder: Path) -> None:
    """Waits until everything in a folder outlives a loss of power."""
    for path in [*folder.rglob("*"), folder]:
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _read_manifest(folder: Path) -> Manifest:
    try:
        found = json.loads((folder / MANIFEST).read_text())
    except FileNotFoundError:
        raise BadInputError(
            f"{folder} is no backup: it has no {MANIFEST}. Name a folder that 'harbor "
            "backup create' has made, or the folder above."
        ) from None
    except (OSError, ValueError) as error:
        raise _not_as_made(folder, f"{MANIFEST} cannot be read") from error
    if isinstance(found, dict) and found.get("format") != FORMAT:
        raise BadInputError(
            f"{folder} has format {found.get('format')}, and this program reads format "
            f"{FORMAT}. Use the release that made it."
        )
    try:
        promised = found.pop("sha256")
        if _digest(found) != promised:
            raise _not_as_made(folder, f"{MANIFEST} does not match its sha256")
        return _from_json(found)
    except (AttributeError, KeyError, TypeError) as error:
        raise _not_as_made(folder, f"{MANIFEST} lacks a part") from error


def _from_json(found: dict[str, Any]) -> Manifest:
    names = set(Manifest.__dataclass_fields__)
    given = Manifest(**{name: value for name, value in found.items() if name in names})
    return replace(
        given,
        made_at=datetime.fromisoformat(found["made_at"]),
        parts=tuple(Part(**part) for part in found["parts"]),
    )


def _what_is_wrong(folder: Path, part: Part) -> str | None:
    path = folder / part.path
    if not path.resolve().is_relative_to(folder.resolve()):
        return f"{part.path} lies outside"
    if not path.is_file():
        return f"{part.path} is not there"
    found = part_of(folder, path)
    if found.size_bytes != part.size_bytes:
        return f"{part.path} has {found.size_bytes:,} of {part.size_bytes:,} bytes"
    return None if found == part else f"{part.path} does not match its sha256"


def _not_as_made(folder: Path, why: str) -> BadInputError:
    return BadInputError(
        f"{folder} is not as it was made: {why}. Nothing was changed. Restore from "
        "another backup."
    )


def _digest(plain: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
