"""Skips files of the inbox that are still being written."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from pipelines.ingest.sources import Source, Unreadable

log = structlog.get_logger()

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class UnstableFile:
    """A file that is still being written."""

    display_path: str

    @property
    def note(self) -> str:
        """Sentence for the report."""
        return "It is still being written, and is left for the next load."


def wait_until_stable(
    files: Sequence[Source | Unreadable], inbox: Path, stable_s: float
) -> list[Source | Unreadable | UnstableFile]:
    """Waits for recently modified files, and marks those that changed meanwhile.

    Only files of the inbox are waited for; any other file is taken as it is, and refused
    if it changes while it is read.

    Args:
      files: The files, in order.
      inbox: Folder whose files are checked.
      stable_s: Seconds without a change after which a file is complete.
    """
    sources = [file for file in files if isinstance(file, Source)]
    recent = [file for file in sources if _is_recent(file, inbox, stable_s)]
    if not recent:
        return list(files)
    log.info("waiting_for_unstable_files", files=len(recent), seconds=stable_s)
    time.sleep(stable_s)
    unstable = {file.display_path for file in recent if not file.is_unchanged()}
    return [
        UnstableFile(file.display_path) if file.display_path in unstable else file
        for file in files
    ]


def _is_recent(file: Source, inbox: Path, stable_s: float) -> bool:
    """Whether an inbox file was modified recently; a time in the future counts as such."""
    on_disk = file.container or file
    if on_disk.url is not None:
        return False
    age_s = (time.time_ns() - (on_disk.modified_ns or 0)) / NANOSECONDS
    return Path(on_disk.path).is_relative_to(inbox) and age_s < stable_s
