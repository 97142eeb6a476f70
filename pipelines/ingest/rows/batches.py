"""Types shared by the CSV and the Parquet reader: cells, rejected rows, rowwise batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

Cells = dict[str, pa.Array]
"""Arrays by schema column: trimmed texts, or Parquet's timestamps and numbers."""

MAX_CELL_CHARS = 500


@dataclass(frozen=True)
class RejectedRow:
    """A row for the quarantine.

    Args:
      line: Physical line of a text file, row of a Parquet file; both count from 1.
      column_name: Name in the schema; None if the row as a whole is invalid.
      raw: Cells by column name, or as a list if they do not fit the header.
    """

    line: int
    column_name: str | None
    value: str | None
    reason: str
    raw: dict[str, str | None] | list[str]


@dataclass(frozen=True)
class RowwiseBatch:
    """A batch whose rows were parsed one by one.

    Args:
      cells: Cells of the rows that fit the header and are not blank.
      lines: First line of each of those rows.
      raw: Returns all cells of the row at an index of `lines`.
      rejected: Rows that do not fit the header.
      n_blank: Number of rows whose cells are all empty.
      truncated_line: Line of the last row if it has no line end, and so may be truncated.
    """

    cells: Cells
    lines: Sequence[int]
    raw: Callable[[int], dict[str, str | None]]
    rejected: list[RejectedRow] = field(default_factory=list)
    n_blank: int = 0
    truncated_line: int | None = None


def trim(cells: pa.Array) -> pa.Array:
    """Trims texts and makes empty ones null."""
    if not pa.types.is_string(cells.type):
        return cells
    trimmed = pc.utf8_trim_whitespace(cells)
    empty = pc.equal(pc.binary_length(trimmed), 0)
    if not pc.any(empty).as_py():
        return trimmed
    return pc.if_else(empty, pa.scalar(None, pa.string()), trimmed)


def cell_text(cell: pa.Scalar) -> str | None:
    """Returns a cell as text for the quarantine; a timestamp after the year 9999 as a number."""
    if not cell.is_valid:
        return None
    if pa.types.is_floating(cell.type) or pa.types.is_decimal(cell.type):
        text = str(cell.cast(pa.string()).as_py())
        decimals = text.partition(".")[2]
        # Otherwise a replay could read 1.234 as 1,234.
        return f"{text}0" if len(decimals) == 3 and decimals.isdigit() else text
    try:
        return storable(str(cell.as_py()))
    except OverflowError:
        return str(cell.value)


def storable(text: str) -> str:
    """Returns a text for the quarantine: truncated, with NUL replaced."""
    return text.replace("\0", "\\x00")[:MAX_CELL_CHARS]
