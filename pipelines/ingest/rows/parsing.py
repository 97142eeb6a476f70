"""Parses columns of text into typed values, with a reason for each rejected cell.

A result never depends on neighbouring cells: equal cells give equal values in any batch.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest.rows import dates
from pipelines.settings.countries import has_calendar, known_countries, known_zones

THOUSANDS_SEPARATOR = {".": ",", ",": "."}
"""The mark that separates thousands, by decimal mark."""
MAX_TEXT_CHARS = 200
MAX_COUNT = 1_000_000_000
MAX_NUMBER = 1e15
"""Maximum magnitude of a signal or an event: models square it in float32, which ends at 3e38."""
WITH_SEPARATORS: dict[str, re.Pattern[str]] = {
    mark: re.compile(rf"[+-]?\d{{1,3}}([{other}]\d{{3}})+([{mark}]\d*)?")
    for mark, other in THOUSANDS_SEPARATOR.items()
}
GROUPED = re.compile(r"[+-]?\d{1,3}([\s'’]\d{3})+([.,]\d*)?")
"""Numbers whose thousands are separated by a space or an apostrophe."""
SUBDIVISION_CODE = re.compile(r"[A-Za-z0-9]{1,3}")
"""The part of an ISO 3166-2 code after the country."""
SPREADSHEET_ERRORS = (
    "#DIV/0!",
    "#N/A",
    "#NAME?",
    "#NULL!",
    "#NUM!",
    "#REF!",
    "#VALUE!",
)
"""Error values of formulas, as they appear in cells and in exported text."""
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
YES_OR_NO = dict.fromkeys(("yes", "y", "true", "1"), "true") | dict.fromkeys(
    ("no", "n", "false", "0"), "false"
)
FIRST_DAY = date(1990, 1, 1)
"""Earliest date of orders, counts, events and signals; earlier ones are taken as errors."""
TIMESTAMP = pa.timestamp("us")


@dataclass(frozen=True)
class Places:
    """The depots and cities of the fleet."""

    depot_ids: frozenset[str]
    cities: frozenset[str]


@dataclass(frozen=True)
class ParseOptions:
    """Parameters of parsing.

    Args:
      today: Day from which limits on future dates are counted.
      date_format: Format of dates that are not ISO 8601; None if all are.
      decimal: Decimal mark of numbers that are text; the other mark separates thousands.
      places: Depots and cities that a file may name; None if it may name any.
    """

    today: date
    date_format: str | None = None
    decimal: str = "."
    places: Places | None = None

    @property
    def format_name(self) -> str:
        """Name of the date format, for messages."""
        return self.date_format or "ISO 8601"


@dataclass(frozen=True)
class ParsedColumn:
    """Values of one column, and the reason for rejecting each cell (null if accepted)."""

    values: tuple[pa.Array, ...]
    reasons: pa.Array


CellParser = Callable[[str, ParseOptions], object]
"""Parses one cell; the text of a ValueError is the reason for its rejection."""


def per_distinct_value(
    parse: CellParser, stored: pa.DataType, *, are_dates: bool = False
) -> Callable[[pa.Array, ParseOptions], ParsedColumn]:
    """Returns a column parser that parses each distinct cell once; fast for few values."""

    def parse_column(cells: pa.Array, options: ParseOptions) -> ParsedColumn:
        if not pa.types.is_string(cells.type):
            cells = cells.cast(pa.string())
            options = replace(options, decimal=".", date_format=None)
        encoded = pc.dictionary_encode(cells)
        distinct = encoded.dictionary
        if are_dates:
            distinct = dates.to_iso(distinct, options.date_format)
        parsed = [_parse_cell(parse, cell, options) for cell in distinct.to_pylist()]
        values = pa.array([value for value, _ in parsed], stored)
        reasons = pa.array([reason for _, reason in parsed], pa.string())
        return ParsedColumn(
            (values.take(encoded.indices),), reasons.take(encoded.indices)
        )

    return parse_column


def _parse_cell(
    parse: CellParser, cell: str, options: ParseOptions
) -> tuple[object, str | None]:
    try:
        return parse(cell, options), None
    except ValueError as error:
        return None, str(error)


def parse_texts(cells: pa.Array, options: ParseOptions) -> ParsedColumn:  # noqa: ARG001 - shared parser signature
    """Accepts texts unless they are too long, hold NUL, or are a spreadsheet error."""
    too_long = pc.greater(pc.utf8_length(cells), MAX_TEXT_CHARS)
    # Built here: an Arrow array at import would reserve memory before the parser's limit is set.
    is_error = pc.is_in(cells, pa.array(SPREADSHEET_ERRORS))
    reasons = _reasons(
        (pc.match_substring(cells, "\0"), "holds a NUL character"),
        (too_long, f"is longer than {MAX_TEXT_CHARS} characters"),
        (is_error, "is a spreadsheet error"),
    )
    return ParsedColumn((cells,), reasons)


def _reasons(*faults: tuple[pa.Array, str]) -> pa.Array:
    """Returns the reason of each cell's last fault (null if none), from masks of faulty cells."""
    reasons = pa.nulls(len(faults[0][0]), pa.string())
    for mask, reason in faults:
        if pc.any(mask).as_py():
            reasons = pc.if_else(pc.fill_null(mask, False), reason, reasons)
    return reasons


def parse_timestamps(
    cells: pa.Array, options: ParseOptions, ahead: int
) -> ParsedColumn:
    """Parses wall-clock times, and minutes east of UTC if the cell has an offset."""
    local, offset = _wall_clock(cells, options.date_format)
    unparsable = pc.and_(pc.is_valid(cells), pc.is_null(local))
    last_on = options.today + timedelta(days=ahead)
    earliest = pa.scalar(datetime.combine(FIRST_DAY, time.min), TIMESTAMP)
    latest = pa.scalar(datetime.combine(last_on, time.max), TIMESTAMP)
    reasons = _reasons(
        (unparsable, f"does not match the format {options.format_name}"),
        (
            pc.or_(pc.less(local, earliest), pc.greater(local, latest)),
            f"lies outside {FIRST_DAY} to {last_on}",
        ),
    )
    return ParsedColumn((local, offset), reasons)


def _wall_clock(cells: pa.Array, date_format: str | None) -> tuple[pa.Array, pa.Array]:
    no_offset = pa.nulls(len(cells), pa.int16())
    if pa.types.is_timestamp(cells.type):
        if cells.type.tz is not None:
            no_offset = pc.if_else(pc.is_valid(cells), pa.scalar(0, pa.int16()), None)
        return _microseconds(cells), no_offset
    iso = dates.to_iso(cells, date_format)
    try:
        return iso.cast(TIMESTAMP), no_offset
    except pa.ArrowInvalid:
        body, offset = dates.split_offset(iso)
        local = dates.cast_or_null(body, TIMESTAMP)
        return local, pc.if_else(pc.is_valid(local), offset, None)


def _microseconds(cells: pa.Array) -> pa.Array:
    """Returns timestamps in microseconds; clips those out of range, which would overflow."""
    per_unit = {"s": 1_000_000, "ms": 1000}.get(cells.type.unit, 1)
    most = (2**63 - 1) // per_unit
    number = pc.min_element_wise(cells.cast(pa.int64()), most, skip_nulls=False)
    number = pc.max_element_wise(number, -most, skip_nulls=False)
    return number.cast(pa.timestamp(cells.type.unit)).cast(TIMESTAMP, safe=False)


def parse_day(cell: str, options: ParseOptions, ahead: int, since: date) -> date:
    """Parses a calendar day; a timestamp at midnight is accepted."""
    try:
        timestamp = datetime.fromisoformat(cell)
    except ValueError:
        raise ValueError(f"does not match the format {options.format_name}") from None
    if timestamp.time() != time.min:
        raise ValueError("has a time of day, but a date is expected")
    last_on = options.today + timedelta(days=ahead)
    if not since <= timestamp.date() <= last_on:
        raise ValueError(f"lies outside {since} to {last_on}")
    return timestamp.date()


def parse_number(cell: str, options: ParseOptions) -> float:
    """Parses a number up to `MAX_NUMBER`, with or without thousands separators."""
    value = _decimal(cell, options.decimal)
    # Not abs(), which rounds and so overflows at 1e1000000.
    if value.copy_abs() > MAX_NUMBER:
        raise ValueError(f"is larger in magnitude than {MAX_NUMBER:,.0f}")
    return float(value)


def parse_whole_number(cell: str, options: ParseOptions) -> int:
    """Parses a count: a whole number, not negative."""
    value = _decimal(cell, options.decimal)
    if value < 0:
        raise ValueError("is negative")
    if value != value.to_integral_value():
        raise ValueError("is not a whole number")
    if value > MAX_COUNT:
        raise ValueError(f"is more than {MAX_COUNT:,}")
    return int(value)


def _decimal(cell: str, mark: str) -> Decimal:
    other = THOUSANDS_SEPARATOR[mark]
    plain = cell.replace(other, "") if WITH_SEPARATORS[mark].fullmatch(cell) else cell
    try:
        value = Decimal("nan" if other in plain else plain.replace(mark, "."))
    except InvalidOperation:
        value = Decimal("nan")
    if not value.is_finite() or "_" in plain:
        if GROUPED.fullmatch(cell):
            raise ValueError(
                f"is not a number: only '{other}' is accepted as thousands separator, or '{mark}' "
                f"with --decimal '{other}'"
            )
        raise ValueError("is not a number")
    return value


def parse_zone(cell: str, options: ParseOptions) -> str:  # noqa: ARG001 - shared parser signature
    """Parses an IANA time zone."""
    if cell not in known_zones():
        raise ValueError(
            "is not an IANA time zone such as Europe/Amsterdam; CET, EET, MET and WET are not accepted"
        )
    return cell


def parse_country(cell: str, options: ParseOptions) -> str:  # noqa: ARG001 - shared parser signature
    """Parses an ISO 3166 country code into capitals."""
    if cell.upper() not in known_countries():
        raise ValueError("is not an ISO 3166 country of two letters, such as NL")
    return cell.upper()


def is_no_subdivision(countries: pa.Array, subdivisions: pa.Array) -> pa.Array:
    """Returns a mask of subdivisions that neither have a calendar nor look like a code."""
    pairs = zip(countries.to_pylist(), subdivisions.to_pylist(), strict=True)
    mask = [
        bool(country and subdivision)
        and not has_calendar(country, subdivision)
        and not SUBDIVISION_CODE.fullmatch(subdivision)
        for country, subdivision in pairs
    ]
    return pa.array(mask, pa.bool_())


def parse_lower_case(cell: str, options: ParseOptions) -> str:
    """Parses a word into lower case: `Closed` becomes `closed`."""
    parsed = parse_texts(pa.array([cell]), options)
    if (reason := parsed.reasons[0].as_py()) is not None:
        raise ValueError(reason)
    return cell.lower()


def parse_known_depot(cell: str, options: ParseOptions) -> str:
    """Parses the id of a depot of the fleet."""
    if options.places is not None and cell not in options.places.depot_ids:
        raise ValueError(
            "is not a depot of the fleet; load its orders or a depots file, then 'harbor "
            "quarantine replay'"
        )
    return cell


def parse_known_city(cell: str, options: ParseOptions) -> str:
    """Parses a city that has a depot."""
    if options.places is not None and cell not in options.places.cities:
        raise ValueError(
            "is not the city of any depot; load a depots file, then 'harbor quarantine replay'"
        )
    return cell


def parse_yes_or_no(cell: str, options: ParseOptions) -> str:  # noqa: ARG001 - shared parser signature
    """Parses yes or no into PostgreSQL's `true` or `false`."""
    if cell.lower() not in YES_OR_NO:
        raise ValueError("is neither yes nor no")
    return YES_OR_NO[cell.lower()]


def parse_weekdays(cell: str, options: ParseOptions) -> str:  # noqa: ARG001 - shared parser signature
    """Parses days such as `sat,sun` into a PostgreSQL array of ISO weekdays."""
    words = [word for word in re.split(r"[\s,;|+]+", cell.lower()) if word]
    unknown = [word for word in words if word[:3] not in WEEKDAYS]
    if unknown:
        raise ValueError(
            f"holds {unknown[0]!r}, which is not a weekday such as sat or sun"
        )
    numbers = sorted({WEEKDAYS.index(word[:3]) + 1 for word in words})
    return f"{{{','.join(map(str, numbers))}}}"
