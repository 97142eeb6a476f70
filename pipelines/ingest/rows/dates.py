"""Converts dates to ISO 8601, and splits times from their offsets."""

import re
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

SIMPLE = re.compile(r"%(?P<first>[md])([/.-])%[md]\2%Y")
ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
WITH_OFFSET = (
    r"^(?P<body>\d{4}-\d{2}-\d{2}[ T]\d{2}(?::\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?)\d*"
    r"(?P<offset> ?(?:[Zz]|[+-]\d{2}(?::?[0-5]\d)?))?$"
)
MAX_UTC_OFFSET_MINUTES = 18 * 60


def to_iso(cells: pa.Array, date_format: str | None) -> pa.Array:
    """Converts texts of one format to ISO 8601; other texts then fail to parse as dates.

    ISO 8601 is accepted as well, unless the format begins with `%Y-`: the two cannot be
    mistaken for each other.
    """
    if date_format is None:
        return cells
    if order := SIMPLE.fullmatch(date_format):
        return _reorder_day_and_month(cells, month_first=order["first"] == "m")
    encoded = pc.dictionary_encode(cells)
    words = [_by_format(word, date_format) for word in encoded.dictionary.to_pylist()]
    return pa.array(words, pa.string()).take(encoded.indices)


def _reorder_day_and_month(cells: pa.Array, month_first: bool) -> pa.Array:
    swap = pc.replace_substring_regex
    # In a replacement \10 is group 1 and a zero: there are only nine groups.
    cells = swap(cells, r"^(\d)([/.-])", r"0\1\2")
    cells = swap(cells, r"^(\d\d[/.-])(\d[/.-])", r"\10\2")
    parts = r"\3-\1-\2" if month_first else r"\3-\2-\1"
    cells = swap(cells, r"^(\d\d)[/.-](\d\d)[/.-](\d{4})", parts)
    # Exports that write 1/9/2015 write 9:05 too.
    return swap(cells, r"^(\d{4}-\d\d-\d\d[ T])(\d:)", r"\10\2")


def _by_format(word: str, date_format: str) -> str:
    # Dates of a spreadsheet arrive in ISO 8601.
    if not date_format.startswith("%Y-") and ISO_DAY.match(word):
        return word
    try:
        return datetime.strptime(word, date_format).isoformat(" ")  # noqa: DTZ007
    except ValueError:
        pass
    # The format may lack the time of day that follows the date in the cell.
    day, _, clock = word.rpartition(" ")
    try:
        return f"{datetime.strptime(day, date_format).date()} {clock}"  # noqa: DTZ007
    except ValueError:
        return f"not {date_format}: {word}"


def split_offset(cells: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Splits times into wall-clock texts and minutes east of UTC (null without an offset).

    Fractions of a second are truncated to six digits.
    """
    parts = pc.extract_regex(cells, WITH_OFFSET)
    body, written = pc.struct_field(parts, "body"), pc.struct_field(parts, "offset")
    encoded = pc.dictionary_encode(written)
    minutes = [_minutes(word) for word in encoded.dictionary.to_pylist()]
    offset = pa.array(minutes, pa.int16()).take(encoded.indices)
    absurd = pc.greater(pc.abs(offset), MAX_UTC_OFFSET_MINUTES)
    body = pc.if_else(pc.fill_null(absurd, False), cells, body)
    return pc.coalesce(body, cells), offset


def _minutes(written: str) -> int | None:
    written = written.strip()
    if not written:
        return None
    if written in "Zz":
        return 0
    hours, minutes = int(written[1:3]), int(written[3:].strip(":") or 0)
    return (hours * 60 + minutes) * (-1 if written[0] == "-" else 1)


def cast_or_null(cells: pa.Array, to: pa.DataType) -> pa.Array:
    """Casts an array; values that cannot be cast, found by bisection, become null."""
    try:
        return cells.cast(to)
    except pa.ArrowInvalid:
        if len(cells) == 1:
            return pa.nulls(1, to)
    middle = len(cells) // 2
    halves = (cells[:middle], cells[middle:])
    return pa.concat_arrays([cast_or_null(half, to) for half in halves])
