"""Reads panels: what a model sees from an origin. Nothing is written."""

from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import sqlalchemy as sa

from forecaster.config import MAX_HORIZON
from forecaster.data.features import CALENDAR_REACH
from forecaster.data.panel import Panel
from forecaster.data.panel_builder import build_panel, fill_demand
from forecaster.errors import NoDataError
from pipelines.database.engine import snapshot
from pipelines.store import panel as store
from pipelines.store.panel import PanelTables, known_by

# Days of calendar past the origin: the longest horizon, and what its last day looks at.
LONGEST_AHEAD = MAX_HORIZON + CALENDAR_REACH
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
        """Reads every version of the counts once, and lays the newest out.

        Args:
          engine: Database the pipelines own.
          last: The newest origin that will be asked for.
          zone: The fleet's own.

        Raises:
          NoDataError: nothing is known of any day up to it.
        """
        tables = _read(engine, last, all_versions=True)
        newest = tables.newest()
        newest = replace(newest, events=as_known(newest.events, zone))
        self._zone = zone
        self._panel = _build(newest, last)
        # Days that turned out to be closed are shown to origins that did not know.
        self._demand_dt = np.full_like(self._panel.demand_dt, np.nan)
        self._fill(self._demand_dt, newest.demand)
        self._earlier = tables.earlier_counts()

    def at(self, origin: date) -> Panel:
        """The panel of an origin.

        Raises:
          NoDataError: nothing was known of any day up to it.
        """
        panel = self._panel
        if origin < panel.start_on:
            raise NoDataError(
                f"There is no demand up to {origin}. Load orders with 'harbor ingest'."
            )
        panel = panel.as_of(origin)
        demand_dt = self._demand_dt[:, : panel.n_steps].copy()
        # Counts that have been corrected since, and never two of one day.
        known = known_by(self._earlier, noon_after(origin, self._zone), origin)
        self._fill(demand_dt, known)
        demand_dt[panel.closed_dt[:, : panel.n_steps]] = np.nan
        return replace(panel, demand_dt=demand_dt)

    def _fill(self, demand_dt: np.ndarray, demand: pd.DataFrame) -> None:
        fill_demand(demand_dt, self._panel.depot_ids, self._panel.start_on, demand)


def noon_after(origin: date, zone: ZoneInfo) -> datetime:
    """The moment after which nothing that comes in is known to an origin."""
    return datetime.combine(origin + timedelta(days=1), KNOWN_BY, tzinfo=zone)


def first_origin(moment: datetime, zone: ZoneInfo) -> date:
    """The first origin that knows what came in at a moment."""
    local = moment.astimezone(zone)
    return local.date() - timedelta(days=1 if local.time() <= KNOWN_BY else 0)


def as_known(versions: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Versions of events as `build_panel` takes them, each with the origins that know it.

    A first version is known from the day its file says, whenever it was loaded; a
    correction from its arrival, and never before that day.
    """
    known = pd.to_datetime(versions["known_from"])
    arrived, until = (
        pd.to_datetime(versions[name].map(partial(first_origin, zone=zone), "ignore"))
        for name in ("known_at", "superseded_at")
    )
    corrected = arrived.where(~(known > arrived), known)
    return versions.assign(
        known_from=known.where(versions["version"] == 1, corrected), known_until=until
    )


def _read(engine: sa.Engine, through: date, all_versions: bool = False) -> PanelTables:
    with snapshot(engine) as connection:
        return store.read_panel_tables(connection, through, all_versions=all_versions)


def _build(tables: PanelTables, origin: date) -> Panel:
    rows = (tables.depots, tables.demand, tables.events, tables.holidays)
    return build_panel(*rows, origin, LONGEST_AHEAD)
