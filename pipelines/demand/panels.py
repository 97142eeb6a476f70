"""Reads panels, the data that a model sees from an origin; writes nothing.

A panel has the depots that have *started* by its origin: those with a count up to it, or with
an opening day, before which they are closed. A depot with only a description is not in the
panel, so it gets no forecast.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import cache, cached_property
from typing import Self
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import sqlalchemy as sa

from forecaster.config import MAX_HORIZON
from forecaster.data.features import CALENDAR_REACH
from forecaster.data.panel import Panel
from forecaster.data.panel_builder import (
    NOT_OBSERVED,
    assemble_panel,
    no_demand,
)
from pipelines.database.engine import snapshot
from pipelines.demand import feed_freshness
from pipelines.settings.days import first_origin, knowledge_cutoff
from pipelines.store.demand import last_day
from pipelines.store.panel import read_panel_tables

# Calendar days after the origin: the longest horizon, and the days read after its last day.
MAX_CALENDAR_DAYS_AHEAD = MAX_HORIZON + CALENDAR_REACH


def read_panel(engine: sa.Engine, origin: date) -> Panel:
    """Returns the panel of the newest counts, whose last day of demand is the origin.

    Reads every version, as a night does, although only the newest are used.

    Raises:
      NoDataError: there is no demand up to the origin.
    """
    # The zone decides only when a version became known, which newest counts do not depend on.
    return PanelsAsKnown(engine, origin, ZoneInfo("UTC")).with_newest_counts(origin)


class PanelsAsKnown:
    """Panels of any origin, from data read once in one snapshot."""

    def __init__(self, engine: sa.Engine, last_origin: date, zone: ZoneInfo) -> None:
        """Reads every version of the counts up to `last_origin`, the newest origin of a panel.

        Raises:
          NoDataError: there is no demand up to it.
        """
        with snapshot(engine) as connection:
            tables = read_panel_tables(connection, last_origin)
            # In the same snapshot, so that the late depots match the counts.
            self.lateness = feed_freshness.read_lateness(connection, last_origin)
        self.last_origin = last_origin
        self._zone = zone
        # Days before the first observed one, blank or withdrawn, are no history.
        counts = tables.counts.from_first_observed()
        if tables.depots.empty or not len(counts):
            raise no_demand(last_origin)
        self._start_on = counts.first_on
        n_depots = len(tables.depots)
        self._demand_dt = counts.matrix(n_depots, self._start_on, last_origin)
        # The matrix holds the counts, so the table of counts is emptied.
        none = counts.select(np.zeros(len(counts), bool))
        self._tables = replace(tables, counts=none)

    @classmethod
    def through_newest(cls, engine: sa.Engine, origin: date, zone: ZoneInfo) -> Self:
        """Reads the counts up to an origin or the newest day of data, whichever is later."""
        with engine.connect() as connection:
            last_day_on = last_day(connection)
        return cls(engine, max(origin, last_day_on or origin), zone)

    def covers(self, origin: date) -> bool:
        """Whether an origin lies within the days that have been read."""
        return self._start_on <= origin <= self.last_origin

    def with_newest_counts(self, origin: date) -> Panel:
        """Returns the panel of the newest counts up to an origin, as `read_panel` does.

        Raises:
          NoDataError: there was no demand up to it.
        """
        tables, demand_dt = self._tables, self._until(origin)
        panel = self._assemble(
            _newest(tables.events), _newest(tables.signals), demand_dt
        )
        return _of_started_depots(panel, tables.depots, demand_dt)

    def at(self, origin: date) -> Panel:
        """Returns the panel of an origin as known in the night after it.

        Raises:
          NoDataError: there was no demand up to it.
        """
        demand_dt = self._until(origin).copy()
        # For days corrected later: the counts known then, at most one per depot-day.
        cutoff = knowledge_cutoff(origin, self._zone)
        corrected = self._tables.earlier.newest_at(cutoff, self._start_on, origin)
        corrected.write(demand_dt, self._start_on)
        panel = self._as_known.as_of(origin)
        closed_dt = panel.closed_dt[:, : panel.n_steps]
        open_demand_dt = np.where(closed_dt, NOT_OBSERVED, demand_dt)
        panel = replace(panel, demand_dt=open_demand_dt)
        return _of_started_depots(panel, self._tables.depots, demand_dt)

    def _until(self, origin: date) -> np.ndarray:
        """Returns the newest counts up to an origin, including closed days."""
        n_steps = (origin - self._start_on).days + 1
        if n_steps < 1:
            raise no_demand(origin)
        return self._demand_dt[:, :n_steps]

    @cached_property
    def _as_known(self) -> Panel:
        """The panel of the last origin, and the range of origins that know each event or signal."""
        events = as_known(self._tables.events, self._zone)
        signals = signals_as_known(self._tables.signals, self._zone)
        return self._assemble(events, signals, self._demand_dt)

    def _assemble(
        self, events: pd.DataFrame, signals: pd.DataFrame, demand_dt: np.ndarray
    ) -> Panel:
        """Returns the panel of all depots, started or not."""
        depots, holidays = self._tables.depots, self._tables.holidays
        days = (self._start_on, MAX_CALENDAR_DAYS_AHEAD)
        return assemble_panel(depots, demand_dt, events, holidays, *days, signals)


ReadPanels = Callable[[], PanelsAsKnown]
"""Returns the panels that several steps share, so that the history is read only once."""


def shared_panels(engine: sa.Engine, origin: date, zone: ZoneInfo) -> ReadPanels:
    """Returns a function that reads the panels when first called; see `through_newest`."""
    return cache(lambda: PanelsAsKnown.through_newest(engine, origin, zone))


def as_known(versions: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Sets `known_from` and `known_until` of event versions: the range of origins that know it.

    A first version is known from its announced `known_from`, whenever it was loaded; a
    correction from its load, but not before its `known_from`.
    """
    announced = pd.to_datetime(versions["known_from"])
    loaded, until = _first_origins(versions, zone)
    corrected = loaded.where(~(announced > loaded), announced)
    return versions.assign(
        known_from=announced.where(versions["version"] == 1, corrected),
        known_until=until,
    )


def signals_as_known(versions: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Adds `corrected_from` and `known_until` to signal versions: the origins that know a version.

    A first version is known from its `known_from`; a correction from its load, but not
    before its `known_from`; a version below 1 by no origin.
    """
    loaded, until = _first_origins(versions, zone)
    return versions.assign(
        corrected_from=loaded.where(versions["version"] != 1), known_until=until
    )


def _first_origins(
    versions: pd.DataFrame, zone: ZoneInfo
) -> tuple[pd.Series, pd.Series]:
    """Returns the first origin that knows each version, and the first that knows the next one."""
    # Computed per load time, not per row: a load may have millions of rows.
    times = set(versions["known_at"]) | set(versions["superseded_at"].dropna())
    origins = {time: first_origin(time, zone) for time in times}
    loaded, until = (
        pd.to_datetime(versions[name].map(origins))
        for name in ("known_at", "superseded_at")
    )
    return loaded, until


def _newest(versions: pd.DataFrame) -> pd.DataFrame:
    """Returns the versions that no later one has replaced."""
    return versions[versions["superseded_at"].isna()].reset_index(drop=True)


def _of_started_depots(
    panel: Panel, depots: pd.DataFrame, demand_dt: np.ndarray
) -> Panel:
    """Keeps the depots that have an opening day or a count, even if only on closed days."""
    has_opening_day_d = depots["opened_on"].notna().to_numpy()
    has_started_d = has_opening_day_d | np.isfinite(demand_dt).any(axis=1)
    if has_started_d.all():
        return panel
    return panel.of_depots(np.flatnonzero(has_started_d))
