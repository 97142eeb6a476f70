"""Fills the missing history of new depots with the daily median of their city's depots."""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from forecaster.data.panel import Panel
from forecaster.errors import NoDataError


def impute_from_peers(panel: Panel, cold_start_d: Bool[np.ndarray, " depot"]) -> Panel:
    """Fills the demand of unobserved depots with the daily median of their city or the fleet.

    Raises:
      NoDataError: no depot has been observed.
    """
    if not cold_start_d.any():
        return panel
    if cold_start_d.all():
        raise NoDataError(
            f"No depot has an observed day up to {panel.origin}. Load orders with "
            "'harbor ingest'."
        )
    demand_dt = panel.demand_dt.copy()
    city_d = np.array(panel.cities)
    for depot in np.flatnonzero(cold_start_d):
        peers_d = (city_d == city_d[depot]) & ~cold_start_d
        demand_dt[depot] = _daily_median(
            panel.demand_dt[peers_d if peers_d.any() else ~cold_start_d]
        )
    return replace(panel, demand_dt=demand_dt)


def _daily_median(
    demand_dt: Float[np.ndarray, "depot time"],
) -> Float[np.ndarray, " time"]:
    """Median over depots of each day, NaN where none was observed."""
    observed_t = np.isfinite(demand_dt).any(axis=0)
    filled_dt = np.where(observed_t, demand_dt, 0.0)
    return np.where(observed_t, np.nanmedian(filled_dt, axis=0), np.nan)
