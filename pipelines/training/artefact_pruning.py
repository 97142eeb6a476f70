"""Removes the artefacts of models that are no longer needed.

The database records them as pruned before the files are removed: after an interruption
in between, the next pruning removes the remaining files.
"""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa

from pipelines.settings import Settings
from pipelines.store import artefacts
from pipelines.training.cleanup import older_than

MIN_AGE = timedelta(days=1)
"""Younger files are kept: a training may be writing a pruned model again."""


@dataclass(frozen=True)
class PrunedArtefacts:
    """The versions newly recorded as pruned, and the number and size of the removed files.

    The files include those that an earlier pruning left.
    """

    models: list[str]
    files: int
    size_bytes: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing was pruned."""
        return not (self.models or self.files)


def prune_artefacts(engine: sa.Engine, settings: Settings) -> PrunedArtefacts:
    """Removes old artefacts that are not needed; their models stay listed.

    Needed are the artefacts of the champion, the previous champion, challengers, the newest
    forecasts, and recent champions, each with its evaluation model. Safe to repeat.
    """
    with engine.begin() as connection:
        versions = artefacts.prune(connection, settings.keep_artefacts_days)
    paths = {path.name: path for path in settings.artefacts.glob("*.npz")}
    with engine.connect() as connection:
        pruned = [paths[name] for name in artefacts.pruned_files(connection, paths)]
    sizes = [_remove(path) for path in older_than(pruned, MIN_AGE)]
    removed = [size for size in sizes if size is not None]
    return PrunedArtefacts(versions, len(removed), sum(removed))


def _remove(path: Path) -> int | None:
    """Removes a file and returns its size in bytes; None if it was already removed."""
    try:
        size = path.stat().st_size
        path.unlink()
    except FileNotFoundError:
        return None
    return size
