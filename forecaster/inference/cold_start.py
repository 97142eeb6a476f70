"""Fills the missing history of new depots from the daily median of their city's depots.

A depot without an observed day gets the median itself. For a young depot the days before its
first observed day are filled with the median, scaled to the depot's level; later gaps remain.
"""

from functools import cache

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from forecaster.data.panel import Panel
from forecaster.errors import NoDataError

YOUNG_DAYS = 28
"""Days after its first observed day during which a depot is young."""
SCALE_DAYS = 7
"""First days of a young depot, on which its level is compared with its city's."""
NOT_OBSERVED = np.float32(np.nan)
MATURE = YOUNG_DAYS
"""Sentinel that `own_days` returns for mature depots; not a number of days."""


def own_days(panel: Panel, reach: int) -> Int[np.ndarray, " depot"]:
    """Days since each depot's first observed day, capped where more would fill the same history.

    Args:
      panel: Panel whose demand is read.
      reach: Days up to the origin that a forecast reads.

    Returns:
      0 without an observed day, 1 to `SCALE_DAYS` for a young depot, else `MATURE`,
      which stands for any age.
    """
    observed_dt = panel.last(reach).observed_dt
    has_days_d = observed_dt.any(axis=1)
    age_d = observed_dt.shape[1] - observed_dt.argmax(axis=1)
    own_d = np.where(age_d < YOUNG_DAYS, np.minimum(age_d, SCALE_DAYS), MATURE)
    return np.where(has_days_d, own_d, 0)


def impute_from_peers(
    panel: Panel, own_d: Int[np.ndarray, " depot"]
) -> Float32[np.ndarray, "new time"]:
    """Demand of the new depots, filled by the daily median of their city or the fleet.

    Returns:
      Orders per day of the depots that are not `MATURE`, in their order.

    Raises:
      NoDataError: no depot has been observed.
    """
    if not own_d.any():
        raise NoDataError(
            f"No depot has an observed day up to {panel.origin}. Load orders with "
            "'harbor ingest'."
        )
    new_r, city_d = np.flatnonzero(own_d != MATURE), np.array(panel.cities)
    filled_rt = panel.demand_dt[new_r]
    medians_of = cache(lambda rows: _Medians(panel.demand_dt[list(rows)]))
    for city in dict.fromkeys(city_d[new_r]):
        peers_d = peers(own_d, city_d == city)
        medians = medians_of(tuple(np.flatnonzero(peers_d)))
        for row in np.flatnonzero(city_d[new_r] == city):
            # A depot is not its own peer.
            left_out_t = np.where(peers_d[new_r[row]], filled_rt[row], NOT_OBSERVED)
            filled_rt[row] = _filled(filled_rt[row], medians.without(left_out_t))
    return filled_rt


def peers(
    own_d: Int[np.ndarray, " depot"], in_city_d: Bool[np.ndarray, " depot"]
) -> Bool[np.ndarray, " depot"]:
    """Mature depots of the city, else of the fleet, else depots with any observed day."""
    is_mature_d, has_days_d = own_d == MATURE, own_d > 0
    for peers_d in (is_mature_d & in_city_d, is_mature_d):
        if peers_d.any():
            return peers_d
    in_city_d = has_days_d & in_city_d
    return in_city_d if in_city_d.sum() > 1 else has_days_d


class _Medians:
    """Daily medians over some depots, whose demand is sorted only once."""

    def __init__(self, demand_dt: Float32[np.ndarray, "depot time"]) -> None:
        self._sorted_dt = np.sort(demand_dt, axis=0)  # NaN last
        self._count_t = np.isfinite(demand_dt).sum(axis=0)

    def without(
        self, own_t: Float32[np.ndarray, " time"]
    ) -> Float32[np.ndarray, " time"]:
        """Medians without the depot whose demand is `own_t`; NaN where no other was observed."""
        count_t = self._count_t - np.isfinite(own_t)
        middle = [
            self._without(own_t, row_t)
            for row_t in (np.maximum(count_t - 1, 0) // 2, count_t // 2)
        ]
        mean_t = (middle[0] + middle[1]) / np.float32(2)
        return np.where(count_t > 0, mean_t, NOT_OBSERVED)

    def _without(
        self, own_t: Float32[np.ndarray, " time"], row_t: Int[np.ndarray, " time"]
    ) -> Float32[np.ndarray, " time"]:
        """Values at rows of the sorted demand, with the one depot left out."""
        last, step_t = len(self._sorted_dt) - 1, np.arange(len(row_t))
        value_t, next_t = (
            self._sorted_dt[np.minimum(row_t + more, last), step_t] for more in (0, 1)
        )
        return np.where(value_t >= own_t, next_t, value_t)


def _filled(
    demand_t: Float[np.ndarray, " time"], median_t: Float[np.ndarray, " time"]
) -> Float[np.ndarray, " time"]:
    """A depot's demand; before its first observed day, the median scaled to its level."""
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
