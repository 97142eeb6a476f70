"""Effects of covariates known in advance: signals, and values of events.

A covariate enters as its deviation from the median of the depot's last four same weekdays,
each as known the same number of days ahead, divided by the depot's own spread: neither the
unit nor the depot's size matters, and orders booked a week ahead are never compared with
those booked a day ahead. A regression over all depots then gives each covariate a coefficient
for each number of days ahead; a covariate that explains nothing is shrunk to nearly nothing
(automatic relevance determination; MacKay, 1994).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32

from forecaster.data.calendar import HOLIDAY, NAMED_HOLIDAY
from forecaster.data.panel import Panel
from forecaster.data.ridge import Rows, estimate_prior_sds, fit_ridge
from forecaster.data.scaling import median_of_known
from forecaster.data.shapes import DepotTime, DepotTime32, DepotTimeFlags

SIGNAL, EVENT_VALUE = "signal: ", "value: "
PRIOR_SD = 0.3
"""Standard deviation of a coefficient before any data, log counts per spread."""
N_PAST_WEEKDAYS = 4
"""Number of past same weekdays whose median is a day's normal level."""
WEEKDAY_MEDIAN_DAYS = 7 * N_PAST_WEEKDAYS
"""Number of days before a day that its deviation reads."""
MIN_DAYS = 14
"""Minimum days with a covariate for a depot to have a spread of its own."""
MAX_DEVIATION_SPREADS = 4.0
"""Maximum absolute deviation, in spreads; larger ones, too rare to learn from, are clipped."""
ERROR_CORRELATION = 0.3
"""Assumed correlation of the errors of two depots on one day."""


@dataclass(frozen=True)
class SignalEffects:
    """Coefficients of the covariates, for each number of days ahead.

    Attributes:
      names: Covariates.
      coefficient_hk: Log counts per spread.
      centre_k: Mean of each covariate, used where an event's earlier same weekdays have no value.
      scale_hk: Spread for a depot without one of its own.
      depot_ids: Depots with spreads of their own.
      scale_hdk: Spread of each covariate at each of `depot_ids`.
    """

    names: tuple[str, ...]
    coefficient_hk: Float32[np.ndarray, "ahead covariate"]
    centre_k: Float32[np.ndarray, " covariate"]
    scale_hk: Float32[np.ndarray, "ahead covariate"]
    depot_ids: tuple[str, ...]
    scale_hdk: Float32[np.ndarray, "ahead depot covariate"]

    def of(self, panel: Panel, days: int) -> Float32[np.ndarray, "depot time_ahead"]:
        """Returns the effect of every day, as known `days` (1 to the horizon) before it."""
        scaled_kdt = self._scaled(panel, days)
        effect_dt = np.tensordot(self.coefficient_hk[days - 1], scaled_kdt, axes=1)
        return np.asarray(effect_dt, np.float32)

    def by_name(
        self, panel: Panel, days: int
    ) -> Float[np.ndarray, "covariate depot time_ahead"]:
        """Returns the effect of each covariate on every day, see `of`; rows as in `names`."""
        coefficient_k = self.coefficient_hk[days - 1]
        return coefficient_k[:, None, None] * self._scaled(panel, days)

    def _scaled(
        self, panel: Panel, days: int
    ) -> Float[np.ndarray, "covariate depot time_ahead"]:
        """Deviations of the covariates, in units of each depot's spread."""
        row_of = {depot: row for row, depot in enumerate(self.depot_ids)}
        own_dk, any_k = self.scale_hdk[days - 1], self.scale_hk[days - 1]
        scale_dk = np.array(
            [
                own_dk[row_of[depot]] if depot in row_of else any_k
                for depot in panel.depot_ids
            ]
        )
        value_kdt = _values(panel, self.names, days)
        deviation_kdt = _deviations(value_kdt, self.names, self.centre_k)
        return _scaled(deviation_kdt, scale_dk)


class _Fitted(NamedTuple):
    """Coefficients and spreads of the covariates for one number of days ahead."""

    coefficient_k: Float[np.ndarray, " covariate"]
    scale_k: Float[np.ndarray, " covariate"]
    scale_dk: Float[np.ndarray, "depot covariate"]


def no_signals() -> SignalEffects:
    """Returns the effects of a fleet without covariates."""
    row, table = np.zeros(0, np.float32), np.zeros((0, 0), np.float32)
    return SignalEffects((), table, row, table, (), np.zeros((0, 0, 0), np.float32))


def fit_signal_effects(
    panel: Panel,
    names: tuple[str, ...],
    residual_dt: DepotTime,
    valid_dt: DepotTimeFlags,
    noise_d: Float[np.ndarray, " depot"],
    horizon: int,
) -> SignalEffects:
    """Fits the coefficients to the residuals that the calendar leaves.

    Args:
      panel: Demand through the origin.
      names: The panel's covariates (`covariate_names`), at least one.
      residual_dt: Log counts less their normal level and less the calendar's effects.
      valid_dt: Whether the residual counts.
      noise_d: Standard deviation of each depot's residuals.
      horizon: Days forecast.
    """
    centre_k = np.array(
        [_mean(value_dt) for value_dt in _values(panel, names, 1)], np.float32
    )
    fits = []
    for days in range(1, horizon + 1):
        value_kdt = _values(panel, names, days)[..., : panel.n_steps]
        deviation_kdt = _deviations(value_kdt, names, centre_k)
        fits.append(_fit(deviation_kdt, residual_dt, valid_dt, noise_d))
    parts = (np.stack(part).astype(np.float32) for part in zip(*fits, strict=True))
    coefficient_hk, scale_hk, scale_hdk = parts
    return SignalEffects(
        names, coefficient_hk, centre_k, scale_hk, panel.depot_ids, scale_hdk
    )


def covariate_names(panel: Panel) -> tuple[str, ...]:
    """Names of the covariates that a panel has: signals, and values of events."""
    names = [SIGNAL + name for name in (panel.signals.names if panel.signals else ())]
    calendar = panel.calendar
    names += [
        EVENT_VALUE + kind
        for kind in calendar.kinds
        if kind != HOLIDAY
        and not kind.startswith(NAMED_HOLIDAY)
        and np.isfinite(calendar.value_of(kind)[:, : panel.n_steps]).any()
    ]
    return tuple(names)


def _values(
    panel: Panel, names: Sequence[str], days: int
) -> Float32[np.ndarray, "covariate depot time"]:
    """Values of every day, NaN where unknown; signals as known `days` days before it."""
    shape = (len(names), panel.n_depots, panel.n_steps + panel.ahead)
    value_kdt = np.full(shape, np.nan, np.float32)
    for row, name in enumerate(names):
        if name.startswith(EVENT_VALUE):
            value_kdt[row] = panel.calendar.value_of(name.removeprefix(EVENT_VALUE))
    signals = [name.removeprefix(SIGNAL) for name in names if name.startswith(SIGNAL)]
    if signals and panel.signals:
        is_signal_k = np.array([name.startswith(SIGNAL) for name in names])
        value_kdt[is_signal_k] = panel.signals.named(signals).known_ahead(days)
    return value_kdt


def _deviations(
    value_kdt: Float32[np.ndarray, "covariate depot time"],
    names: Sequence[str],
    centre_k: Float32[np.ndarray, " covariate"],
) -> Float[np.ndarray, "covariate depot time"]:
    """Values less the median of the same weekdays before; NaN where either is unknown.

    An event's value, which exists on few days, is compared with the mean of all its values
    where those weekdays have none.
    """
    median_kdt = np.stack([_weekday_median(value_dt) for value_dt in value_kdt])
    for row, name in enumerate(names):
        if name.startswith(EVENT_VALUE):
            median_kdt[row] = np.where(
                np.isnan(median_kdt[row]), centre_k[row], median_kdt[row]
            )
    return value_kdt - median_kdt


def _weekday_median(value_dt: DepotTime32) -> DepotTime32:
    """Median of the last four same weekdays; NaN where all of them are unknown."""
    before = np.full((N_PAST_WEEKDAYS, *value_dt.shape), np.nan, np.float32)
    for week in range(1, N_PAST_WEEKDAYS + 1):
        before[week - 1, :, 7 * week :] = value_dt[:, : -7 * week]
    median_dt, has_any_dt = median_of_known(before)
    return np.where(has_any_dt, median_dt, np.float32(np.nan))


def _scaled(
    deviation_kdt: Float[np.ndarray, "covariate depot time"],
    scale_dk: Float[np.ndarray, "depot covariate"],
) -> Float[np.ndarray, "covariate depot time"]:
    """Deviations in spreads, clipped; 0 where unknown."""
    scaled_kdt = np.nan_to_num(deviation_kdt) / scale_dk.T[..., None]
    return np.clip(scaled_kdt, -MAX_DEVIATION_SPREADS, MAX_DEVIATION_SPREADS)


def _fit(
    deviation_kdt: Float[np.ndarray, "covariate depot time"],
    residual_dt: DepotTime,
    valid_dt: DepotTimeFlags,
    noise_d: Float[np.ndarray, " depot"],
) -> _Fitted:
    scale_dk, scale_k = _scales(deviation_kdt)
    scaled_kdt = _scaled(deviation_kdt, scale_dk)
    used_dt = valid_dt & (scaled_kdt != 0).any(axis=0)
    # Depots with correlated errors carry less information than independent ones.
    inflation_t = 1 + ERROR_CORRELATION * np.maximum(used_dt.sum(axis=0) - 1, 0)
    weight_dt = 1 / (noise_d[:, None] ** 2 * inflation_t)
    rows = Rows(scaled_kdt[:, used_dt].T, weight_dt[used_dt], residual_dt[used_dt])
    prior_k = np.full(len(scale_k), PRIOR_SD)
    prior_sd_k = estimate_prior_sds([rows], prior_k, np.arange(len(scale_k)))
    return _Fitted(fit_ridge(rows, prior_sd_k).mean_f, scale_k, scale_dk)


def _scales(
    deviation_kdt: Float[np.ndarray, "covariate depot time"],
) -> tuple[Float[np.ndarray, "depot covariate"], Float[np.ndarray, " covariate"]]:
    """Root mean square deviation of each depot, and the median over depots; 1 without data."""
    count_kd = np.isfinite(deviation_kdt).sum(axis=2)
    total_kd = np.nansum(deviation_kdt**2, axis=2)
    own_kd = np.sqrt(total_kd / np.maximum(count_kd, 1))
    has_own_kd = (count_kd >= MIN_DAYS) & (own_kd > 0)
    any_k = np.array(
        [
            np.median(own_d[has_d]) if has_d.any() else _root_mean_square(value_dt)
            for own_d, has_d, value_dt in zip(
                own_kd, has_own_kd, deviation_kdt, strict=True
            )
        ]
    )
    return np.where(has_own_kd, own_kd, any_k[:, None]).T, any_k


def _root_mean_square(value_dt: DepotTime) -> float:
    known_r = value_dt[np.isfinite(value_dt) & (value_dt != 0)]
    return float(np.sqrt((known_r**2).mean())) if len(known_r) else 1.0


def _mean(value_dt: DepotTime32) -> float:
    known_r = value_dt[np.isfinite(value_dt)]
    return float(known_r.mean()) if len(known_r) else 0.0
