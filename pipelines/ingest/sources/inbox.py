"""The inbox: files still being written are skipped, loaded ones are moved to `inbox/done`."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import structlog

from pipelines.ingest.sources.files import Skipped, Source
from pipelines.settings.ingest import DONE

log = structlog.get_logger()

NANOSECONDS = 1_000_000_000
STILL_WRITTEN = "It is still being written, and is left for the next load."


def wait_until_stable(
    files: Sequence[Source | Skipped], inbox: Path, stable_s: float
) -> list[Source | Skipped]:
    """Waits for recently modified files of the inbox, and marks those that changed meanwhile.

    A file is complete after `stable_s` seconds without a change. Files elsewhere
    are not waited for, and are refused if they change while they are read.
    """
    sources = [file for file in files if isinstance(file, Source)]
    recent = [file for file in sources if _is_recent(file, inbox, stable_s)]
    if not recent:
        return list(files)
    log.info("waiting_for_unstable_files", files=len(recent), seconds=stable_s)
    time.sleep(stable_s)
    unstable = {file.display_path for file in recent if not file.is_unchanged()}
    return [
        Skipped(file.display_path, STILL_WRITTEN, is_waiting=True)
        if file.display_path in unstable
        else file
        for file in files
    ]


def _is_recent(file: Source, inbox: Path, stable_s: float) -> bool:
    """Whether an inbox file was modified recently; a future time counts as recent."""
    on_disk = file.container or file
    age_s = (time.time_ns() - (on_disk.modified_ns or 0)) / NANOSECONDS
    return on_disk.is_below(inbox) and age_s < stable_s


def move_to_done(source: Source, inbox: Path) -> None:
    """Moves a loaded inbox file to the same path below `inbox/done`; leaves other files.

    A file that has changed since stays, and the next load reads it. A file that cannot be
    moved stays too; the next load recognises it by its sha256.
    """
    on_disk = source.container or source
    if not on_disk.is_below(inbox):
        return
    path = Path(on_disk.path)
    inside = path.relative_to(inbox)
    if inside.parts[0] == DONE or not source.is_unchanged():
        return
    target = inbox / DONE / inside
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
            target = target.with_name(f"{moment}-{path.name}")
        path.rename(target)
    except OSError as error:
        log.warning(
            "move_to_done_failed", path=source.display_path, reason=error.strerror
        )
