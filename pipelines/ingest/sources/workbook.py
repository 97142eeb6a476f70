"""Converts the one sheet of a spreadsheet to CSV."""

import csv
import io
import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, datetime, time
from functools import lru_cache
from typing import IO, Any

from forecaster.errors import RefusedFileError
from pipelines.ingest.sources.numbers import unambiguous_text

BLOCK_BYTES = 1 << 20
MAX_GRID_CELLS = 10_000_000
"""A sheet whose grid, empty cells included, has at most so many cells is always read."""
MAX_GRID_CELLS_PER_FILLED = 20
"""A larger grid is read if it has at most so many cells per filled one."""
SHEET_PART = re.compile(r"xl/worksheets/[^/]+\.xml")
CELL = re.compile(
    rb"<(?:\w+:)?c\s(?:[^>]*?\s)?r=\"([A-Z]{1,3})(\d{1,7})\"(?:\s[^>]*[^/>])?>\s*<(?!/)"
)
"""A cell with content; one that has a style only is not read."""
CELL_REFERENCE = re.compile(rb"\br=\"([A-Z]{1,3})(\d{1,7})\"")
ERROR_CELL = re.compile(
    rb"<(?:\w+:)?c\s([^<>]*\bt=\"e\"[^<>]*)>(?:<(?:\w+:)?f\b[^<>]*(?:/>|>[^<]*<[^<>]*>))?"
    rb"\s*<(?:\w+:)?v>([^<]*)<"
)
"""A cell with an error, such as #DIV/0!."""
UNCOMPUTED_CELL = re.compile(
    rb"<(?:\w+:)?c\s([^<>]*)>\s*<(?:\w+:)?f\b[^<>]*(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
"""A formula whose value no program has stored; of type "str" it is the empty text."""
STRING_TYPE = b't="str"'
NO_VALUE = "#N/A"
"""Stands for the value that a formula lacks."""


@lru_cache(maxsize=1)
def as_csv(data: bytes, name: str) -> bytes:
    """Returns the rows of the only non-empty sheet as CSV in UTF-8, one line each.

    The last answer is kept, because a file is read several times.

    Raises:
      RefusedFileError: the .xlsx file cannot be read, or several sheets have rows.
    """
    from python_calamine import CalamineError, load_workbook

    error_of, n_sheets = _check_cells(data, name)
    try:
        book = load_workbook(io.BytesIO(data))
        sheets = {
            sheet: book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
            for sheet in book.sheet_names
        }
    except CalamineError as error:
        raise RefusedFileError(
            f"{name} cannot be read as a spreadsheet: {error}. Save it once more as .xlsx "
            "without a password, or export it as CSV."
        ) from None
    filled = [sheet for sheet, rows in sheets.items() if rows]
    if len(filled) > 1:
        raise RefusedFileError(
            f"{name} has rows in {len(filled)} sheets ({', '.join(filled)}), and one is "
            "read. Save each as a file of its own."
        )
    if error_of and n_sheets > 1:
        raise RefusedFileError(
            f"{name} has cells in {n_sheets} of its sheets ({', '.join(sheets)}), and one is "
            "read. Save each as a file of its own."
        )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, row in enumerate(sheets[filled[0]] if filled else [], start=1):
        # Else empty, which for a count means that the day was not observed.
        errors = error_of.get(number, {})
        cells = [errors.get(at, value) for at, value in enumerate(row, start=1)]
        writer.writerow([_cell(value) for value in cells])
    return text.getvalue().encode()


def _check_cells(data: bytes, name: str) -> tuple[dict[int, dict[int, str]], int]:
    """Refuses a sheet with a stray cell far outside the table, and finds errors of formulas.

    Every cell of the grid up to a stray one would take memory.

    Returns:
      The errors of all sheets by row and column, both counted from 1, and the number of
      sheets that have cells.
    """
    stray: list[str] = []
    error_of: dict[int, dict[int, str]] = defaultdict(dict)
    n_sheets = 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            for part in filter(SHEET_PART.fullmatch, book.namelist()):
                with book.open(part) as sheet:
                    count, outliers = _count_cells(sheet)
                n_sheets += count > 0
                stray += outliers
                with book.open(part) as sheet:
                    for row, column, error in _broken_cells(sheet):
                        error_of[row][column] = error
    except (zipfile.BadZipFile, OSError, RuntimeError, zlib.error):
        return {}, 0  # Reading it as a spreadsheet will give the reason.
    if stray:
        raise RefusedFileError(
            f"{name} has a stray cell far outside the table ({' and '.join(stray)}), and everything up "
            "to it would be read. Delete its row and its column, or export the sheet as CSV."
        )
    return error_of, n_sheets


def _count_cells(sheet: IO[bytes]) -> tuple[int, list[str]]:
    """Counts the cells with content, and finds stray ones.

    The rightmost and the lowest cell are stray if nearly all of the grid up to them is empty.

    The sheet's `<dimension>` is not trusted: some writers always give A1.
    """
    count = 0
    widest, lowest = (0, ""), (0, "")
    for rows in _complete_rows(sheet):
        for letters, row in CELL.findall(rows):
            count += 1
            cell = (letters + row).decode()
            widest = max(widest, (_column(letters), cell))
            lowest = max(lowest, (int(row), cell))
    area = widest[0] * lowest[0]
    if area <= max(MAX_GRID_CELLS, MAX_GRID_CELLS_PER_FILLED * count):
        return count, []
    return count, list(dict.fromkeys((widest[1], lowest[1])))


def _broken_cells(sheet: IO[bytes]) -> Iterator[tuple[int, int, str]]:
    """Yields row, column and text of cells with an error, or with a formula and no value."""
    for rows in _complete_rows(sheet):
        cells = []
        # Most tables have neither, and are looked through in no time.
        if b'"e"' in rows:
            cells += [
                (cell, text.decode(errors="replace"))
                for cell, text in ERROR_CELL.findall(rows)
            ]
        if b"<f" in rows or b":f" in rows:
            without_value = UNCOMPUTED_CELL.findall(rows)
            cells += [
                (cell, NO_VALUE) for cell in without_value if STRING_TYPE not in cell
            ]
        for cell, text in cells:
            if reference := CELL_REFERENCE.search(cell):
                yield int(reference[2]), _column(reference[1]), text


def _complete_rows(sheet: IO[bytes]) -> Iterator[bytes]:
    """Yields the sheet in parts that end where a row does."""
    rest = b""
    while data := sheet.read(BLOCK_BYTES):
        rest += data
        end = max(rest.rfind(b"row>"), 0)
        yield rest[:end]
        rest = rest[end:]


def _column(letters: bytes) -> int:
    """Returns the number of a column, counted from 1: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _cell(value: Any) -> str:
    """Formats a cell for CSV; line breaks become spaces, so that a row stays one line."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, float):
        return unambiguous_text(value)
    if isinstance(value, datetime) and value.time() == time(0):
        return value.date().isoformat()
    if isinstance(value, date):  # and so a datetime
        return value.isoformat()
    return " ".join(str(value).splitlines())
