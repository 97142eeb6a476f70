"""Takes away the artefacts of models that nobody will forecast with again.

First the database says that they are gone, then the files go: whoever is stopped in
between leaves files that nobody names any more, and the next one takes them away.
"""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa

from pipelines.settings import Settings
from pipelines.store import artefacts as store
from pipelines.training.file_age import older_than

WRITTEN_FOR = timedelta(days=1)
"""A younger file is left: a training that makes a pruned model anew writes it now."""


@dataclass(frozen=True)
class Pruned:
    """What was taken away.

    Args:
      models: Versions of those recorded as pruned now.
      files: Artefacts removed, those included that an earlier pruning left.
      size_bytes: Of these.
    """

    models: list[str]
    files: int
    size_bytes: int

    @property
    def is_nothing(self) -> bool:
        """Whether nothing was old enough."""
        return not (self.models or self.files)


def prune_artefacts(engine: sa.Engine, settings: Settings) -> Pruned:
    """Removes artefacts that are old and that nothing needs; their models stay listed.

    Needed are those of the champion, of the one before it, of challengers, of the
    forecasts shown, of backfills under way, and of who was champion within those days,
    each with the fit it was judged by.
    Safe to repeat.

    Args:
      engine: Database the pipelines own.
      settings: The folder of the artefacts, and `keep_artefacts_days`.
    """
    with engine.begin() as connection:
        versions = store.prune(connection, settings.keep_artefacts_days)
    there = {path.name: path for path in settings.artefacts.glob("*.npz")}
    with engine.connect() as connection:
        gone = [there[name] for name in store.gone_of(connection, there)]
    sizes = [_remove(path) for path in older_than(gone, WRITTEN_FOR)]
    removed = [size for size in sizes if size is not None]
    return Pruned(versions, len(removed), sum(removed))


def _remove(path: Path) -> int | None:
    """Removes a file, and says how large it was; None where another pruning was first."""
    try:
        size = path.stat().st_size
        path.unlink()
    except FileNotFoundError:
        return None
    return size
