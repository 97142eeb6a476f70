"""Files to validated rows: orders, daily counts, depots, events, and the quarantine.

service         loads all files of a call          loading   one file in one transaction
spool, sources  files, folders, URLs, archives → files that can be opened
file_stability  skips files that are still being written
matching        source of harbor.toml whose options a file is read with
kind_detection  header → kind of file and column positions, by file_schemas
text, parquet   CSV or Parquet → batches of cells (text_blocks: bytes → blocks of rows)
conventions     detects date order and decimal mark over the whole file
validation      cells → typed rows and rejected rows, by file_schemas, parsing and dates
chunks, parser  validated rows, parsed in a child process (child, ipc)
plausibility    refuses order ids that are not ids or another partner's
replay          loads rows from quarantine         withdrawal  removes a loaded file
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
