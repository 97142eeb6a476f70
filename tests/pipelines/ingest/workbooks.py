"""Writes spreadsheets as people's programs do, errors and formulas included."""

import xlsxwriter

FORMATS = {"date": "yyyy-mm-dd", "timestamp": "yyyy-mm-dd hh:mm"}


def workbook(path, sheets):
    """Writes sheets by name, each a list of rows of texts, numbers and (style, value).

    A style is one of `FORMATS`, "error" with its text, or "formula" without a result.
    """
    with xlsxwriter.Workbook(path) as book:
        formats = {
            style: book.add_format({"num_format": text})
            for style, text in FORMATS.items()
        }
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for row, cells in enumerate(rows):
                for column, cell in enumerate(cells):
                    style, value = cell if isinstance(cell, tuple) else (None, cell)
                    if style == "error":
                        sheet.write_formula(row, column, "=1/0", None, value)
                    elif style == "formula":
                        sheet.write_formula(row, column, f"={value}", None, "")
                    else:
                        sheet.write(row, column, value, formats.get(style))
    return path
