"""Leaves files of the inbox alone that are still being written."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from pipelines.ingest.sources import Source, Unreadable

log = structlog.get_logger()

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Unsettled:
    """A file that somebody is writing to."""

    shown: str

    @property
    def note(self) -> str:
        """Why nothing was done."""
        return "It is still being written, and is left for the next load."


def settled(
    found: Sequence[Source | Unreadable], inbox: Path, settle_s: float
) -> list[Source | Unreadable | Unsettled]:
    """Waits until files that have just changed would have settled, and looks again.

    Whoever fills the inbox may be at it still; a file that somebody has named is taken as
    it is, and refused if it changes while it is read.

    Args:
      found: In order.
      inbox: Only files below it are looked at.
      settle_s: A file that does not change for so long is whole.
    """
    sources = [each for each in found if isinstance(each, Source)]
    young = [each for each in sources if _is_young(each, inbox, settle_s)]
    if not young:
        return list(found)
    log.info("waits_for_files", files=len(young), seconds=settle_s)
    time.sleep(settle_s)
    unsettled = {each.shown for each in young if not each.is_unchanged()}
    return [
        Unsettled(each.shown) if each.shown in unsettled else each for each in found
    ]


def _is_young(each: Source, inbox: Path, settle_s: float) -> bool:
    """A time of change that lies ahead says nothing, so such a file counts as young."""
    lying = each.container or each
    if lying.url is not None:
        return False
    age_s = (time.time_ns() - (lying.modified_ns or 0)) / NANOSECONDS
    return Path(lying.path).is_relative_to(inbox) and age_s < settle_s
