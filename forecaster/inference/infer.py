"""The finished forecast of a panel: orders, bands, closed days and totals. Needs no JAX.

It is computed from the network's raw log-count forecasts, see `predict`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from forecaster.config import DEFAULT_POINT, POINT_SHIFTS, PointFor
from forecaster.data.panel import Panel
from forecaster.inference import intervals, postprocessing, predict, totals
from forecaster.inference.artefact import Artefact
from forecaster.inference.predict import RawForecast
from forecaster.inference.totals import DepotsAhead, QuantileForecasts, Total

MODEL, COLD_START, CLOSED = "model", "cold_start", "closed"
"""Basis of a forecast: the depot's own history, its peers' (cold start), or a closed day."""

NONE_MISSING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Forecast:
    """Orders per day of the H days after the origin, for every depot of a panel.

    0 ≤ p10 ≤ p50 ≤ p90 and p10 ≤ point ≤ p90, never NaN, exactly 0 on closed days.

    Attributes:
      p10_dh: 10 % quantile.
      p50_dh: The median.
      p90_dh: 90 % quantile.
      point_dh: The number that is shown and scored, see `config.POINT_SHIFTS`.
      basis_dh: MODEL, COLD_START or CLOSED.
      totals: Forecasts of the totals of the fleet and of each city.
    """

    p10_dh: Float[np.ndarray, "depot horizon"]
    p50_dh: Float[np.ndarray, "depot horizon"]
    p90_dh: Float[np.ndarray, "depot horizon"]
    point_dh: Float[np.ndarray, "depot horizon"]
    basis_dh: np.ndarray
    totals: tuple[Total, ...]


def forecast(
    artefact: Artefact,
    panel: Panel,
    missing_days: Mapping[str, int] = NONE_MISSING,
    point: PointFor = DEFAULT_POINT,
) -> Forecast:
    """Forecasts every depot from the panel's last day.

    A depot without an observed day in the receptive field is forecast from the days of its
    city (or of the fleet), and marked `cold_start`.

    Args:
      artefact: From `artefact.load`.
      panel: Demand up to the origin; its calendar reaches at least the horizon ahead.
      missing_days: Number of newest open days without demand, by depot: the more, the wider
        its intervals.
      point: Criterion of the point forecast, see `config.POINT_SHIFTS`.

    Raises:
      NoDataError: the panel's calendar ends before the horizon does, or no depot has
        been observed.
    """
    return postprocess(
        artefact, panel, predict.predict(artefact, panel), missing_days, point
    )


def orders(log_count: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Converts log counts, log(1 + orders), to orders; never negative."""
    return np.maximum(np.expm1(log_count.astype(float)), 0.0)


def postprocess(
    artefact: Artefact,
    panel: Panel,
    raw: RawForecast,
    missing_days: Mapping[str, int],
    point: PointFor,
) -> Forecast:
    """Converts a raw forecast to orders with intervals and totals; 0 where closed."""
    closed_dh = raw.closed_dh
    missing_d = np.array([missing_days.get(depot, 0) for depot in panel.depot_ids])
    median_dh = postprocessing.median(
        artefact.network_share, raw.baseline_dh, raw.correction_dh
    )
    low_dh, high_dh = intervals.bounds(
        artefact.intervals, median_dh, raw.spread_d, raw.effect_sd_dh, missing_d
    )
    quantiles = QuantileForecasts(
        *(
            np.where(closed_dh, 0.0, orders(log_dh))
            for log_dh in (low_dh, median_dh, high_dh)
        )
    )
    spread_dh = intervals.stale_spread(
        artefact.intervals.high_h, raw.spread_d, missing_d
    )
    ahead = DepotsAhead.of(quantiles.p50, raw.spread_d[:, None], raw.effect_sd_dh)
    ahead = ahead._replace(unit=(1 + quantiles.p50) * spread_dh)
    ahead = DepotsAhead(*(np.where(closed_dh, 0.0, part) for part in ahead))
    shifted_dh = orders(median_dh - _point_shift(raw, point)[:, None])
    basis_dh = np.where(raw.cold_start_d[:, None], COLD_START, MODEL)
    return Forecast(
        *quantiles,
        # A closed day has the interval 0 to 0.
        point_dh=np.clip(shifted_dh, quantiles.p10, quantiles.p90),
        basis_dh=np.where(closed_dh, CLOSED, basis_dh),
        totals=totals.total_forecasts(artefact.totals, ahead, panel.cities),
    )


def _point_shift(raw: RawForecast, point: PointFor) -> Float[np.ndarray, " depot"]:
    """Log counts from the median down to the point, larger for a larger spread.

    0 for a cold start, where the spread is not the depot's own.
    """
    shift_d = POINT_SHIFTS[point] * np.minimum(raw.spread_d, totals.MAX_SPREAD) ** 2
    return np.where(raw.cold_start_d, np.float32(0), shift_d)
