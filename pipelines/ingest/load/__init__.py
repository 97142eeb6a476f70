"""Rows become tables: what changes them also counts demand, where its name says so.

service       loads all files of a call, in groups of one kind
loading       one file through its group's staging table; rejected rows to quarantine
plausibility  refuses order ids that are not ids or another partner's
report        what was loaded, rejected and assumed, by file
replay        loads rows from quarantine
withdrawal    takes back a loaded file, or an event
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
