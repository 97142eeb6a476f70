"""Files to validated rows of every kind, and the quarantine.

sources  where files come from
rows     a file becomes checked rows
load     rows become tables
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.ingest.load import (
        Counts,
        FileOptions,
        FileReport,
        IngestReport,
        LoadProgress,
        ReplayResult,
        ingest,
        ingest_and_count,
        replay,
    )

__all__ = [
    "Counts",
    "FileOptions",
    "FileReport",
    "IngestReport",
    "LoadProgress",
    "ReplayResult",
    "ingest",
    "ingest_and_count",
    "replay",
]


def __getattr__(name: str) -> Any:
    """Imports what loads files when it is first used; the parser's process has no database."""
    if name in __all__:
        from pipelines.ingest import load

        return getattr(load, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
