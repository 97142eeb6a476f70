"""Reads panels: what a model sees from an origin; looks holidays up on the way."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from forecaster.config import LONGEST_HORIZON
from forecaster.features import CALENDAR_REACH
from forecaster.panel import Panel, build_panel
from pipelines import public_holidays
from pipelines.store import panel as store
from pipelines.store.panel import PanelTables

# Days of calendar past the origin: the longest horizon, and what its last day looks at.
LONGEST_AHEAD = LONGEST_HORIZON + CALENDAR_REACH
EARLIEST_HOLIDAY = date(2000, 1, 1)
# A forecast is made in the night after its origin; what came by then is known to it.
KNOWN_BY = time(12, 0)


def read_panel(engine: sa.Engine, origin: date) -> Panel:
    """The panel of the newest counts up to an origin.

    Args:
      engine: Database the pipelines own.
      origin: The last day whose demand is shown.

    Raises:
      NoDataError: there is no demand up to the origin.
    """
    return _build(_read(engine, origin), origin)


class PanelsAsKnown:
    """Panels of past origins, each with what was known in the night after it."""

    def __init__(self, engine: sa.Engine, last: date, zone: ZoneInfo) -> None:
        """Reads every version of the counts once.

        Args:
          engine: Database the pipelines own.
          last: The newest origin that will be asked for.
          zone: The fleet's own.
        """
        self._tables = _read(engine, last, all_versions=True)
        self._zone = zone

    def at(self, origin: date) -> Panel:
        """The panel of an origin.

        Raises:
          NoDataError: nothing was known of any day up to it.
        """
        morning = origin + timedelta(days=1)
        moment = datetime.combine(morning, KNOWN_BY, tzinfo=self._zone)
        return _build(self._tables.known_by(moment, origin), origin)


def _read(engine: sa.Engine, through: date, all_versions: bool = False) -> PanelTables:
    last = through + timedelta(days=LONGEST_AHEAD)
    with engine.connect() as connection:
        demand = store.read_panel_tables(connection, through, all_versions=all_versions)
    first = min(demand.demand["service_on"], default=EARLIEST_HOLIDAY)
    public_holidays.snapshot(engine, first, last)
    with engine.connect() as connection:
        return store.read_panel_tables(connection, through, all_versions=all_versions)


def _build(tables: PanelTables, origin: date) -> Panel:
    rows = (tables.depots, tables.demand, tables.events, tables.holidays)
    return build_panel(*rows, origin, LONGEST_AHEAD)
