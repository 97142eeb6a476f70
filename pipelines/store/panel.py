"""Statements that read the data of a panel."""

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

import pandas as pd
import sqlalchemy as sa

DEPOTS = """
select depot_id, city, country, subdivision, opened_on, closed_on, closed_weekdays
from depots order by depot_id
"""
DEMAND = """
select depot_id, service_on, version, orders::float8 as orders, known_at,
       superseded_at
from demand_versions
where service_on between :first and :through
  and (:all_versions or superseded_at is null)
"""
EVENTS = """
select kind, starts_on, ends_on, city, depot_id, value, known_from from events
order by event_id
"""
# Superseded versions too; a version that withdraws an event is left out.
EVENT_VERSIONS = """
select kind, starts_on, ends_on, city, depot_id, value, known_from, version, known_at,
       superseded_at
from event_versions where not withdrawn order by event_id, version
"""
HOLIDAYS = "select country, subdivision, day_on, name from public_holidays"
SINCE_ALWAYS = date(1900, 1, 1)


@dataclass(frozen=True)
class PanelTables:
    """Tidy rows, as `forecaster.data.panel_builder.build_panel` takes them."""

    depots: pd.DataFrame
    demand: pd.DataFrame
    events: pd.DataFrame
    holidays: pd.DataFrame

    def newest(self) -> "PanelTables":
        """Only the newest version of each day's demand."""
        return replace(self, demand=self.demand[self.demand["superseded_at"].isna()])

    def earlier_counts(self) -> pd.DataFrame:
        """Versions of demand that have been superseded."""
        return self.demand[self.demand["superseded_at"].notna()]


def versions_as_of(
    demand: pd.DataFrame, cutoff: datetime, origin: date
) -> pd.DataFrame:
    """Versions of demand up to an origin that were the newest at a cutoff.

    First counts are included wherever their depot lies.
    """
    is_known = (demand["version"] == 1) | (demand["known_at"] <= cutoff)
    is_newest = demand["superseded_at"].isna() | (demand["superseded_at"] > cutoff)
    return demand[is_known & is_newest & (demand["service_on"] <= origin)]


def read_panel_tables(
    connection: sa.Connection,
    through: date,
    days: int | None = None,
    all_versions: bool = False,
) -> PanelTables:
    """Reads depots, demand, events and holidays.

    Args:
      connection: Of a snapshot.
      through: Last day of demand.
      days: Maximum number of days; all by default.
      all_versions: Whether superseded counts and events are included.
    """
    first = SINCE_ALWAYS if days is None else through - timedelta(days=days - 1)
    parameters = {"first": first, "through": through, "all_versions": all_versions}
    return PanelTables(
        depots=_read(connection, DEPOTS),
        demand=_read(connection, DEMAND, parameters),
        events=_read(connection, EVENT_VERSIONS if all_versions else EVENTS),
        holidays=_read(connection, HOLIDAYS),
    )


def _read(
    connection: sa.Connection,
    statement: str,
    parameters: dict[str, object] | None = None,
) -> pd.DataFrame:
    result = connection.execute(sa.text(statement), parameters or {})
    return pd.DataFrame(result.fetchall(), columns=list(result.keys()))
