"""Reads the views of `schema.reader_views` as Arrow, a batch at a time."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

BATCH_ROWS = 50_000
NUMBER, TEXT, DAY = pa.float64(), pa.string(), pa.date32()
ORIGIN = [("origin_on", DAY), ("target_on", DAY), ("horizon", pa.int32())]
BAND = [("p10", NUMBER), ("p50", NUMBER), ("p90", NUMBER)]
FORECAST_SCHEMA = pa.schema(
    [
        ("depot_id", TEXT), ("city", TEXT), *ORIGIN, *BAND, ("point", NUMBER),
        ("planned", NUMBER), ("basis", TEXT), ("model_version", TEXT),
        ("is_live", pa.bool_()), ("made_at", pa.timestamp("us", "UTC")),
    ]
)  # fmt: skip
TOTAL_SCHEMA = pa.schema(
    [("city", TEXT), *ORIGIN, *BAND, ("planned", NUMBER), ("model_version", TEXT)]
)
SCORE_SCHEMA = pa.schema(
    [
        ("depot_id", TEXT), ("city", TEXT), *ORIGIN, ("actual", NUMBER), *BAND,
        ("point", NUMBER), ("seasonal_naive", NUMBER), ("median4", NUMBER),
        ("model_version", TEXT), ("is_live", pa.bool_()), ("is_shown", pa.bool_()),
    ]
)  # fmt: skip
"""Columns of the views in order, as they are written to files."""


def read_batches(
    connection: sa.Connection,
    statement: str,
    parameters: Mapping[str, Any],
    schema: pa.Schema,
) -> Iterator[pa.Table]:
    """Yields the rows of a statement as tables of a schema; no table if there are no rows."""
    streamed = {"stream_results": True, "yield_per": BATCH_ROWS}
    result = connection.execute(
        sa.text(statement), parameters, execution_options=streamed
    )
    for rows in result.partitions():
        columns = zip(*rows, strict=True)
        arrays = [
            pa.array(values, field.type)
            for values, field in zip(columns, schema, strict=True)
        ]
        yield pa.Table.from_arrays(arrays, schema=schema)
