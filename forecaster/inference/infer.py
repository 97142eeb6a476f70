"""Forecasts a panel with an artefact: orders per day and their bands. Needs no JAX."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np
from jaxtyping import Float

from forecaster.data.panel import Panel
from forecaster.inference import intervals, predict, totals
from forecaster.inference.artefact import Artefact
from forecaster.inference.predict import RawForecast
from forecaster.inference.totals import Bands, Total

MODEL, COLD_START, CLOSED = "model", "cold_start", "closed"
"""Basis of a forecast: the depot's own history, that of its peers (cold start), or closed."""


@dataclass(frozen=True)
class Forecast:
    """Orders per day of the H days after the origin, for every depot of a panel.

    0 ≤ p10 ≤ p50 ≤ p90, never NaN, exactly 0 on closed days.

    Attributes:
      p10_dh: 10 % quantile.
      p50_dh: The point forecast.
      p90_dh: 90 % quantile.
      basis_dh: MODEL, COLD_START or CLOSED.
      totals: Forecast of the fleet, and of each city.
    """

    p10_dh: Float[np.ndarray, "depot horizon"]
    p50_dh: Float[np.ndarray, "depot horizon"]
    p90_dh: Float[np.ndarray, "depot horizon"]
    basis_dh: np.ndarray
    totals: tuple[Total, ...]


@dataclass(frozen=True)
class LiveConditions:
    """State of the depots on the day of a live forecast, beside their demand.

    Attributes:
      fallback_depots: Depots that get the baseline forecast, in addition to the artefact's.
      missing_days: Number of newest open days without demand, by depot.
    """

    fallback_depots: Collection[str] = ()
    missing_days: Mapping[str, int] = field(default_factory=dict)


def forecast(
    artefact: Artefact, panel: Panel, live: LiveConditions = LiveConditions()
) -> Forecast:
    """Forecasts every depot from the panel's last day.

    A depot without an observed day in the receptive field is forecast from the days of its
    city (or of the fleet), and marked `cold_start`.

    Args:
      artefact: From `artefact.load`.
      panel: Demand up to the origin; its calendar reaches at least the horizon ahead.
      live: Depots that fall back to the baseline, or whose intervals are wider.

    Raises:
      NoDataError: the panel's calendar ends before the horizon does, or no depot has
        been observed.
      ArtefactError: the artefact was made for other inputs.
    """
    return _postprocess(artefact, panel, predict.predict(artefact, panel), live)


def forecast_origins(
    artefact: Artefact, panel: Panel, origins: Sequence[date]
) -> Iterator[tuple[date, Forecast]]:
    """Forecasts every depot from each of some origins, in few passes of the network.

    The features of a day come from that day's past, so those of one panel serve every
    origin in it. A later origin of a pass reads up to `predict.MAX_ORIGINS` more context
    days than it does alone; they lie beyond the network's effective context.

    Args:
      artefact: From `artefact.load`.
      panel: Demand and calendar as known at the last of the origins; it also holds what
        was known at the earlier ones.
      origins: In order, within the panel.

    Raises:
      NoDataError: as `forecast`, at one of the origins.
      ArtefactError: the artefact was made for other inputs.
    """
    for raw in predict.predict_origins(artefact, panel, origins):
        yield raw.origin_on, _postprocess(artefact, panel, raw, LiveConditions())


def orders(log_count: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Converts log counts, log(1 + orders), to orders; never negative."""
    return np.maximum(np.expm1(log_count.astype(float)), 0.0)


def _postprocess(
    artefact: Artefact, panel: Panel, raw: RawForecast, live: LiveConditions
) -> Forecast:
    """Converts a raw forecast to orders with bands and totals; 0 where closed."""
    low_dh, point_dh, high_dh = _log_bands(artefact, panel, raw, live)
    closed_dh = raw.closed_dh
    basis_dh = np.where(raw.cold_start_d[:, None], COLD_START, MODEL)
    bands = Bands(
        *(
            np.where(closed_dh, 0.0, orders(log_dh))
            for log_dh in (low_dh, point_dh, high_dh)
        )
    )
    return Forecast(
        *bands,
        basis_dh=np.where(closed_dh, CLOSED, basis_dh),
        totals=totals.total_forecasts(artefact.totals, bands, panel.cities),
    )


def _log_bands(
    artefact: Artefact, panel: Panel, raw: RawForecast, live: LiveConditions
) -> Bands:
    point_dh = artefact.postprocessing.points(
        panel.depot_ids,
        raw.baseline_dh,
        raw.correction_dh,
        live.fallback_depots,
    )
    missing_d = np.array([live.missing_days.get(depot, 0) for depot in panel.depot_ids])
    weekday_h = (raw.origin_on.weekday() + 1 + np.arange(artefact.horizon)) % 7
    low_dh, high_dh = intervals.band(
        artefact.intervals,
        point_dh,
        raw.spread_d,
        weekday_h,
        panel.depot_ids,
        missing_d,
    )
    return Bands(low_dh, point_dh, high_dh)
