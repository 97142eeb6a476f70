"""Reads, verifies and publishes the file of an artefact, as bytes."""

import hashlib
import io
import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from forecaster.errors import ArtefactError

SCHEMA = 14
"""Raise it when the layout or the meaning of the manifest or of the arrays changes, or
`data.effect_columns` does; not when the network's columns change, which is detected by their names."""
MANIFEST = "manifest.json"


def recorded_content(path: Path, sha256: str | None) -> bytes:
    """Reads an artefact file, and verifies its recorded sha256.

    Raises:
      ArtefactError: the file is missing, cannot be read, or is not the recorded one.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ArtefactError(
            f"{path.name} is not there. Restore it from the backup of the artefacts, or "
            "promote another model with 'harbor models promote VERSION'."
        ) from None
    except OSError as error:
        raise invalid_artefact(path, f"cannot be read ({error.strerror})") from error
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise ArtefactError(
            f"{path.name} is not the file that was recorded, so it is not used. Restore it "
            "from the backup of the artefacts."
        )
    return content


def publish(path: Path, content: bytes) -> None:
    """Writes an artefact file atomically, by rename.

    Weights reveal the fleet's demand: only the owner may read the file, and the folder's
    group if it may read the folder.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    readers = path.parent.stat().st_mode & stat.S_IRGRP
    staging = path.with_name(f".{path.name.removesuffix('.npz')}.{os.getpid()}.tmp")
    staging.unlink(missing_ok=True)
    created = os.open(staging, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(created, "wb") as file:
        os.fchmod(created, 0o600 | readers)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    staging.replace(path)


def parse(path: Path, content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Parses the manifest and the arrays of an artefact file; error messages name the file.

    Raises:
      ArtefactError: the file is truncated, is no artefact, or has another schema.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise invalid_artefact(path, "is not a complete artefact") from error
    if MANIFEST not in arrays:
        raise invalid_artefact(path, "has no manifest")
    try:
        manifest = dict(json.loads(arrays.pop(MANIFEST).tobytes()))
    except (TypeError, ValueError) as error:
        raise invalid_artefact(path, "has a manifest that cannot be read") from error
    if manifest.get("schema") != SCHEMA:
        raise ArtefactError(
            f"{path.name} has schema {manifest.get('schema')}, and this program reads "
            f"schema {SCHEMA}. Take another of 'harbor models list', or train one with "
            f"'harbor train --through {manifest.get('trained_through', 'DAY')}'."
        )
    return manifest, arrays


def manifest_of(path: Path) -> dict[str, Any] | None:
    """The manifest of an artefact file, whatever its schema; its arrays are not read.

    None for a missing or damaged file, which `recorded_content` and `parse` report.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return dict(json.loads(stored[MANIFEST].tobytes()))
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        return None


def invalid_artefact(path: Path, why: str) -> ArtefactError:
    """Returns the error for an artefact file that cannot be used, with the reason."""
    return ArtefactError(
        f"{path.name} {why}, so it is not used. Restore it from the backup of the "
        "artefacts, or train again with 'harbor train'."
    )
