"""Files to validated rows: orders, daily counts, depots, events, and the quarantine.

sources      what was named → files that open
matching     which source of harbor.toml a file is of, and what it says of its files
recognition  a header → the kind of file, and where its columns stand
text, lines  CSV → batches of texts        parquet  Parquet → the same
checking     texts → typed rows and rejected rows, by contract, parsing and dates
conventions  how dates and numbers are written, proved over the whole file
parcels      what a parsed file is handed over as; parser, child and wire: by another process
plausibility whether ids can be ids, and orders one partner's
settling     half-written files are left      replay   rows out of quarantine
loading      one file in one transaction      door     all files of a call
"""

from pipelines.ingest.replay import Replayed, replay
from pipelines.ingest.report import Counts, FileOptions, FileReport, IngestReport
from pipelines.ingest.service import LoadProgress, Progress, ingest

__all__ = [
    "Counts",
    "FileOptions",
    "FileReport",
    "IngestReport",
    "LoadProgress",
    "Progress",
    "Replayed",
    "ingest",
    "replay",
]
