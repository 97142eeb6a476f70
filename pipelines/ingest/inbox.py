"""Moves loaded files of the inbox to `inbox/done`, so that no later run reads them."""

from datetime import UTC, datetime
from pathlib import Path

import structlog

from pipelines.ingest.sources import Source

log = structlog.get_logger()

DONE = "done"


def move_to_done(source: Source, inbox: Path) -> None:
    """Moves a loaded file of the inbox to the same place below `inbox/done`.

    A file that was written again since, or that cannot be moved, stays: the next load
    recognises it by its sha256.

    Args:
      source: A loaded file.
      inbox: The inbox; files elsewhere are not moved.
    """
    on_disk = source.container or source
    path = Path(on_disk.path)
    if on_disk.url is not None or not path.is_relative_to(inbox):
        return
    inside = path.relative_to(inbox)
    if inside.parts[0] == DONE or not source.is_unchanged():
        return
    try:
        _move(path, inbox / DONE / inside)
    except OSError as error:
        log.warning(
            "move_to_done_failed", path=source.display_path, reason=error.strerror
        )


def _move(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        target = target.with_name(f"{moment}-{path.name}")
    path.rename(target)
