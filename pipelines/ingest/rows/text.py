"""Reads CSV files: finds the header and the separator, and detects truncation."""

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
from pyarrow import csv as arrow_csv

from forecaster.errors import RefusedFileError
from pipelines.ingest.rows.batches import (
    Cells,
    RejectedRow,
    RowwiseBatch,
    storable,
    trim,
)
from pipelines.ingest.rows.kind_detection import (
    FileMapping,
    detect_mapping,
    known_names,
    match_score,
    matching_schemas,
)
from pipelines.ingest.rows.options import FileOptions
from pipelines.ingest.rows.text_blocks import Block, read_blocks
from pipelines.ingest.sources.files import Source

SEPARATORS = (",", ";", "\t", "|")
MAX_HEADER_LINES = 50


@dataclass(frozen=True)
class Header:
    """The header of a CSV file, the number of its last line, and the separator."""

    cells: list[str]
    separator: str
    last_line: int


@dataclass(frozen=True)
class TextFile:
    """A CSV file whose header has been read."""

    source: Source
    mapping: FileMapping
    separator: str
    header_line: int
    encoding: str

    def batches(self) -> Iterator["TextBatch"]:
        """Yields its rows in order."""
        for block in read_blocks(self.source, self.encoding):
            rows = block.after_line(self.header_line)
            if rows.data:
                yield TextBatch(rows, self)


def open_text(source: Source, options: FileOptions) -> TextFile:
    """Finds the header of a CSV file.

    Raises:
      RefusedFileError: the file is empty or not text, or its header fits no kind.
    """
    first = next(read_blocks(source, options.codec), None)
    if first is None or not first.data.strip():
        raise RefusedFileError(f"{source.name} is empty. Send it again.")
    header = find_header(first.data, options)
    if header is None:
        raise RefusedFileError(
            f"{source.name} has no column names in its first {MAX_HEADER_LINES} lines. "
            "Write them above the rows."
        )
    mapping = detect_mapping(header.cells, options, source.name)
    return TextFile(source, mapping, header.separator, header.last_line, options.codec)


def find_header(data: bytes, options: FileOptions) -> Header | None:
    """Returns the first line that fits a kind, else the likeliest header.

    The likeliest has the most matched columns, then the most filled cells, and stands first.
    """
    text = b"".join(islice(io.BytesIO(data), MAX_HEADER_LINES)).decode()
    lines = []
    for separator in [options.separator] if options.separator else SEPARATORS:
        # If the csv module refuses a line, such as an endless cell, the lines below are not read.
        with suppress(csv.Error):
            for cells, _, last_line in _records(text, separator):
                if any(letter.isalnum() for cell in cells for letter in cell):
                    lines.append(Header(cells, separator, last_line))

    names = known_names(options)

    def rank(line: Header) -> tuple[bool, int, int, int]:
        filled = sum(bool(cell.strip()) for cell in line.cells)
        if names.isdisjoint(cell.strip().casefold() for cell in line.cells):
            return False, 0, filled, -line.last_line
        score = match_score(line.cells, options)
        if matching_schemas(line.cells, options):
            # A later one is the header of another file that was appended.
            return True, -line.last_line, score, filled
        return False, score, filled, -line.last_line

    return max(lines, key=rank, default=None)


def _records(text: str, separator: str) -> Iterator[tuple[list[str], int, int]]:
    """Yields the cells of each row, its first and its last line, counted from 1."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    before = 0
    for cells in reader:
        yield cells, before + 1, reader.line_num
        before = reader.line_num


@dataclass(frozen=True)
class TextBatch:
    """A batch of complete rows of a CSV file."""

    block: Block
    file: TextFile

    @property
    def size(self) -> int:
        """Size of its text in bytes."""
        return len(self.block.data)

    def cells(self) -> Cells | None:
        """Returns its columns, parsed by pyarrow; None if a row may not fit the header."""
        if self.block.is_doubtful:
            return None
        names = [str(index) for index in range(len(self.file.mapping.header))]
        wanted = {
            name: str(index) for name, index in self.file.mapping.positions.items()
        }
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(self.block.data),
                arrow_csv.ReadOptions(column_names=names, block_size=self.size + 1),
                arrow_csv.ParseOptions(
                    delimiter=self.file.separator, newlines_in_values=True
                ),
                arrow_csv.ConvertOptions(
                    include_columns=list(wanted.values()),
                    column_types=dict.fromkeys(wanted.values(), pa.string()),
                    check_utf8=False,
                ),
            )
        except pa.ArrowInvalid:
            return None
        return {
            name: trim(table[index].combine_chunks()) for name, index in wanted.items()
        }

    def parse_rows(self) -> RowwiseBatch:
        """Returns its rows parsed one by one.

        Raises:
          RefusedFileError: a quote never closes.
        """
        rows, lines, rejected, n_blank, line = [], [], [], 0, 0
        n_columns = len(self.file.mapping.header)
        for cells, line in self._records():
            if not any(cell.strip() for cell in cells):
                n_blank += bool(cells)
            elif len(cells) == n_columns:
                rows.append(cells)
                lines.append(line)
            else:
                reason = f"has {len(cells)} cells, and the header {n_columns}"
                raw = [storable(cell) for cell in cells]
                rejected.append(RejectedRow(line, None, None, reason, raw))
        columns = {
            name: trim(pa.array([row[index] for row in rows], pa.string()))
            for name, index in self.file.mapping.positions.items()
        }
        if self.block.is_unfinished:
            self._require_closed_quote(line)
        truncated_line = line if self.block.is_unfinished else None
        return RowwiseBatch(
            columns,
            lines,
            lambda index: self._raw(rows[index]),
            rejected,
            n_blank,
            truncated_line,
        )

    def _records(self) -> Iterator[tuple[list[str], int]]:
        """Yields the cells of each row and its first line in the file."""
        before = self.block.first_line - 1
        try:
            text = self.block.data.decode()
            for cells, first, _ in _records(text, self.file.separator):
                yield cells, before + first
        except csv.Error as error:
            raise self._unclosed_quote_error(error) from None

    def _raw(self, row: list[str]) -> dict[str, str | None]:
        named = zip(self.file.mapping.header, row, strict=True)
        return {name: storable(cell) for name, cell in named if name}

    def _require_closed_quote(self, line: int) -> None:
        """Refuses the file if its last row, which starts at `line`, ends inside a quote."""
        row = self.block.after_line(line - 1).data.decode()
        try:
            list(csv.reader([row], delimiter=self.file.separator, strict=True))
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise self._unclosed_quote_error(error) from None

    def _unclosed_quote_error(self, error: csv.Error) -> RefusedFileError:
        return RefusedFileError(
            f"{self.file.source.name} cannot be read as CSV from line "
            f"{self.block.first_line} on: {error}. Look for a quote that is never closed, "
            "or send the file again if it is cut short."
        )
