"""Loads rows into tables; functions named `..._and_count` also recount demand.

service       loads all files of a call, in groups of one kind
loading       one file through its group's staging table; rejected rows to quarantine
plausibility  refuses files whose order ids are implausible
report        what was loaded, rejected and assumed, by file
replay        loads rows from quarantine
withdrawal    withdraws loaded files, and single events
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
