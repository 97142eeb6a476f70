"""Reads panels, the data that a model sees from an origin; writes nothing."""

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
from pipelines.store.panel import PanelTables, versions_as_of

# Days of calendar past the origin: the longest horizon and the reach of its last day.
MAX_CALENDAR_DAYS_AHEAD = MAX_HORIZON + CALENDAR_REACH
# A forecast runs in the night after its origin; data until this time is known to it.
KNOWLEDGE_CUTOFF = time(12, 0)


def read_panel(engine: sa.Engine, origin: date) -> Panel:
    """Returns the panel of the newest counts up to an origin.

    Args:
      engine: Database the pipelines own.
      origin: The last day with demand.

    Raises:
      NoDataError: there is no demand up to the origin.
    """
    return _build(_read(engine, origin), origin)


class PanelsAsKnown:
    """Panels of past origins, each with the data known in the night after it."""

    def __init__(self, engine: sa.Engine, last: date, zone: ZoneInfo) -> None:
        """Reads every version of the counts once, and builds the newest panel.

        Args:
          engine: Database the pipelines own.
          last: The newest origin of the panels.
          zone: Time zone of the fleet.

        Raises:
          NoDataError: there is no demand up to it.
        """
        tables = _read(engine, last, all_versions=True)
        newest = tables.newest()
        newest = replace(newest, events=as_known(newest.events, zone))
        self._zone = zone
        self._panel = _build(newest, last)
        # Keeps days that were later closed, for origins that did not know it.
        self._demand_dt = np.full_like(self._panel.demand_dt, np.nan)
        self._fill(self._demand_dt, newest.demand)
        self._earlier = tables.earlier_counts()

    def at(self, origin: date) -> Panel:
        """Returns the panel of an origin.

        Raises:
          NoDataError: there was no demand up to it.
        """
        panel = self._panel
        if origin < panel.start_on:
            raise NoDataError(
                f"There is no demand up to {origin}. Load orders with 'harbor ingest'."
            )
        panel = panel.as_of(origin)
        demand_dt = self._demand_dt[:, : panel.n_steps].copy()
        # Counts that were corrected later, at most one per day.
        cutoff = knowledge_cutoff(origin, self._zone)
        self._fill(demand_dt, versions_as_of(self._earlier, cutoff, origin))
        demand_dt[panel.closed_dt[:, : panel.n_steps]] = np.nan
        return replace(panel, demand_dt=demand_dt)

    def _fill(self, demand_dt: np.ndarray, demand: pd.DataFrame) -> None:
        fill_demand(demand_dt, self._panel.depot_ids, self._panel.start_on, demand)


def knowledge_cutoff(origin: date, zone: ZoneInfo) -> datetime:
    """Returns the time after which new data is not known to an origin."""
    return datetime.combine(origin + timedelta(days=1), KNOWLEDGE_CUTOFF, tzinfo=zone)


def first_origin(loaded_at: datetime, zone: ZoneInfo) -> date:
    """Returns the first origin for which data loaded at a time is known."""
    local = loaded_at.astimezone(zone)
    return local.date() - timedelta(days=1 if local.time() <= KNOWLEDGE_CUTOFF else 0)


def as_known(versions: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Adds to versions of events the origins for which they are known.

    A first version is known from its `known_from`, whenever it was loaded; a correction
    from its load, and never before that day.
    """
    announced = pd.to_datetime(versions["known_from"])
    loaded, until = (
        pd.to_datetime(versions[name].map(partial(first_origin, zone=zone), "ignore"))
        for name in ("known_at", "superseded_at")
    )
    corrected = loaded.where(~(announced > loaded), announced)
    return versions.assign(
        known_from=announced.where(versions["version"] == 1, corrected),
        known_until=until,
    )


def _read(engine: sa.Engine, through: date, all_versions: bool = False) -> PanelTables:
    with snapshot(engine) as connection:
        return store.read_panel_tables(connection, through, all_versions=all_versions)


def _build(tables: PanelTables, origin: date) -> Panel:
    rows = (tables.depots, tables.demand, tables.events, tables.holidays)
    return build_panel(*rows, origin, MAX_CALENDAR_DAYS_AHEAD)
