"""Features derived from the residuals of the baseline forecast; log counts.

They show extraordinary days, and how a depot responds to holidays and events.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float32, Shaped

from forecaster.data.baseline import MAX_RESIDUAL, BaselineResiduals
from forecaster.data.calendar import NAMED_HOLIDAY, Calendar
from forecaster.data.scaling import trailing_mean, trailing_sum
from forecaster.data.shapes import DepotTail32, DepotTime32

RECENT_COLUMNS = (
    "residual",
    "residual, mean of 3 days",
    "residual, mean of 7 days",
    "residual of the city",
    "residual of the city, mean of 3 days",
)
RESPONSE_COLUMNS = ("event response", "log count of such days")
EVENT_RESPONSE_DAYS = 371
"""Window of past days for a depot's response to a kind of day."""
AUTOCORRELATION_DAYS = 182
"""Window of past days for the autocorrelation of residuals."""
CITY_MEAN_DAYS = 3
"""Days of the moving mean of a city's residuals."""
MAX_CITY_SPREADS = 4.0
"""Maximum absolute residual in a city's mean, in spreads; larger ones are clipped."""
NAMED_WEIGHT = 3.0
"""Weight of a named holiday's own history relative to the history of all holidays."""


@dataclass
class CityResidualMean:
    """Mean residual of all depots of a city, in spreads; depots may be added in chunks."""

    # Sum and count of the city's residuals, [2, time].
    _sums_of: dict[str, np.ndarray] = field(default_factory=dict)

    def add(
        self, residuals: BaselineResiduals, cities: Sequence[str], first_step: int = 0
    ) -> None:
        """Adds the residuals of some depots; the means begin with `first_step`."""
        tail = np.s_[:, first_step:]
        scaled_dt = residuals.clipped_residual_dt[tail] / residuals.spread_dt[tail]
        scaled_dt = np.clip(scaled_dt, -MAX_CITY_SPREADS, MAX_CITY_SPREADS)
        parts = (scaled_dt, residuals.has_residual_dt[tail])
        for city in set(cities):
            in_city_d = np.array(cities) == city
            sums = [part[in_city_d].sum(axis=0, dtype=float) for part in parts]
            self._sums_of[city] = self._sums_of.get(city, 0.0) + np.stack(sums)

    def of(self, cities: Sequence[str]) -> DepotTime32:
        """Returns the mean of each depot's city; 0 where it has no residual."""
        mean_of = {}
        for city in set(cities):
            sum_t, count_t = self._sums_of[city]
            mean_of[city] = (sum_t / np.maximum(count_t, 1)).astype(np.float32)
        return np.stack([mean_of[city] for city in cities])


def recent_residuals(
    residuals: BaselineResiduals,
    city_dt: Float32[np.ndarray, "depot days"],
    first_step: int,
) -> Float32[np.ndarray, "depot tail recent"]:
    """Residuals of the last days, of the depot and of its city: `RECENT_COLUMNS`.

    `city_dt` is from `CityResidualMean.of`, and ends on the same day as the residuals.
    """
    clipped_dt, valid_dt = residuals.clipped_residual_dt, residuals.has_residual_dt
    city_first = max(0, first_step - clipped_dt.shape[1] + city_dt.shape[1])
    all_dt = np.ones(city_dt.shape, bool)
    columns = [
        clipped_dt[:, first_step:],
        trailing_mean(clipped_dt, valid_dt, 3, first_step),
        trailing_mean(clipped_dt, valid_dt, 7, first_step),
        city_dt[:, city_first:],
        trailing_mean(city_dt, all_dt, CITY_MEAN_DAYS, city_first),
    ]
    return np.nan_to_num(np.stack(columns, axis=-1).astype(np.float32))


def residual_autocorrelation(
    residuals: BaselineResiduals, first_step: int
) -> DepotTail32:
    """Lag-one autocorrelation of the residuals on regular days of the last 182 days."""
    since = max(0, first_step - AUTOCORRELATION_DAYS - 1)
    valid_dt = (residuals.has_baseline_dt & residuals.regular_dt)[:, since:]
    residual_dt = (
        np.clip(residuals.residual_dt[:, since:], -MAX_RESIDUAL, MAX_RESIDUAL)
        * valid_dt
    )
    both_dt, product_dt = np.zeros_like(valid_dt), np.zeros_like(residual_dt)
    both_dt[:, 1:] = valid_dt[:, 1:] & valid_dt[:, :-1]
    product_dt[:, 1:] = residual_dt[:, 1:] * residual_dt[:, :-1]
    window = (AUTOCORRELATION_DAYS, first_step - since)
    covariance_dt = np.nan_to_num(trailing_mean(product_dt, both_dt, *window))
    variance_dt = np.nan_to_num(trailing_mean(residual_dt**2, valid_dt, *window))
    correlation_dt = covariance_dt / (variance_dt + 1e-3)
    return np.clip(correlation_dt, -1.0, 1.0).astype(np.float32)


def event_response(
    residuals: BaselineResiduals,
    calendar: Calendar,
    kinds: Sequence[str],
    horizon: int,
    first_step: int,
) -> Float32[np.ndarray, "depot tail response"]:
    """Mean residual on earlier days of the same kind: `RESPONSE_COLUMNS`.

    Args:
      residuals: Residuals of the depots.
      calendar: Calendar of the same days.
      kinds: Kinds of day that have a response.
      horizon: Days forecast. A day's history ends `horizon` days before the day, because an
        origin may be that early.
      first_step: First step returned.
    """
    since = max(0, first_step - horizon - EVENT_RESPONSE_DAYS)
    valid_dt = residuals.has_residual_dt[:, since:]
    residual_dt = residuals.clipped_residual_dt[:, since:]
    first_step -= since
    n_steps = calendar.active_gtk.shape[1]
    calendar = calendar.steps(since, n_steps)
    ahead = calendar.steps(first_step, n_steps)
    total_dt = np.zeros_like(residual_dt[:, first_step:])
    weight_dt, count_dt = np.zeros_like(total_dt), np.zeros_like(total_dt)
    for kind in kinds:
        if not ahead.is_ever(kind):
            continue
        active_dt = calendar.of_kind(kind)
        past_dt = active_dt & valid_dt
        active_dt = active_dt[:, first_step:]
        weight = NAMED_WEIGHT if kind.startswith(NAMED_HOLIDAY) else 1.0
        sums_dt = _past_sum(past_dt * residual_dt, horizon, first_step)
        number_dt = _past_sum(past_dt, horizon, first_step)
        total_dt += np.where(active_dt, weight * sums_dt, 0.0)
        weight_dt += np.where(active_dt, weight * number_dt, 0.0)
        count_dt = np.where(active_dt, np.maximum(count_dt, number_dt), count_dt)
    response_dt = total_dt / (weight_dt + 1.0)
    return np.stack([response_dt, np.log1p(count_dt)], axis=-1).astype(np.float32)


def _past_sum(
    value_dt: Shaped[np.ndarray, "depot time"], horizon: int, first_step: int
) -> DepotTail32:
    """Sum over the `EVENT_RESPONSE_DAYS` that end `horizon` days before each day."""
    past_dt = value_dt[:, : value_dt.shape[1] - horizon]
    summed_dt = trailing_sum(past_dt, EVENT_RESPONSE_DAYS, max(0, first_step - horizon))
    padding = ((0, 0), (max(0, horizon - first_step), 0))
    return np.pad(summed_dt.astype(np.float32), padding)
