"""Schemas of the five kinds of file: columns, and rules between columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest.rows import parsing
from pipelines.ingest.rows.parsing import ParsedColumn, ParseOptions

DAYS_AHEAD_OF_DATA = 2
"""Maximum days after today for orders and counts: local dates differ by at most two days."""
DAYS_AHEAD_OF_PLANS = 5 * 366
"""Maximum days after today for openings, events and signals; later dates are taken as errors."""
FIRST_OPENING = date(1900, 1, 1)
"""Earliest date of an opening or closing, which may lie long before the first order."""


@dataclass(frozen=True)
class Column:
    """One column of a schema.

    Args:
      parse: Parses trimmed texts, null if empty, into values and reasons for rejection.
      table_columns: Columns of the table that it fills, in the order of the values.
      is_required: Whether a file without it is refused.
      is_nullable: Whether a cell may be empty.
      default: Value stored for an empty cell.
      value_type: Parquet type that is accepted besides text.
    """

    name: str
    parse: Callable[[pa.Array, ParseOptions], ParsedColumn]
    table_columns: tuple[str, ...]
    is_required: bool = True
    is_nullable: bool = False
    default: str | None = None
    value_type: Literal["text", "number", "day", "timestamp"] = "text"

    @property
    def is_dated(self) -> bool:
        """Whether the column holds dates, so that the order of day and month must be known."""
        return self.value_type in ("day", "timestamp")


@dataclass(frozen=True)
class RowRule:
    """A rule between the columns of a row.

    Args:
      column: Column that the rejection names.
      requires: Columns of the table that the rule reads; it is skipped without them.
      is_broken: Returns a mask of the rows that break the rule; null counts as kept.
    """

    column: str
    requires: tuple[str, ...]
    is_broken: Callable[..., pa.Array]
    reason: str


@dataclass(frozen=True)
class FileSchema:
    """The schema of one kind of file, and the table that its rows are loaded into.

    Args:
      name: Name of the kind, as in `--kind`.
      key: Table columns that identify a row; a later row replaces one with the same key.
      columns: Columns in the order of validation.
      constants: Values of table columns that are the same for every row.
      one_of: Alternative columns; the file, and each row, must have at least one of them.
    """

    name: str
    table: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    rules: tuple[RowRule, ...] = ()
    constants: Mapping[str, object] | None = None
    one_of: tuple[str, ...] = ()

    def column(self, name: str) -> Column:
        """Returns the column with this name."""
        return next(column for column in self.columns if column.name == name)

    @property
    def required_columns(self) -> tuple[str, ...]:
        """Names of the columns that every file of this kind must have."""
        return tuple(column.name for column in self.columns if column.is_required)


def _text(name: str, *, optional: bool = False) -> Column:
    return Column(name, parsing.parse_texts, (name,), not optional, optional)


def _word(
    name: str,
    parse_cell: parsing.CellParser,
    *,
    optional: bool = False,
    default: str | None = None,
) -> Column:
    parse = parsing.per_distinct_value(parse_cell, pa.string())
    return Column(name, parse, (name,), not optional, optional, default)


def _day(
    name: str,
    ahead: int = DAYS_AHEAD_OF_PLANS,
    since: date = parsing.FIRST_DAY,
    store: str | None = None,
    optional: bool = False,
) -> Column:
    parse_cell = partial(parsing.parse_day, ahead=ahead, since=since)
    parse = parsing.per_distinct_value(parse_cell, pa.date32(), are_dates=True)
    return Column(
        name, parse, (store or name,), not optional, optional, value_type="day"
    )


def _number(
    name: str,
    parse_cell: parsing.CellParser,
    stored: pa.DataType,
    *,
    optional: bool = False,
) -> Column:
    parse = parsing.per_distinct_value(parse_cell, stored)
    return Column(
        name, parse, (name,), not optional, is_nullable=True, value_type="number"
    )


def _not_both_places(advice: str = "") -> RowRule:
    return RowRule(
        "city",
        ("city", "depot_id"),
        lambda city, depot: pc.and_(pc.is_valid(city), pc.is_valid(depot)),
        f"is given together with a depot_id; give one of the two{advice}",
    )


ORDERS = FileSchema(
    name="orders",
    table="orders",
    key=("order_id", "id_namespace"),
    columns=(
        _text("order_id"),
        _text("depot_id"),
        Column(
            "ordered_at",
            partial(parsing.parse_timestamps, ahead=DAYS_AHEAD_OF_DATA),
            ("ordered_local", "utc_offset_minutes"),
            value_type="timestamp",
        ),
    ),
)

DAILY = FileSchema(
    name="daily",
    table="daily_counts",
    key=("depot_id", "service_on"),
    columns=(
        _text("depot_id"),
        _day("date", ahead=DAYS_AHEAD_OF_DATA, store="service_on"),
        _number("orders", parsing.parse_whole_number, pa.int64()),
    ),
)

DEPOTS = FileSchema(
    name="depots",
    table="depots",
    key=("depot_id",),
    columns=(
        _text("depot_id"),
        _text("name"),
        _text("city"),
        _word("timezone", parsing.parse_zone),
        _word("country", parsing.parse_country),
        _text("subdivision", optional=True),
        _number("vans", parsing.parse_whole_number, pa.int32(), optional=True),
        _day("opened_on", since=FIRST_OPENING, optional=True),
        _day("closed_on", since=FIRST_OPENING, optional=True),
        _word("closed_weekdays", parsing.parse_weekdays, optional=True, default="{}"),
    ),
    rules=(
        RowRule(
            "subdivision",
            ("country", "subdivision"),
            parsing.is_no_subdivision,
            "is not the code of a subdivision, such as CA of US; leave it empty if there "
            "is none",
        ),
        RowRule(
            "closed_on",
            ("opened_on", "closed_on"),
            lambda opened, closed: pc.less(closed, opened),
            "lies before opened_on",
        ),
    ),
    constants={"is_complete": True},
)

EVENTS = FileSchema(
    name="events",
    table="event_versions",
    key=("event_id",),
    columns=(
        _text("event_id", optional=True),
        _word("kind", parsing.parse_lower_case),
        _day("starts_on"),
        _day("ends_on"),
        _text("city", optional=True),
        _text("depot_id", optional=True),
        _number("value", parsing.parse_number, pa.float64(), optional=True),
        _day("known_from", optional=True),
        _word("withdrawn", parsing.parse_yes_or_no, optional=True),
    ),
    rules=(
        RowRule(
            "ends_on",
            ("starts_on", "ends_on"),
            lambda starts, ends: pc.less(ends, starts),
            "lies before starts_on",
        ),
        _not_both_places(", or neither for everywhere"),
    ),
)

SIGNALS = FileSchema(
    name="signals",
    table="signal_versions",
    key=("signal", "depot_id", "city", "day_on", "known_from"),
    columns=(
        _word("signal", parsing.parse_lower_case),
        _word("depot_id", parsing.parse_known_depot, optional=True),
        _word("city", parsing.parse_known_city, optional=True),
        _day("date", store="day_on"),
        replace(
            _number("value", parsing.parse_number, pa.float64()), is_nullable=False
        ),
        _day("known_from", optional=True),
    ),
    rules=(
        RowRule(
            "known_from",
            ("day_on", "known_from"),
            lambda day, known: pc.greater(known, day),
            "lies after date, but a signal is known in advance; what is known only "
            "afterwards cannot help a forecast",
        ),
        _not_both_places(),
    ),
    one_of=("depot_id", "city"),
)

SCHEMAS: dict[str, FileSchema] = {
    schema.name: schema for schema in (ORDERS, DAILY, DEPOTS, EVENTS, SIGNALS)
}


def column_names(kind: str | None) -> list[str]:
    """Returns the column names of one kind, or of all kinds."""
    schemas = [SCHEMAS[kind]] if kind else SCHEMAS.values()
    return list(
        dict.fromkeys(column.name for schema in schemas for column in schema.columns)
    )
