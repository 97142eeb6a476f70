"""Moves files of the inbox that were loaded to `inbox/done`, so that no night reads them again."""

from datetime import UTC, datetime
from pathlib import Path

import structlog

from pipelines.ingest.sources import Source

log = structlog.get_logger()

DONE = "done"


def put_away(source: Source, inbox: Path) -> None:
    """Moves a loaded file of the inbox to the same place below `inbox/done`.

    A file that was written anew since, or that may not be moved, stays: the next load
    looks at it again, and knows it by its sha256.

    Args:
      source: A file whose rows are in the database.
      inbox: Files elsewhere stay where they are.
    """
    lying = source.container or source
    path = Path(lying.path)
    if lying.url is not None or not path.is_relative_to(inbox):
        return
    inside = path.relative_to(inbox)
    if inside.parts[0] == DONE or not source.is_unchanged():
        return
    try:
        _move(path, inbox / DONE / inside)
    except OSError as error:
        log.warning("file_stays", path=source.shown, reason=error.strerror)


def _move(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        target = target.with_name(f"{moment}-{path.name}")
    path.rename(target)
