"""Forecasts of earlier runs, kept on disk, so that a benchmark runs only what is new."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Run = tuple[dict[str, np.ndarray], dict[str, Any]]
"""Arrays by name, and what JSON can hold of each model."""


def stored_or_new(path: Path, digest: str, again: bool, run: Callable[[], Run]) -> Run:
    """Returns what is stored for the data of that digest, or runs and stores it."""
    if path.exists() and not again:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        contents = json.loads(str(arrays.pop("contents")))
        if contents["digest"] == digest:
            return arrays, contents["models"]
    arrays, models = run()
    contents = json.dumps({"digest": digest, "models": models})
    np.savez_compressed(path, contents=np.array(contents), **arrays)
    return arrays, models
