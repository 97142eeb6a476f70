"""What lies in a folder of invented files; written last, so that it vouches for the rest."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from pipelines.demo.fleet import InventedFleet

FORMAT = 1
"""Raised when the same seed gives other files."""
MANIFEST = "fleet.json"


@dataclass(frozen=True)
class Manifest:
    """A fleet that was written whole.

    Attributes:
      rows: In the files of orders, repeats and corrections included.
      orders: Each counted once.
      sizes: Bytes of each file by name.
    """

    format: int
    seed: int
    n_depots: int
    n_days: int
    ends_on: date
    rows: int
    orders: int
    sizes: dict[str, int]


def is_written(
    folder: Path, seed: int, n_depots: int, n_days: int, ends_on: date | None = None
) -> bool:
    """Whether that fleet lies in a folder whole; without `ends_on`, whatever its end."""
    found = read_manifest(folder)
    if found is None or found.format != FORMAT:
        return False
    if (found.seed, found.n_depots, found.n_days) != (seed, n_depots, n_days):
        return False
    return ends_on is None or found.ends_on == ends_on


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder, or None where a file is not as it says."""
    try:
        said = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        ends_on = date.fromisoformat(said.pop("ends_on"))
        manifest = Manifest(**said, ends_on=ends_on)
        sizes = {name: (folder / name).stat().st_size for name in manifest.sizes}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return manifest if sizes == manifest.sizes else None


def write_manifest(
    fleet: InventedFleet, folder: Path, rows: int, paths: Sequence[Path]
) -> None:
    """Writes it beside the files, by rename.

    Args:
      fleet: That was written.
      folder: Where.
      rows: In the files of orders.
      paths: Every file that was written.
    """
    manifest = Manifest(
        format=FORMAT,
        seed=fleet.seed,
        n_depots=len(fleet.depots),
        n_days=fleet.n_days,
        ends_on=fleet.ends_on,
        rows=rows,
        orders=fleet.n_orders,
        sizes={path.name: path.stat().st_size for path in paths},
    )
    unfinished = folder / f"{MANIFEST}.part"
    text = json.dumps(asdict(manifest), default=str, indent=1)
    unfinished.write_text(text + "\n", encoding="utf-8")
    unfinished.replace(folder / MANIFEST)
