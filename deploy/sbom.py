"""Writes what a lock file brings as a CycloneDX document: name, version, purl, hashes.

    python deploy/sbom.py requirements.lock > sbom.json

The same lock gives the same bytes: nothing of the time, the machine, or where packages
are fetched from is in it. Needs nothing but Python.
"""

import argparse
import hashlib
import json
import re
import sys
import tomllib
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
PINNED = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?==(?P<version>[^\s;\\]+)"
    r"(?:\s*;\s*(?P<marker>.*?))?\s*\\?$"
)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
OURS = re.compile(r"^(?P<name>[A-Za-z0-9._-]+) \(.*\)$")


@dataclass
class Pin:
    """One package of a lock."""

    name: str
    version: str
    marker: str | None
    hashes: list[str] = field(default_factory=list)
    wanted_by: list[str] = field(default_factory=list)

    @property
    def purl(self) -> str:
        """Names it for every tool, wherever it comes from."""
        return f"pkg:pypi/{self.name}@{quote(self.version, safe='')}"


def read_lock(text: str) -> list[Pin]:
    """The packages of a lock, in its order.

    Raises:
      ValueError: a line is none that a lock has, or a package has no hash.
    """
    pins: list[Pin] = []
    for number, line in enumerate(text.splitlines(), start=1):
        said = line.strip()
        if found := PINNED.match(line):
            name = re.sub(r"[-_.]+", "-", found["name"]).lower()
            pins.append(Pin(name, found["version"], found["marker"]))
        elif found := HASH.match(said):
            pins[-1].hashes.append(found[1])
        elif said.startswith("#") and pins and line.startswith(" "):
            pins[-1].wanted_by += _wanted_by(said)
        elif said and not said.startswith(("#", "--")):
            raise ValueError(
                f"Line {number} is {said!r}, which no lock has. Make it with 'make lock'."
            )
    bare = [pin.name for pin in pins if not pin.hashes]
    if bare:
        raise ValueError(
            f"{len(bare)} packages have no hash, such as {bare[0]}. Make the lock with "
            "'make lock'."
        )
    return pins


def document(lock: str, name: str, version: str) -> dict[str, Any]:
    """The CycloneDX document of a lock's text.

    Args:
      lock: The whole file.
      name: Of the program that is locked.
      version: Of it.
    """
    pins = read_lock(lock)
    digest = hashlib.sha256(lock.encode()).hexdigest()
    ours = {"type": "application", "bom-ref": name, "name": name, "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "version": 1,
        "metadata": {"component": ours},
        "components": [_component(pin) for pin in pins],
        "dependencies": list(_dependencies(pins, name)),
    }


def main() -> None:
    """Reads the lock that is named and writes to standard output."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lock", type=Path, help="such as requirements.lock")
    lock = parser.parse_args().lock.read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    made = document(lock, project["name"], project["version"])
    sys.stdout.write(json.dumps(made, indent=1, sort_keys=True) + "\n")


def _wanted_by(comment: str) -> Iterator[str]:
    said = comment.lstrip("# ").removeprefix("via").strip()
    if said:
        found = OURS.match(said)
        yield found["name"] if found else said


def _component(pin: Pin) -> dict[str, Any]:
    # One for each file that the lock lets in: a wheel per platform, and the source.
    hashes = [{"alg": "SHA-256", "content": each} for each in pin.hashes]
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": pin.purl,
        "name": pin.name,
        "version": pin.version,
        "purl": pin.purl,
        "hashes": hashes,
    }
    if pin.marker:
        made["properties"] = [{"name": "harbor:only-where", "value": pin.marker}]
    return made


def _dependencies(pins: list[Pin], name: str) -> Iterator[dict[str, Any]]:
    """Who wants whom, where the lock says so."""
    refs = {pin.name: pin.purl for pin in pins} | {name: name}
    wants: dict[str, set[str]] = defaultdict(set)
    for pin in pins:
        for parent in pin.wanted_by:
            wants[parent].add(pin.purl)
    for parent in sorted(wants.keys() & refs.keys()):
        yield {"ref": refs[parent], "dependsOn": sorted(wants[parent])}


if __name__ == "__main__":
    main()
