"""A benchmark's ratios for machines: one JSON object, apart from what it prints."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from tests.benchmarks.machine import stamp


def add_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--json PATH`, which every benchmark has."""
    parser.add_argument(
        "--json", type=Path, metavar="PATH", help="write the ratios there as JSON"
    )


def write(path: Path | None, benchmark: str, ratios: Mapping[str, float]) -> None:
    """Writes the ratios of one run; does nothing without a path.

    Args:
      path: Value of `--json`; None writes nothing.
      benchmark: Put before each name, so that names of all benchmarks differ.
      ratios: Ratios taken in this run, or counts and MiB.
    """
    if path is None:
        return
    named = {f"{benchmark}.{name}": round(value, 4) for name, value in ratios.items()}
    path.write_text(json.dumps({"made": stamp(), "ratios": named}, indent=1) + "\n")


def read(path: Path) -> dict[str, float]:
    """The ratios that `write` wrote."""
    ratios: dict[str, float] = json.loads(path.read_text())["ratios"]
    return ratios
