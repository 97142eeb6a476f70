"""Converts the one sheet of a spreadsheet to CSV."""

import csv
import io
import re
import zipfile
import zlib
from datetime import date, datetime, time
from functools import lru_cache
from typing import Any

from forecaster.errors import RefusedFileError

SHEET_PART = re.compile(r"xl/worksheets/[^/]+\.xml")
ERROR_CELL = re.compile(rb"(<(?:\w+:)?c\s[^<>]*\bt=\")e\"")
"""Matches a cell with an error such as #DIV/0!, up to its type."""
UNCOMPUTED_CELL = re.compile(
    rb"<((?:\w+:)?)c\s([^<>]*)>\s*<(?:\w+:)?f\b[^<>]*(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
"""Matches a formula without a stored value; in a cell of type "str", its value is empty text."""
CELL_TYPE = re.compile(rb"\bt=\"\w*\"")
STRING_TYPE = b't="str"'


@lru_cache(maxsize=1)
def as_csv(data: bytes, name: str) -> bytes:
    """Returns the rows of the only non-empty sheet as CSV in UTF-8, one line each.

    The latest result is cached, because a file is read several times.

    Raises:
      RefusedFileError: the .xlsx file cannot be read, or several sheets have rows.
    """
    from python_calamine import CalamineError, load_workbook

    try:
        book = load_workbook(io.BytesIO(_with_errors_as_text(data)))
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
            f"{name} has rows in {len(filled)} sheets ({', '.join(filled)}), but only one "
            "is read. Save each as a file of its own."
        )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in sheets[filled[0]] if filled else []:
        writer.writerow([_cell(value) for value in row])
    return text.getvalue().encode()


def _with_errors_as_text(data: bytes) -> bytes:
    """Returns the workbook with text in place of formula errors.

    They would be read as empty cells, and an empty count means that the day was not observed.
    """
    changed = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            for part in filter(SHEET_PART.fullmatch, book.namelist()):
                sheet = ERROR_CELL.sub(rb'\1str"', before := book.read(part))
                # Tested first because it is quick: most tables have no formula.
                if b"<f" in sheet or b":f" in sheet:
                    sheet = UNCOMPUTED_CELL.sub(_not_available, sheet)
                if sheet != before:
                    changed[part] = sheet
            if not changed:
                return data
            copy = io.BytesIO()
            with zipfile.ZipFile(copy, "w") as target:
                for part in book.namelist():
                    target.writestr(part, changed.get(part) or book.read(part))
    except (zipfile.BadZipFile, OSError, RuntimeError, zlib.error):
        return data  # Reading it as a spreadsheet raises an error with the reason.
    return copy.getvalue()


def _not_available(cell: re.Match[bytes]) -> bytes:
    """Returns a cell with the text #N/A in place of a formula without a value."""
    prefix, attributes = cell[1], cell[2]
    if STRING_TYPE in attributes:
        return cell[0]
    cell_start = b"<%bc %b" % (prefix, CELL_TYPE.sub(b"", attributes))
    return cell_start + b' t="str"><%bv>#N/A</%bv></%bc>' % ((prefix,) * 3)


def _cell(value: Any) -> str:
    """Formats a cell for CSV; line breaks become spaces, so that a row stays one line."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, float):
        decimals = str(value).partition(".")[2]
        # Otherwise 1.234 could be read as 1,234.
        return f"{value}0" if len(decimals) == 3 and decimals.isdigit() else str(value)
    if isinstance(value, datetime) and value.time() == time(0):
        return value.date().isoformat()
    if isinstance(value, date):  # includes datetime
        return value.isoformat()
    return " ".join(str(value).splitlines())
