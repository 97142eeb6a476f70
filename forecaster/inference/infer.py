"""Forecasts a panel with an artefact: orders per day and their bands. Needs no JAX."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from jaxtyping import Float

from forecaster.data.panel import Panel
from forecaster.inference import intervals, predict, totals
from forecaster.inference.artefact import Artefact
from forecaster.inference.predict import RawForecast
from forecaster.inference.totals import Bands, Total

MODEL, SIMILAR, CLOSED = "model", "similar", "closed"
"""What a forecast rests on: the depot's own days, those of depots like it, or nothing."""


@dataclass(frozen=True)
class Forecast:
    """Orders per day of the H days after the origin, for every depot of a panel.

    0 ≤ p10 ≤ p50 ≤ p90, never NaN, exactly 0 on closed days.

    Attributes:
      p10_dh: 10 % quantile.
      p50_dh: The point.
      p90_dh: 90 % quantile.
      basis_dh: What each rests on.
      totals: Of the fleet and of each city.
    """

    p10_dh: Float[np.ndarray, "depot horizon"]
    p50_dh: Float[np.ndarray, "depot horizon"]
    p90_dh: Float[np.ndarray, "depot horizon"]
    basis_dh: np.ndarray
    totals: tuple[Total, ...]


def forecast(artefact: Artefact, panel: Panel) -> Forecast:
    """Forecasts every depot from the panel's last day.

    A depot without an observed day in reach is forecast from the days of its city (or of
    the fleet), and marked `similar`.

    Args:
      artefact: From `artefact.load`.
      panel: Demand up to the origin; its calendar reaches at least the horizon ahead.

    Raises:
      NoDataError: the panel's calendar ends before the horizon does, or no depot has
        been observed.
      ArtefactError: the artefact was made for other inputs.
    """
    return _delivered(artefact, panel, predict.predict(artefact, panel))


def forecast_origins(
    artefact: Artefact, panel: Panel, origins: Sequence[date]
) -> Iterator[tuple[date, Forecast]]:
    """Forecasts every depot from each of some origins, in few passes of the network.

    The features of a day come from that day's past, so those of one panel serve every
    origin in it. A later origin of a pass stands on up to `asking.MAX_ORIGINS` context days
    more than it does alone, which the network has long forgotten.

    Args:
      artefact: From `artefact.load`.
      panel: As it was known at the last of the origins, and to those before it as far
        as it reaches.
      origins: In order, within the panel.

    Raises:
      NoDataError: as `forecast`, at one of the origins.
      ArtefactError: the artefact was made for other inputs.
    """
    for said in predict.predict_origins(artefact, panel, origins):
        yield said.origin_on, _delivered(artefact, panel, said)


def orders(log_count: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Orders of log counts, log(1 + orders): never negative."""
    return np.maximum(np.expm1(log_count.astype(float)), 0.0)


def _delivered(artefact: Artefact, panel: Panel, said: RawForecast) -> Forecast:
    """From log counts to orders: never negative, 0 where closed."""
    low_dh, point_dh, high_dh = _log_bands(artefact, panel, said)
    closed_dh = said.closed_dh
    basis_dh = np.where(said.cold_start_d[:, None], SIMILAR, MODEL)
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


def _log_bands(artefact: Artefact, panel: Panel, said: RawForecast) -> Bands:
    point_dh = artefact.postprocessing.points(
        panel.depot_ids, said.baseline_dh, said.correction_dh, said.spread_d
    )
    weekday_h = (said.origin_on.weekday() + 1 + np.arange(artefact.horizon)) % 7
    low_dh, high_dh = intervals.band(
        artefact.intervals, point_dh, said.spread_d, weekday_h, panel.depot_ids
    )
    return Bands(low_dh, point_dh, high_dh)
