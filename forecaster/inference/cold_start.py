"""Fills the missing history of new depots from the daily median of their city's depots.

A depot without an observed day gets the median itself. For a young one the days before its
first observed day are filled with the median, scaled to its own level; gaps after it stay.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int

from forecaster.data.panel import Panel
from forecaster.errors import NoDataError

YOUNG_DAYS = 28
"""Days since its first observed one for which a depot is young."""
SCALE_DAYS = 7
"""First days of its own by which a young depot's level is compared with its city's."""
MATURE = YOUNG_DAYS
"""Sentinel that `own_days` returns for mature depots; not a number of days."""


def own_days(panel: Panel, end: int, reach: int) -> Int[np.ndarray, " depot"]:
    """Calendar days since each depot's first observed one that its filled history depends on.

    Args:
      panel: Its demand is read.
      end: Step after the origin.
      reach: Days up to the origin that a forecast reads.

    Returns:
      0 without an observed day, 1 to `SCALE_DAYS` for a young depot, else `MATURE`,
      which stands for any age.
    """
    observed_dt = panel.observed_dt[:, max(0, end - reach) : end]
    has_days_d = observed_dt.any(axis=1)
    age_d = observed_dt.shape[1] - observed_dt.argmax(axis=1)
    own_d = np.where(age_d < YOUNG_DAYS, np.minimum(age_d, SCALE_DAYS), MATURE)
    return np.where(has_days_d, own_d, 0)


def impute_from_peers(panel: Panel, own_d: Int[np.ndarray, " depot"]) -> Panel:
    """Fills the demand of new depots by the daily median of their city or the fleet.

    Args:
      panel: Demand up to the origin.
      own_d: From `own_days`.

    Raises:
      NoDataError: no depot has been observed.
    """
    if (own_d == MATURE).all():
        return panel
    if not own_d.any():
        raise NoDataError(
            f"No depot has an observed day up to {panel.origin}. Load orders with "
            "'harbor ingest'."
        )
    demand_dt = panel.demand_dt.copy()
    city_d = np.array(panel.cities)
    for depot in np.flatnonzero(own_d != MATURE):
        is_other_d = np.arange(panel.n_depots) != depot
        peers_d = _peers(own_d, city_d == city_d[depot], is_other_d)
        if peers_d.any():
            median_t = _daily_median(panel.demand_dt[peers_d])
            demand_dt[depot] = _filled(panel.demand_dt[depot], median_t)
    return replace(panel, demand_dt=demand_dt)


def _peers(
    own_d: Int[np.ndarray, " depot"],
    in_city_d: Bool[np.ndarray, " depot"],
    is_other_d: Bool[np.ndarray, " depot"],
) -> Bool[np.ndarray, " depot"]:
    """Other mature depots of the city, else of the fleet, else any with a day of its own."""
    mature_d, known_d = (own_d == MATURE) & is_other_d, (own_d > 0) & is_other_d
    for peers_d in (mature_d & in_city_d, mature_d, known_d & in_city_d):
        if peers_d.any():
            return peers_d
    return known_d


def _filled(
    demand_t: Float[np.ndarray, " time"], median_t: Float[np.ndarray, " time"]
) -> Float[np.ndarray, " time"]:
    """A depot's demand, with its peers' at its own level before its first observed day."""
    observed_t = np.isfinite(demand_t)
    if not observed_t.any():
        return median_t
    first = int(observed_t.argmax())
    days = slice(first, first + SCALE_DAYS)
    both_t = observed_t[days] & np.isfinite(median_t[days])
    if not both_t.any():
        return demand_t
    log_t, log_median_t = np.log1p(demand_t), np.log1p(median_t)
    gap = (log_t - log_median_t)[days][both_t].mean()
    before_t = np.maximum(np.expm1(log_median_t[:first] + gap), 0.0)
    return np.concatenate([before_t, demand_t[first:]]).astype(demand_t.dtype)


def _daily_median(
    demand_dt: Float[np.ndarray, "depot time"],
) -> Float[np.ndarray, " time"]:
    """Median over depots of each day, NaN where none was observed."""
    observed_t = np.isfinite(demand_dt).any(axis=0)
    filled_dt = np.where(observed_t, demand_dt, 0.0)
    return np.where(observed_t, np.nanmedian(filled_dt, axis=0), np.nan)
