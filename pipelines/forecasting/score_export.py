"""Writes the view `daily_scores` to a file."""

from dataclasses import dataclass
from datetime import date
from itertools import chain
from pathlib import Path

import pyarrow as pa
import sqlalchemy as sa
from pyarrow import csv, parquet

from pipelines.schema.spreadsheet_cells import safe_cell
from pipelines.store.reader_views import SCORE_SCHEMA, read_batches
from pipelines.whole_file import whole_file

SCORES_OF_DAYS = """
select * from daily_scores
where target_on >= coalesce(cast(:first as date), '-infinity')
  and target_on <= coalesce(cast(:last as date), 'infinity')
order by target_on, origin_on, depot_id, model_version
"""


@dataclass(frozen=True)
class ExportedScores:
    """The scores in a file: their number, and their first and last target day."""

    rows: int
    first_on: date
    last_on: date


def export_scores(
    engine: sa.Engine, path: Path, first_on: date | None, last_on: date | None
) -> ExportedScores | None:
    """Writes the scores of a range of target days; an existing file is replaced at the end.

    The file is CSV if its suffix is `.csv`, else Parquet. Without a first or last day, the range
    has no limit on that side.

    Returns:
      Number and days of the scores; None, and nothing is written, if there are no scores.
    """
    parameters = {"first": first_on, "last": last_on}
    writer = csv.CSVWriter if path.suffix == ".csv" else parquet.ParquetWriter
    n_rows = 0
    with engine.connect() as connection:
        batches = read_batches(connection, SCORES_OF_DAYS, parameters, SCORE_SCHEMA)
        first = next(batches, None)
        if first is None:
            return None
        with whole_file(path) as unfinished, writer(unfinished, SCORE_SCHEMA) as file:
            for batch in chain([first], batches):
                file.write(_safe(batch) if path.suffix == ".csv" else batch)
                n_rows += len(batch)
    # In the order of their target days.
    first_on, last_on = first["target_on"][0].as_py(), batch["target_on"][-1].as_py()
    return ExportedScores(n_rows, first_on, last_on)


def _safe(batch: pa.Table) -> pa.Table:
    """The same rows, with texts quoted that a spreadsheet would take for formulas."""
    for position, field in enumerate(batch.schema):
        if pa.types.is_string(field.type):
            safe = [safe_cell(value) for value in batch.column(position).to_pylist()]
            batch = batch.set_column(position, field, pa.array(safe, field.type))
    return batch
