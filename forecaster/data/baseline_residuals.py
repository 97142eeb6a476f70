"""Residuals of the baseline forecast, and features derived from them.

The baseline repeats the depot's own weeks, so its residuals show extraordinary days and the
depot's response to holidays and events. All are in log counts, actual - baseline.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

import numpy as np
from jaxtyping import Bool, Float32, Shaped

from forecaster.data import windows
from forecaster.data.calendar import HOLIDAY, NAMED_HOLIDAY, Calendar
from forecaster.data.panel import Panel, log_counts
from forecaster.data.scaling import (
    trailing_level,
    trailing_mean,
    trailing_spread,
    trailing_sum,
)

EVENT_RESPONSE_DAYS = 371
"""Window of past days for a depot's response to a kind of day."""
AUTOCORRELATION_DAYS = 182
CITY_MEAN_DAYS = 3
"""Days of the moving mean of a city's residuals."""
MAX_RESIDUAL = 1.5
MAX_SPREADS = 4.0
NAMED_WEIGHT = 3.0
"""Weight of a named holiday's own history relative to that of all holidays."""


@dataclass(frozen=True)
class BaselineResiduals:
    """Log counts of a panel, days ahead included, and the residuals of the baseline.

    Attributes:
      log_dt: log(1 + orders), 0 where not observed.
      observed_dt: Whether the day was observed.
      regular_dt: Observed days that are no holiday.
      level_dt: Recent mean of log counts.
      residual_dt: Log count - yesterday's baseline forecast of the day.
      has_baseline_dt: Whether there was a baseline forecast.
      spread_dt: Recent mean absolute residual.
    """

    log_dt: Float32[np.ndarray, "depot time"]
    observed_dt: Bool[np.ndarray, "depot time"]
    regular_dt: Bool[np.ndarray, "depot time"]
    level_dt: Float32[np.ndarray, "depot time"]
    residual_dt: Float32[np.ndarray, "depot time"]
    has_baseline_dt: Bool[np.ndarray, "depot time"]
    spread_dt: Float32[np.ndarray, "depot time"]

    @classmethod
    def from_panel(cls, panel: Panel) -> "BaselineResiduals":
        """Computes the residuals of every depot of a panel."""
        log_dt = _extended(log_counts(panel.demand_dt), panel.ahead)
        observed_dt = _extended(panel.observed_dt, panel.ahead)
        holiday_dt = panel.calendar.of_kind(HOLIDAY)[panel.calendar.group_d]
        regular_dt = observed_dt & ~holiday_dt
        level_dt = np.nan_to_num(trailing_level(log_dt, regular_dt))
        residual_dt, has_baseline_dt = _baseline_residual(log_dt, regular_dt, level_dt)
        spread_dt = trailing_spread(residual_dt, has_baseline_dt & regular_dt)
        return cls(
            log_dt,
            observed_dt,
            regular_dt,
            level_dt,
            residual_dt,
            has_baseline_dt,
            spread_dt,
        )

    @cached_property
    def known_dt(self) -> Bool[np.ndarray, "depot time"]:
        """Days that were observed and have a baseline."""
        return self.has_baseline_dt & self.observed_dt

    @cached_property
    def clipped_residual_dt(self) -> Float32[np.ndarray, "depot time"]:
        """Residuals clipped to ±`MAX_RESIDUAL`, 0 where not known."""
        return np.clip(self.residual_dt, -MAX_RESIDUAL, MAX_RESIDUAL) * self.known_dt


@dataclass
class CityResidualMean:
    """Mean residual of all depots of a city, in spreads; depots may be added in chunks."""

    _sum_t: dict[str, np.ndarray] = field(default_factory=dict)
    _count_t: dict[str, np.ndarray] = field(default_factory=dict)

    def add(self, residuals: BaselineResiduals, cities: Sequence[str]) -> None:
        """Adds the residuals of some depots.

        Args:
          residuals: Residuals of these depots.
          cities: City of each of them.
        """
        scaled_dt = residuals.clipped_residual_dt / residuals.spread_dt
        scaled_dt = np.clip(scaled_dt, -MAX_SPREADS, MAX_SPREADS)
        for city in set(cities):
            here_d = np.array(cities) == city
            sum_t = scaled_dt[here_d].sum(axis=0, dtype=float)
            self._sum_t[city] = self._sum_t.get(city, 0.0) + sum_t
            count_t = residuals.known_dt[here_d].sum(axis=0)
            self._count_t[city] = self._count_t.get(city, 0) + count_t

    def of(self, cities: Sequence[str]) -> Float32[np.ndarray, "depot time"]:
        """Returns the mean of each depot's city; 0 where nothing is known.

        Args:
          cities: City of each depot.
        """
        mean_ct = {
            city: (sum_t / np.maximum(self._count_t[city], 1)).astype(np.float32)
            for city, sum_t in self._sum_t.items()
            if city in set(cities)
        }
        return np.stack([mean_ct[city] for city in cities])


def recent_residuals(
    residuals: BaselineResiduals,
    city_dt: Float32[np.ndarray, "depot days"],
    first: int = 0,
) -> Float32[np.ndarray, "depot late 5"]:
    """Residuals of the last days: of the depot and of its city, with moving means.

    Args:
      residuals: Residuals of the depots.
      city_dt: From `CityResidualMean.of`; ends on the same day as the residuals.
      first: Step of the first day returned.
    """
    clipped_residual_dt, known_dt = residuals.clipped_residual_dt, residuals.known_dt
    city_first = max(0, first - clipped_residual_dt.shape[1] + city_dt.shape[1])
    columns = [
        clipped_residual_dt[:, first:],
        trailing_mean(clipped_residual_dt, known_dt, 3, first),
        trailing_mean(clipped_residual_dt, known_dt, 7, first),
        city_dt[:, city_first:],
        trailing_mean(
            city_dt, np.ones(city_dt.shape, bool), CITY_MEAN_DAYS, city_first
        ),
    ]
    return np.nan_to_num(np.stack(columns, axis=-1).astype(np.float32))


def residual_autocorrelation(
    residuals: BaselineResiduals, first: int = 0
) -> Float32[np.ndarray, "depot late"]:
    """Lag-one autocorrelation of the residuals on regular days of the last 182 days.

    Args:
      residuals: Residuals of the depots.
      first: Step of the first day returned.
    """
    since = max(0, first - AUTOCORRELATION_DAYS - 1)
    known_dt = (residuals.has_baseline_dt & residuals.regular_dt)[:, since:]
    residual_dt = (
        np.clip(residuals.residual_dt[:, since:], -MAX_RESIDUAL, MAX_RESIDUAL)
        * known_dt
    )
    both_dt, product_dt = np.zeros_like(known_dt), np.zeros_like(residual_dt)
    both_dt[:, 1:] = known_dt[:, 1:] & known_dt[:, :-1]
    product_dt[:, 1:] = residual_dt[:, 1:] * residual_dt[:, :-1]
    late = (AUTOCORRELATION_DAYS, first - since)
    together_dt = np.nan_to_num(trailing_mean(product_dt, both_dt, *late))
    alone_dt = np.nan_to_num(trailing_mean(residual_dt**2, known_dt, *late))
    share_dt = together_dt / (alone_dt + 1e-3)
    return np.clip(share_dt, -1.0, 1.0).astype(np.float32)


def event_response(
    residuals: BaselineResiduals,
    calendar: Calendar,
    kinds: Sequence[str],
    horizon: int,
    first: int = 0,
) -> Float32[np.ndarray, "depot late 2"]:
    """Mean residual of each depot on earlier days of the same kind, known a horizon ahead.

    Args:
      residuals: Residuals of the depots.
      calendar: Calendar of the same days.
      kinds: Kinds of day that have a response.
      horizon: Days before a day at which its history ends.
      first: Step of the first day returned.
    """
    known_dt, residual_dt = residuals.known_dt, residuals.clipped_residual_dt
    total_dt = np.zeros_like(residual_dt[:, first:])
    weight_dt, count_dt = np.zeros_like(total_dt), np.zeros_like(total_dt)
    for kind in kinds:
        active_gt = calendar.of_kind(kind)
        if not active_gt[:, first:].any():
            continue
        seen_dt = active_gt[calendar.group_d] & known_dt
        active_dt = active_gt[calendar.group_d, first:]
        weight = NAMED_WEIGHT if kind.startswith(NAMED_HOLIDAY) else 1.0
        sums_dt = _past_sum(seen_dt * residual_dt, horizon, first)
        times_dt = _past_sum(seen_dt, horizon, first)
        total_dt += np.where(active_dt, weight * sums_dt, 0.0)
        weight_dt += np.where(active_dt, weight * times_dt, 0.0)
        count_dt = np.where(active_dt, np.maximum(count_dt, times_dt), count_dt)
    response_dt = total_dt / (weight_dt + 1.0)
    return np.stack([response_dt, np.log1p(count_dt)], axis=-1).astype(np.float32)


def _past_sum(
    value_dt: Shaped[np.ndarray, "depot time"], horizon: int, first: int
) -> Float32[np.ndarray, "depot late"]:
    """Sum over `EVENT_RESPONSE_DAYS` up to `horizon` days before each day."""
    past_dt = value_dt[:, : value_dt.shape[1] - horizon]
    summed_dt = trailing_sum(past_dt, EVENT_RESPONSE_DAYS, max(0, first - horizon))
    padding = ((0, 0), (max(0, horizon - first), 0))
    return np.pad(summed_dt.astype(np.float32), padding)


def _baseline_residual(
    log_dt: Float32[np.ndarray, "depot time"],
    regular_dt: Bool[np.ndarray, "depot time"],
    level_dt: Float32[np.ndarray, "depot time"],
) -> tuple[Float32[np.ndarray, "depot time"], Bool[np.ndarray, "depot time"]]:
    """Residual of yesterday's baseline forecast of each day, and whether there was one."""
    regular = _same_weekdays(regular_dt.astype(np.float32))
    baseline_dt = windows.trimmed_mean(
        np, _same_weekdays(log_dt), regular, earlier(level_dt, 1)
    )
    residual_dt = log_dt - baseline_dt
    residual_dt[:, 0] = 0.0
    return residual_dt, reduce(np.add, regular) > 0


def _same_weekdays(
    value_dt: Float32[np.ndarray, "depot time"],
) -> list[Float32[np.ndarray, "depot time"]]:
    """Values of the last four same weekdays, newest first."""
    repeats = range(1, windows.REPEATS + 1)
    return [earlier(value_dt, windows.weekday_lag(1, repeat)) for repeat in repeats]


def earlier(
    value_dt: Shaped[np.ndarray, "depot time"], days: int, first: int = 0
) -> Shaped[np.ndarray, "depot late"]:
    """Values `days` earlier, from step `first` on; 0 before the first step."""
    # Not by np.pad, which takes longer for its checks than for its work.
    late_dt = np.zeros_like(value_dt[:, first:])
    known_dt = value_dt[:, max(0, first - days) : max(0, value_dt.shape[1] - days)]
    late_dt[:, late_dt.shape[1] - known_dt.shape[1] :] = known_dt
    return late_dt


def _extended(value_dt: np.ndarray, ahead: int) -> np.ndarray:
    extended_dt = np.zeros((len(value_dt), value_dt.shape[1] + ahead), value_dt.dtype)
    extended_dt[:, : value_dt.shape[1]] = value_dt
    return extended_dt
