"""What both readers hand over: rows by the batch, and rows one by one where one is bad."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest.kind_detection import Plan

Cells = dict[str, Any]
"""Arrays by the contract's column names: tidy texts, or Parquet's own times and numbers."""

LONGEST_TOLD = 500


@dataclass(frozen=True)
class RejectedRow:
    """A row for the quarantine.

    Args:
      line: Physical line of a text file, row of a Parquet file; both count from 1.
      column_name: In the contract's words; None where the row as a whole is wrong.
      raw: Its cells by name, or in order where they do not fit the header.
    """

    line: int
    column_name: str | None
    value: str | None
    reason: str
    raw: dict[str, str | None] | list[str]


@dataclass(frozen=True)
class Detail:
    """A batch looked at row by row.

    Args:
      cells: Of the rows that have the right number of cells and are not blank.
      lines: Where each of those rows begins.
      raw: All cells of one of those rows.
      rejected: Rows that fit no header.
      blank: Rows without anything in any cell.
      unfinished: Line of a last row that nothing ends, which may be half a row.
    """

    cells: Cells
    lines: Sequence[int]
    raw: Callable[[int], dict[str, str | None]]
    rejected: list[RejectedRow] = field(default_factory=list)
    blank: int = 0
    unfinished: int | None = None


class Batch(Protocol):
    """Some rows of a file, one after the other."""

    @property
    def size(self) -> int:
        """Bytes of the file it stands for, about."""

    def cells(self) -> Cells | None:
        """Its columns; None where rows do not fit and must be looked at one by one."""

    def detail(self) -> Detail:
        """Its rows one by one, with where they stand."""


class TableFile(Protocol):
    """A file whose header has been understood."""

    @property
    def plan(self) -> Plan:
        """How it is read."""

    @property
    def separator(self) -> str | None:
        """Between its cells; None where it is no text."""

    def batches(self) -> Iterator[Batch]:
        """Its rows in order; may be called again.

        Raises:
          RefusedFileError: the bytes cannot be read as what they claim to be.
        """


def tidy(cells: pa.Array) -> pa.Array:
    """Trims texts and makes empty ones null."""
    if not pa.types.is_string(cells.type):
        return cells
    trimmed = pc.utf8_trim_whitespace(cells)
    empty = pc.equal(pc.binary_length(trimmed), 0)
    if not pc.any(empty).as_py():
        return trimmed
    return pc.if_else(empty, pa.scalar(None, pa.string()), trimmed)


def shown(cell: pa.Scalar) -> str:
    """A cell that holds something, as the quarantine can keep it."""
    if pa.types.is_floating(cell.type):
        cell = cell.cast(pa.string())
    return storable(str(cell.as_py()))


def storable(text: str) -> str:
    """A text as the quarantine can keep it: not endless, and without NUL."""
    return text.replace("\0", "\\x00")[:LONGEST_TOLD]
