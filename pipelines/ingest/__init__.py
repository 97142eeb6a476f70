"""Files to validated rows of every kind, and the quarantine.

sources  where files come from
rows     a file becomes checked rows
load     rows become tables
"""

from pipelines.ingest.load.replay import ReplayResult, replay
from pipelines.ingest.load.report import Counts, FileReport, IngestReport
from pipelines.ingest.load.service import LoadProgress, ingest, ingest_and_count
from pipelines.ingest.rows.options import FileOptions

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
