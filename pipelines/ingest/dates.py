"""Converts dates to ISO 8601, and detects the order of day and month."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from forecaster.errors import RefusedFileError

SLASHED = r"^(?P<first>\d{1,2})[/.-](?P<second>\d{1,2})[/.-]\d{4}"
SIMPLE = re.compile(r"%(?P<first>[md])([/.-])%[md]\2%Y")
WITH_OFFSET = (
    r"^(?P<body>\d{4}-\d{2}-\d{2}[ T]\d{2}(?::\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?)\d*"
    r"(?P<offset> ?(?:[Zz]|[+-]\d{2}(?::?\d{2})?))?$"
)
MAX_UTC_OFFSET_MINUTES = 18 * 60


def format_name(date_format: str | None) -> str:
    """Returns the name of a date format, for messages."""
    return date_format or "ISO 8601"


def to_iso(cells: pa.Array, date_format: str | None) -> pa.Array:
    """Converts texts of one format to ISO 8601; others become texts that are no date.

    With a plain order of day and month, ISO 8601 is accepted as well: the two cannot be
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
    try:
        return datetime.strptime(word, date_format).isoformat(" ")  # noqa: DTZ007
    except ValueError:
        pass
    # The format is that of a day; a time of day may follow it.
    day, _, clock = word.rpartition(" ")
    try:
        return f"{datetime.strptime(day, date_format).date()} {clock}"  # noqa: DTZ007
    except ValueError:
        return f"not {date_format}: {word}"


def split_offset(cells: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Splits times into wall-clock texts and minutes east of UTC, null without an offset.

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
    """Casts an array, with null for values that cannot be cast; finds them by halving."""
    try:
        return cells.cast(to)
    except pa.ArrowInvalid:
        if len(cells) == 1:
            return pa.nulls(1, to)
    middle = len(cells) // 2
    halves = (cells[:middle], cells[middle:])
    return pa.concat_arrays([cast_or_null(half, to) for half in halves])


@dataclass(frozen=True)
class DateOrder:
    """The date format detected in a file, and a value that proves it."""

    date_format: str
    proof: str


def detect_date_order(columns: Iterable[pa.Array], name: str) -> DateOrder | None:
    """Detects whether the day or the month comes first in the dates of a whole file.

    Args:
      columns: Date cells of the file, batch by batch; the first batch decides whether
        its dates look like 01/13/2015 at all.
      name: File name, for messages.

    Returns:
      None if the first batch is mostly something else, such as ISO 8601.

    Raises:
      RefusedFileError: nothing in the file proves one order, or both are proved.
    """
    sample, day_first, month_first = "", "", ""
    for number, cells in enumerate(columns):
        parts = pc.extract_regex(cells, SLASHED)
        if number == 0 and parts.null_count * 2 >= len(parts) + cells.null_count:
            return None
        first = pc.struct_field(parts, "first").cast(pa.int32())
        second = pc.struct_field(parts, "second").cast(pa.int32())
        sample = sample or _first_where(cells, pc.is_valid(first))
        day_first = day_first or _first_where(cells, pc.greater(first, 12))
        month_first = month_first or _first_where(cells, pc.greater(second, 12))
    return _decide(sample, day_first, month_first, name) if sample else None


def _first_where(cells: pa.Array, mask: pa.Array) -> str:
    position = pc.index(mask, True).as_py()
    return "" if position < 0 else str(cells[position].as_py())


def _decide(sample: str, day_first: str, month_first: str, name: str) -> DateOrder:
    mark = next(letter for letter in sample if not letter.isdigit())
    american, european = f"%m{mark}%d{mark}%Y", f"%d{mark}%m{mark}%Y"
    if month_first and not day_first:
        return DateOrder(american, month_first)
    if day_first and not month_first:
        return DateOrder(european, day_first)
    reason = (
        f"{day_first} puts the day first and {month_first} the month"
        if day_first
        else "nothing in it says whether the day or the month comes first"
    )
    raise RefusedFileError(
        f"{name} writes its dates as {sample}, and {reason}. Pass --date-format {american} "
        f"if the month comes first, or --date-format {european} if the day does; for the "
        "inbox, set date_format in [sources.NAME] of harbor.toml."
    )
