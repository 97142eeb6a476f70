"""What may come in: four kinds of file, their columns, and the rules of their rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.ingest import parsing
from pipelines.ingest.parsing import Parsed, Rules

DAYS_AHEAD_OF_DATA = 2
DAYS_AHEAD_OF_PLANS = 5 * 366


@dataclass(frozen=True)
class Column:
    """One column of the contract.

    Args:
      name: In the file.
      read: From tidy texts, null where empty, to values and reasons for refusal.
      stores: Columns of the table it fills, in the order of the values.
      in_every_file: Whether a file without it is refused.
      may_be_empty: Whether a cell may say nothing.
      when_empty: What is stored then.
      holds: Which of Parquet's types it may have, text aside.
    """

    name: str
    read: Callable[[pa.Array, Rules], Parsed]
    stores: tuple[str, ...]
    in_every_file: bool = True
    may_be_empty: bool = False
    when_empty: str | None = None
    holds: Literal["text", "number", "day", "moment"] = "text"

    @property
    def is_dated(self) -> bool:
        """Whether the order of day and month matters."""
        return self.holds in ("day", "moment")


@dataclass(frozen=True)
class RowRule:
    """What must hold between the columns of a row.

    Args:
      column: The one that is told.
      wants: Columns of the table that the rule looks at; without them it is silent.
      broken: Their arrays to a mask of rows that break it; null counts as kept.
      reason: Told with the value.
    """

    column: str
    wants: tuple[str, ...]
    broken: Callable[..., pa.Array]
    reason: str


@dataclass(frozen=True)
class Kind:
    """One kind of file, and the table it goes to.

    Args:
      name: In the words of the commands.
      table: Of the database.
      key: Columns of the table by which a later row replaces an earlier one.
      columns: In the order in which they are judged.
      rules: Between columns.
      constants: Columns of the table that are the same for every row of such a file.
    """

    name: str
    table: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    rules: tuple[RowRule, ...] = ()
    constants: Mapping[str, object] | None = None

    def column(self, name: str) -> Column:
        """The column of that name."""
        return next(column for column in self.columns if column.name == name)

    @property
    def wanted(self) -> tuple[str, ...]:
        """Names that every such file has."""
        return tuple(column.name for column in self.columns if column.in_every_file)


def _text(name: str, *, optional: bool = False) -> Column:
    return Column(name, parsing.texts, (name,), not optional, optional)


def _word(name: str, parse: parsing.CellParser) -> Column:
    return Column(name, parsing.by_value(parse, pa.string()), (name,))


def _day(
    name: str,
    ahead: int = DAYS_AHEAD_OF_PLANS,
    since: int = 1990,
    store: str | None = None,
    optional: bool = False,
) -> Column:
    parse = partial(parsing.day, ahead=ahead, since=since)
    read = parsing.by_value(parse, pa.date32(), are_dates=True)
    return Column(name, read, (store or name,), not optional, optional, holds="day")


def _number(
    name: str, parse: parsing.CellParser, stored: pa.DataType, *, optional: bool = False
) -> Column:
    read = parsing.by_value(parse, stored)
    return Column(name, read, (name,), not optional, may_be_empty=True, holds="number")


ORDERS = Kind(
    name="orders",
    table="orders",
    key=("order_id", "id_namespace"),
    columns=(
        _text("order_id"),
        _text("depot_id"),
        Column(
            "ordered_at",
            partial(parsing.moments, ahead=DAYS_AHEAD_OF_DATA),
            ("ordered_local", "utc_offset_minutes"),
            holds="moment",
        ),
    ),
)

DAILY = Kind(
    name="daily",
    table="daily_counts",
    key=("depot_id", "service_on"),
    columns=(
        _text("depot_id"),
        _day("date", ahead=DAYS_AHEAD_OF_DATA, store="service_on"),
        _number("orders", parsing.whole_number, pa.int64()),
    ),
)

DEPOTS = Kind(
    name="depots",
    table="depots",
    key=("depot_id",),
    columns=(
        _text("depot_id"),
        _text("name"),
        _text("city"),
        _word("timezone", parsing.zone),
        _word("country", parsing.country),
        _text("subdivision", optional=True),
        _number("vans", parsing.whole_number, pa.int32(), optional=True),
        _day("opened_on", since=1900, optional=True),
        _day("closed_on", since=1900, optional=True),
        Column(
            "closed_weekdays",
            parsing.by_value(parsing.weekdays, pa.string()),
            ("closed_weekdays",),
            in_every_file=False,
            may_be_empty=True,
            when_empty="{}",
        ),
    ),
    rules=(
        RowRule(
            "closed_on",
            ("opened_on", "closed_on"),
            lambda opened, closed: pc.less(closed, opened),
            "lies before opened_on",
        ),
    ),
    constants={"is_complete": True},
)

EVENTS = Kind(
    name="events",
    table="event_versions",
    key=("event_id",),
    columns=(
        _text("event_id", optional=True),
        _word("kind", parsing.lower_case),
        _day("starts_on"),
        _day("ends_on"),
        _text("city", optional=True),
        _text("depot_id", optional=True),
        _number("value", parsing.number, pa.float64(), optional=True),
        _day("known_from", optional=True),
        Column(
            "withdrawn",
            parsing.by_value(parsing.yes_or_no, pa.string()),
            ("withdrawn",),
            in_every_file=False,
            may_be_empty=True,
            when_empty="false",
        ),
    ),
    rules=(
        RowRule(
            "ends_on",
            ("starts_on", "ends_on"),
            lambda starts, ends: pc.less(ends, starts),
            "lies before starts_on",
        ),
        RowRule(
            "city",
            ("city", "depot_id"),
            lambda city, depot: pc.and_(pc.is_valid(city), pc.is_valid(depot)),
            "stands beside a depot_id; give one of the two, or neither for everywhere",
        ),
    ),
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in (ORDERS, DAILY, DEPOTS, EVENTS)}


def column_names(kind: str | None) -> list[str]:
    """Names of the columns of one kind, or of all of them."""
    kinds = [KINDS[kind]] if kind else KINDS.values()
    return list(dict.fromkeys(column.name for one in kinds for column in one.columns))
