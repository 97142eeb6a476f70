"""Converts the one sheet of a spreadsheet to CSV."""

import csv
import io
from datetime import date, datetime, time
from typing import Any

from forecaster.errors import RefusedFileError
from pipelines.ingest.numbers import unambiguous_text


def as_csv(data: bytes, name: str) -> io.BytesIO:
    """Returns the rows of the only sheet that has any as CSV in UTF-8, one line each.

    Args:
      data: Content of an .xlsx file.
      name: File name, for messages.

    Raises:
      RefusedFileError: it cannot be read, or several sheets have rows.
    """
    from python_calamine import CalamineError, load_workbook

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
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in sheets[filled[0]] if filled else []:
        writer.writerow([_cell(value) for value in row])
    return io.BytesIO(text.getvalue().encode())


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
