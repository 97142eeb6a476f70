"""Arrow tables as CSV for COPY, and back.

Apart from `copying`, so that the child that parses files need not load the database driver.
"""

from collections.abc import Sequence

import pyarrow as pa
from pyarrow import csv as arrow_csv


def as_csv(rows: pa.Table) -> memoryview:
    """Returns rows as CSV for COPY."""
    sink = pa.BufferOutputStream()
    arrow_csv.write_csv(rows, sink, arrow_csv.WriteOptions(include_header=False))
    return memoryview(sink.getvalue())


def from_csv(rows: bytes | memoryview, columns: Sequence[str]) -> pa.Table:
    """Reads what `as_csv` wrote, every value as text."""
    return arrow_csv.read_csv(
        pa.BufferReader(rows),
        arrow_csv.ReadOptions(column_names=columns, use_threads=False),
        arrow_csv.ParseOptions(newlines_in_values=True),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
