"""Files to validated rows of every kind, and the quarantine.

service             loads all files of a call, in groups of one kind
loading             one file through its group's staging table; rejected rows to quarantine
refusals            why a file is refused
inbox               waits for files still being written, moves loaded ones to `done`
spool, sources      files, folders, URLs, archives → files that can be opened
database_source     the rows of a query on another database → CSV
workbook            the one sheet of a spreadsheet → CSV
options             how a file is read: options of the call and of its source in harbor.toml
kind_detection      header → kind of file and column positions, by file_schemas
column_suggestions  the --column options that a file of unknown columns may need
text, parquet       CSV or Parquet → batches of cells (text_blocks: bytes → blocks of rows)
batches             the types of those batches, and of rejected rows
conventions         detects date order and decimal mark over the whole file
validation          cells → typed rows and rejected rows, by file_schemas, parsing and dates
parser              runs all of that in a child process with a memory limit
plausibility        refuses order ids that are not ids or another partner's
report              what was loaded, rejected and assumed, by file
replay              loads rows from quarantine
withdrawal          removes a loaded file; event_withdrawal: withdraws an event by hand
"""

from pipelines.ingest.options import FileOptions
from pipelines.ingest.replay import ReplayResult, replay
from pipelines.ingest.report import Counts, FileReport, IngestReport
from pipelines.ingest.service import LoadProgress, ingest, ingest_and_count

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
