"""Arrow tables as CSV for COPY.

Separate from `copying`, so that the child process that parses files loads no database driver.
"""

import pyarrow as pa
from pyarrow import csv as arrow_csv


def as_csv(rows: pa.Table) -> memoryview:
    """Returns rows as CSV for COPY."""
    sink = pa.BufferOutputStream()
    arrow_csv.write_csv(rows, sink, arrow_csv.WriteOptions(include_header=False))
    return memoryview(sink.getvalue())
