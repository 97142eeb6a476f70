"""Detects the date order and the decimal mark of a file, with a proof for each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from forecaster.errors import RefusedFileError
from pipelines.ingest.rows.batches import Cells
from pipelines.ingest.rows.kind_detection import FileMapping
from pipelines.ingest.rows.options import FileOptions
from pipelines.ingest.rows.parsing import THOUSANDS_SEPARATOR, ParseOptions, Places

SLASHED = r"^(?P<first>\d{1,2})[/.-](?P<second>\d{1,2})[/.-]\d{4}"
MARK_NAMES = {".": "point", ",": "comma"}


@dataclass(frozen=True)
class Convention:
    """A date format or a decimal mark detected in a file, and a value that proves it."""

    value: str
    proof: str


@dataclass(frozen=True)
class Conventions:
    """Conventions detected in a file; None for one that an option sets or no value depends on."""

    dates: Convention | None = None
    numbers: Convention | None = None

    def parse_options(
        self, options: FileOptions, today: date, places: Places | None = None
    ) -> ParseOptions:
        """Returns the parsing rules; options take precedence over detected conventions."""
        date_format = options.date_format or (self.dates.value if self.dates else None)
        decimal = options.decimal or (self.numbers.value if self.numbers else ".")
        return ParseOptions(today, date_format, decimal, places)


def detect_conventions(
    batches: Callable[[], Iterator[Cells]],
    mapping: FileMapping,
    options: FileOptions,
    name: str,
    separator: str | None = None,
) -> Conventions:
    """Detects the conventions of a file that its options do not set.

    `batches` returns its cells, and is called once for dates and once for numbers.

    Raises:
      RefusedFileError: the file's values prove no convention, or contradict each other.
    """
    columns = [mapping.schema.column(column) for column in mapping.positions]
    date_order = decimal_mark = None
    if options.date_format is None:
        dated = [column.name for column in columns if column.is_dated]
        date_order = detect_date_order(_texts(batches, dated), name)
    if options.decimal is None:
        numbers = [column.name for column in columns if column.value_type == "number"]
        decimal_mark = detect_decimal_mark(_texts(batches, numbers), name, separator)
    return Conventions(date_order, decimal_mark)


def _texts(
    batches: Callable[[], Iterator[Cells]], columns: Sequence[str]
) -> Iterator[pa.Array]:
    """Yields the text cells of columns, batch by batch; skips typed columns."""
    for cells in batches() if columns else ():
        texts = [
            cells[name] for name in columns if pa.types.is_string(cells[name].type)
        ]
        if not texts:
            return
        yield pa.concat_arrays(texts)


def detect_date_order(columns: Iterable[pa.Array], name: str) -> Convention | None:
    """Detects whether the day or the month comes first in the dates of a whole file.

    The first batch decides whether the file's dates look like 01/13/2015 at all.

    Returns:
      None if at least half of the dates in the first batch look otherwise, as in ISO 8601.

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
        # 99/99/2015 is no date, and proves nothing.
        is_first, is_second = pc.greater(first, 12), pc.greater(second, 12)
        day_first = day_first or _first_where(cells, pc.and_not(is_first, is_second))
        month_first = month_first or _first_where(
            cells, pc.and_not(is_second, is_first)
        )
    return _decide(sample, day_first, month_first, name) if sample else None


def _first_where(cells: pa.Array, mask: pa.Array) -> str:
    position = pc.index(mask, True).as_py()
    return "" if position < 0 else str(cells[position].as_py())


def _decide(sample: str, day_first: str, month_first: str, name: str) -> Convention:
    mark = next(letter for letter in sample if not letter.isdigit())
    american, european = f"%m{mark}%d{mark}%Y", f"%d{mark}%m{mark}%Y"
    if month_first and not day_first:
        return Convention(american, month_first)
    if day_first and not month_first:
        return Convention(european, day_first)
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


def _ambiguous(mark: str) -> str:
    """Returns a pattern for numbers such as 1.234, whose mark may separate thousands."""
    return rf"^[+-]?[1-9]\d{{0,2}}[{mark}]\d{{3}}$"


def _decimal(mark: str) -> str:
    """Returns a pattern for numbers that fit a decimal mark: 1.5, 1,234.5 or 1,234,567 for '.'."""
    groups = rf"\d{{1,3}}([{THOUSANDS_SEPARATOR[mark]}]\d{{3}})"
    alone = rf"(\d+[{mark}]\d*|[{mark}]\d+)([eE][+-]?\d+)?"
    return rf"^[+-]?({alone}|{groups}+[{mark}]\d*|{groups}{{2,}})$"


def detect_decimal_mark(
    columns: Iterable[pa.Array], name: str, separator: str | None = None
) -> Convention | None:
    """Detects the decimal mark in the numbers, as text, of a whole file.

    If commas separate the cells, an ambiguous comma is read as a thousands separator.

    Returns:
      None, for the default decimal point, if nothing proves a comma and no number needs a proof.

    Raises:
      RefusedFileError: a number such as 1.234 is ambiguous and nothing in the file proves
        a mark, or both marks are proved.
    """
    proofs: dict[str, str] = {}
    unclear: dict[str, str] = {}
    for cells in columns:
        marked = pc.unique(cells.filter(pc.match_substring_regex(cells, "[.,]")))
        for mark in THOUSANDS_SEPARATOR:
            is_unclear = pc.match_substring_regex(marked, _ambiguous(mark))
            shows_mark = pc.match_substring_regex(marked, _decimal(mark))
            if sample := _first_where(marked, is_unclear):
                unclear.setdefault(mark, sample)
            if proof := _first_where(marked, pc.and_not(shows_mark, is_unclear)):
                proofs.setdefault(mark, proof)
    if len(proofs) == len(THOUSANDS_SEPARATOR):
        raise RefusedFileError(
            f"{name} has {proofs['.']}, which proves a decimal point, and {proofs[',']}, "
            "which proves a decimal comma. Correct it, or pass --decimal '.' or --decimal "
            "',': numbers that do not fit then go to quarantine."
        )
    for mark, proof in proofs.items():
        return Convention(mark, proof) if mark == "," or unclear else None
    if not unclear or (separator == "," and "." not in unclear):
        return None
    mark, sample = next(iter(unclear.items()))
    raise RefusedFileError(
        f"{name} writes the number {sample}, and nothing in it says whether the "
        f"{MARK_NAMES[mark]} separates thousands or decimals. Pass --decimal '{THOUSANDS_SEPARATOR[mark]}' "
        f"if it separates thousands, or --decimal '{mark}' if it separates decimals; for "
        "the inbox, set decimal in [sources.NAME] of harbor.toml."
    )
