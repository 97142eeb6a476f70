"""Raw log-count forecasts of the network: runs the exported network on a panel.

`infer` turns them into the finished forecast: orders, bands, closed days and totals.
Depots are computed in chunks, on all cores, so that memory does not grow with the fleet.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Int

from forecaster.data import inputs, lags
from forecaster.data.baseline import BaselineResiduals
from forecaster.data.features import build_features, embedding_rows
from forecaster.data.outages import DAYS_READ, without_outages
from forecaster.data.panel import Panel
from forecaster.data.residual_features import CITY_MEAN_DAYS, CityResidualMean
from forecaster.data.scaling import SPREAD_DAYS_READ
from forecaster.data.signal_effects import WEEKDAY_MEDIAN_DAYS
from forecaster.data.yearly_features import LONGEST_LAG
from forecaster.errors import NoDataError
from forecaster.inference.artefact import Artefact
from forecaster.inference.cold_start import MATURE, impute_from_peers, own_days, peers
from forecaster.inference.intervals import COLD_START_SPREAD
from forecaster.inference.numpy_model import Network

DEPOTS_PER_CHUNK = 256
"""Depots whose features are in memory at once, for each core. With smaller chunks, threads
spend more time waiting for the interpreter than computing products."""
EFFECT_DAYS = WEEKDAY_MEDIAN_DAYS + 1
"""Days of history that a day's effects read: 28 for a signal's weekday median, 1 for its eve."""


@dataclass(frozen=True)
class RawForecast:
    """The network's forecast before post-processing; log counts."""

    baseline_dh: Float32[np.ndarray, "depot horizon"]
    # The network's correction to the baseline forecast.
    correction_dh: Float32[np.ndarray, "depot horizon"]
    spread_d: Float32[np.ndarray, " depot"]
    # Standard deviation of the calendar's effect on the day.
    effect_sd_dh: Float32[np.ndarray, "depot horizon"]
    # Depots without an observed day of their own.
    cold_start_d: Bool[np.ndarray, " depot"]
    # Whether the day was known at the origin to be closed.
    closed_dh: Bool[np.ndarray, "depot horizon"]


class _NetworkForecasts(NamedTuple):
    """Forecasts of some depots; log counts."""

    baseline_dh: Float32[np.ndarray, "depot horizon"]
    correction_dh: Float32[np.ndarray, "depot horizon"]
    spread_d: Float32[np.ndarray, " depot"]


def predict(artefact: Artefact, panel: Panel) -> RawForecast:
    """Forecasts every depot from the panel's last day.

    Raises:
      NoDataError: as `infer.forecast`.
    """
    horizon = artefact.horizon
    _require_calendar(panel, horizon)
    panel = without_outages(panel.last(receptive_field_days(artefact)))
    near = panel.last(EFFECT_DAYS + 1)
    effect_sd_dt = artefact.effects.calendar.sd_of(near)
    own_d = own_days(panel, _feature_days(artefact))
    forecasts = _network_forecasts(artefact, panel, own_d)
    return RawForecast(
        baseline_dh=forecasts.baseline_dh,
        correction_dh=forecasts.correction_dh,
        spread_d=_of_new_depots(forecasts.spread_d, own_d, panel.cities),
        effect_sd_dh=effect_sd_dt[:, near.n_steps : near.n_steps + horizon],
        cold_start_d=own_d == 0,
        closed_dh=panel.closed_dt[:, panel.n_steps : panel.n_steps + horizon],
    )


def _network_forecasts(
    artefact: Artefact, panel: Panel, own_d: Int[np.ndarray, " depot"]
) -> _NetworkForecasts:
    """Forecasts every depot; the history of new ones is imputed from their peers."""
    panel, is_new_d = panel.last(_feature_days(artefact)), own_d != MATURE
    # NumPy's products and functions release the interpreter lock.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        city_mean = None
        if panel.n_depots > DEPOTS_PER_CHUNK or is_new_d.any():
            city_mean = _city_residual_mean(artefact, panel, threads)
        if is_new_d.any():
            demand_dt = panel.demand_dt.copy()
            demand_dt[is_new_d] = impute_from_peers(panel, own_d)
            panel = replace(panel, demand_dt=demand_dt)
        # The network is built here once, and not in every thread.
        shared = (artefact, artefact.network, embedding_rows(artefact.depot_ids))
        forecast_chunk = partial(_forecast_chunk, *shared, city_mean)
        parts = list(threads.map(forecast_chunk, _chunks(panel)))
    return _NetworkForecasts(*map(np.concatenate, zip(*parts, strict=True)))


def _forecast_chunk(
    artefact: Artefact,
    network: Network,
    embedding_row_of: Mapping[str, int],
    city_mean: CityResidualMean | None,
    panel: Panel,
) -> _NetworkForecasts:
    """Forecasts some depots; `city_mean` may be None if they are the whole fleet."""
    features = build_features(
        panel,
        artefact.kinds,
        artefact.horizon,
        embedding_row_of,
        city_mean,
        artefact.task.context + lags.LOOKBACK_DAYS,
        artefact.effects.of(panel, artefact.horizon),
        artefact.effects.weekdays,
    )
    windows = inputs.last_windows(features, artefact.task)
    calendars = inputs.last_calendars(features, artefact.task)
    baseline_dh, correction_dh = network.forward(windows, calendars)
    spread_d = features.spread_dt[:, features.n_steps - 1]
    return _NetworkForecasts(baseline_dh, correction_dh, spread_d)


def _city_residual_mean(
    artefact: Artefact, panel: Panel, threads: ThreadPoolExecutor
) -> CityResidualMean:
    """Mean residuals of the cities, from observed days only."""
    before = CITY_MEAN_DAYS + SPREAD_DAYS_READ + EFFECT_DAYS + 2 * lags.LOOKBACK_DAYS
    city_mean = CityResidualMean()
    chunks = list(_chunks(panel.last(artefact.task.context + before)))
    effects = threads.map(partial(artefact.effects.of, horizon=1), chunks)
    known_before = (effect_dtf[..., 0] for effect_dtf in effects)
    every = threads.map(BaselineResiduals.from_panel, chunks, known_before)
    for chunk, residuals in zip(chunks, every, strict=True):
        city_mean.add(residuals, chunk.cities)
    return city_mean


def _chunks(panel: Panel) -> Iterator[Panel]:
    """The panel, some depots at a time."""
    for first in range(0, panel.n_depots, DEPOTS_PER_CHUNK):
        yield panel.of_depots(slice(first, first + DEPOTS_PER_CHUNK))


def _of_new_depots(
    spread_d: Float32[np.ndarray, " depot"],
    own_d: Int[np.ndarray, " depot"],
    cities: Sequence[str],
) -> Float32[np.ndarray, " depot"]:
    """Spreads; a new depot's is at least its mature peers' median, plus more the younger it is.

    Its history is a median of its peers, which has less spread than one depot.
    """
    is_mature_d = own_d == MATURE
    if is_mature_d.all():
        return spread_d
    of_peers_d, city_d = np.zeros_like(spread_d), np.array(cities)
    if is_mature_d.any():
        for city in np.unique(city_d[~is_mature_d]):
            in_city_d = city_d == city
            peers_d = peers(own_d, in_city_d)
            of_peers_d[in_city_d] = np.median(spread_d[peers_d])
    new_d = np.maximum(spread_d, of_peers_d) + COLD_START_SPREAD / (1 + own_d)
    return np.where(is_mature_d, spread_d, new_d).astype(np.float32)


def receptive_field_days(artefact: Artefact) -> int:
    """Number of a panel's days up to the origin that can influence a forecast.

    These are the days that its features read, and before them those that tell of outages.
    """
    return _feature_days(artefact) + DAYS_READ


def _feature_days(artefact: Artefact) -> int:
    """Days of the network's context, and before it those of its lags, spreads and effects."""
    before = lags.LOOKBACK_DAYS + LONGEST_LAG + SPREAD_DAYS_READ + EFFECT_DAYS
    return artefact.task.context + artefact.horizon + before


def _require_calendar(panel: Panel, horizon: int) -> None:
    if panel.ahead < horizon:
        raise NoDataError(
            f"The calendar reaches {panel.ahead} days past {panel.origin}, but the "
            f"model forecasts {horizon}. Build the panel with ahead={horizon}."
        )
