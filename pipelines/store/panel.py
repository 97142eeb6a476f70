"""Statements that read the data of a panel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import sqlalchemy as sa

from forecaster.data.panel_builder import DayCounts
from pipelines.schema.signals import SIGNAL_COLUMNS

DEPOTS = """
select depot_id, city, country, subdivision, opened_on, closed_on, closed_weekdays
from depots order by depot_id
"""
# One row per depot, its counts packed in Postgres' binary format: a fleet's history is then read
# in seconds, in no more memory than its numbers. One row per count would take Python a minute.
PACKED = """
select depot_id, string_agg(date_send(service_on), '') as day,
       string_agg(float4send(coalesce(orders::float8::float4, 'NaN')), '') as orders
       {more}
from demand_versions
where service_on <= %(through)s and superseded_at is {null}
group by depot_id
"""
COUNTS = PACKED.format(more="", null="null")
EARLIER_COUNTS = PACKED.format(
    more=""", string_agg(int4send(version), '') as version,
       string_agg(timestamptz_send(known_at), '') as known_at,
       string_agg(timestamptz_send(superseded_at), '') as superseded_at""",
    null="not null",
)
# Superseded versions too; a version that withdraws an event is left out.
EVENTS = """
select kind, starts_on, ends_on, city, depot_id, value, known_from, version, known_at,
       superseded_at
from event_versions where not withdrawn order by event_id, version
"""
# Values for depots and for cities, superseded ones too; withdrawals are left out.
SIGNALS = f"""
select {SIGNAL_COLUMNS},
       version, known_at, superseded_at
from signal_versions
where not withdrawn
order by signal, depot_id, city, day_on, known_from, version
"""
HOLIDAYS = "select country, subdivision, day_on, name from public_holidays"
POSTGRES_EPOCH_DAY = np.datetime64("2000-01-01", "D")
POSTGRES_EPOCH = np.datetime64("2000-01-01", "us")
"""Epoch of dates and times in Postgres' binary format; times are in UTC."""


@dataclass(frozen=True)
class EarlierCounts:
    """Superseded counts, which later versions replaced.

    Attributes:
      counts: The counts; the row of a depot is its index in the list of depots.
      version_n: Version number of each count; the first is 1.
      known_at_n: When each count became known, UTC.
      superseded_at_n: When each count was replaced, UTC.
    """

    counts: DayCounts
    version_n: np.ndarray
    known_at_n: np.ndarray
    superseded_at_n: np.ndarray

    def newest_at(self, cutoff: datetime, first: date, last: date) -> DayCounts:
        """Superseded counts of the days from `first` to `last` that were the newest at a cutoff.

        A first count is taken as known at every cutoff, whatever the time zone of its depot.
        """
        at = np.datetime64(cutoff.astimezone(UTC).replace(tzinfo=None), "us")
        is_known = (self.version_n == 1) | (self.known_at_n <= at)
        is_newest = self.superseded_at_n > at
        day_n = self.counts.day_n
        is_between = (day_n >= np.datetime64(first)) & (day_n <= np.datetime64(last))
        return self.counts.select(is_known & is_newest & is_between)


@dataclass(frozen=True)
class PanelTables:
    """The data of panels: tidy rows, and counts in columns.

    Attributes:
      counts: The newest counts.
      earlier: All counts that newer ones have replaced.
      events: Every version of the events, superseded ones too.
      signals: Every version of the values of signals, superseded ones too.
    """

    depots: pd.DataFrame
    counts: DayCounts
    earlier: EarlierCounts
    events: pd.DataFrame
    holidays: pd.DataFrame
    signals: pd.DataFrame


def read_panel_tables(connection: sa.Connection, through: date) -> PanelTables:
    """Reads depots, counts up to a day, events, holidays and signals of a snapshot."""
    depots = _read(connection, DEPOTS)
    depot_ids = list(depots["depot_id"])
    newest = _read_counts(connection, COUNTS, depot_ids, through)
    earlier = _read_counts(connection, EARLIER_COUNTS, depot_ids, through)
    return PanelTables(
        depots=depots,
        counts=_counts(newest),
        earlier=EarlierCounts(
            _counts(earlier),
            version_n=earlier["version"],
            known_at_n=POSTGRES_EPOCH + earlier["known_at"].astype("timedelta64[us]"),
            superseded_at_n=POSTGRES_EPOCH
            + earlier["superseded_at"].astype("timedelta64[us]"),
        ),
        events=_read(connection, EVENTS),
        holidays=_read(connection, HOLIDAYS),
        signals=_read(connection, SIGNALS),
    )


def _counts(columns: Mapping[str, np.ndarray]) -> DayCounts:
    days = POSTGRES_EPOCH_DAY + columns["day"].astype("timedelta64[D]")
    return DayCounts(columns["row"], days, columns["orders"])


PACKED_TYPES = {
    "day": ">i4", "orders": ">f4", "version": ">i4", "known_at": ">i8",
    "superseded_at": ">i8",
}  # fmt: skip


def _read_counts(
    connection: sa.Connection, statement: str, depot_ids: Sequence[str], through: date
) -> dict[str, np.ndarray]:
    """Reads packed counts into columns: `row` (index of the depot), and the statement's columns."""
    row_of = {depot_id: row for row, depot_id in enumerate(depot_ids)}
    names = [name for name in PACKED_TYPES if f"as {name}" in statement]
    parts: dict[str, list[np.ndarray]] = {name: [] for name in names}
    rows, lengths = [], []
    driver = connection.connection.driver_connection
    assert driver is not None, "a connection in use has a driver"
    with driver.cursor(binary=True) as cursor:
        for depot_id, *packed in cursor.stream(statement, {"through": through}):
            for name, column in zip(names, packed, strict=True):
                parts[name].append(np.frombuffer(column, PACKED_TYPES[name]))
            rows.append(row_of.get(depot_id, -1))
            lengths.append(len(parts["day"][-1]))
    columns = {"row": np.repeat(np.array(rows, np.int32), lengths)}
    for name in names:
        own_order = np.dtype(PACKED_TYPES[name]).newbyteorder("=")
        none = np.empty(0, own_order)
        # One column at a time, so that the packed form of each is freed before the next.
        columns[name] = np.concatenate([none, *parts.pop(name)], dtype=own_order)
    return columns


def _read(connection: sa.Connection, statement: str) -> pd.DataFrame:
    result = connection.execute(sa.text(statement))
    # As tuples: pandas probes every Row, which takes three times as long.
    return pd.DataFrame(map(tuple, result), columns=list(result.keys()))
