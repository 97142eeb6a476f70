"""Asks the network of an artefact about a panel: what it says before it becomes orders.

Depots are asked in parts, on all cores, so that memory does not grow with the fleet.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from functools import partial

import numpy as np
from jaxtyping import Bool, Float32

from forecaster.data import inputs, windows
from forecaster.data.baseline_residuals import (
    CITY_MEAN_DAYS,
    BaselineResiduals,
    CityResidualMean,
)
from forecaster.data.features import LastDays, build_features, embedding_rows
from forecaster.data.panel import Panel
from forecaster.data.scaling import SPREAD_DAYS
from forecaster.data.yearly_features import LONGEST_LAG
from forecaster.errors import NoDataError
from forecaster.inference.artefact import Artefact
from forecaster.inference.cold_start import impute_from_peers
from forecaster.inference.intervals import COLD_START_SPREAD
from forecaster.inference.numpy_model import Network, require_same_inputs

PART = 256
"""Depots whose features are held at once, for each core. Fewer are not shared out: small
products on two threads wait for the interpreter longer than they take."""
BATCH = 64
"""Depots the network reads at once: products this small stay in the cache."""
MAX_ORIGINS = 64
"""Days that one pass may span; more would cost memory and save little."""
EVE = 1
"""Days past the horizon that are looked at: its last day may be the eve of something."""


@dataclass(frozen=True)
class RawForecast:
    """The network's answer before it becomes orders; log counts."""

    origin_on: date
    baseline_dh: Float32[np.ndarray, "depot horizon"]
    # What the network adds to the plain forecast.
    correction_dh: Float32[np.ndarray, "depot horizon"]
    spread_d: Float32[np.ndarray, " depot"]
    # Depots without an observed day of their own.
    cold_start_d: Bool[np.ndarray, " depot"]
    # Days that the origin knew to be closed.
    closed_dh: Bool[np.ndarray, "depot horizon"]


@dataclass(frozen=True)
class _Predictions:
    """Of some depots, from every day of a pass."""

    baseline_doh: Float32[np.ndarray, "depot origin horizon"]
    correction_doh: Float32[np.ndarray, "depot origin horizon"]
    spread_do: Float32[np.ndarray, "depot origin"]


def predict(artefact: Artefact, panel: Panel) -> RawForecast:
    """What the network says of every depot from the panel's last day.

    Raises:
      NoDataError: as `forecast`.
      ArtefactError: the artefact was made for other inputs.
    """
    return next(predict_origins(artefact, panel, [panel.origin]))


def predict_origins(
    artefact: Artefact, panel: Panel, origins: Sequence[date]
) -> Iterator[RawForecast]:
    """What the network says from each of some origins; see `forecast_origins`."""
    for same in _passes(artefact, panel, origins):
        yield from _predict_pass(artefact, panel, same)


def _passes(
    artefact: Artefact, panel: Panel, origins: Sequence[date]
) -> Iterator[list[date]]:
    """Origins that one pass may serve: what is known in advance is the same to all.

    Of days further ahead than they look, an earlier origin may know less.
    """

    def knowledge(origin: date) -> tuple[int, bytes]:
        together = (origin - origins[0]).days // MAX_ORIGINS
        return together, _cold_start(artefact, panel, origin).tobytes()

    same: list[date] = []
    for origin in origins:
        if same and not (
            knowledge(same[-1]) == knowledge(origin)
            and panel.knows_the_same(same[-1], origin, artefact.horizon + EVE)
        ):
            yield same
            same = []
        same.append(origin)
    if same:
        yield same


def _predict_pass(
    artefact: Artefact, panel: Panel, origins: Sequence[date]
) -> Iterator[RawForecast]:
    """One pass, for origins that know of the same depots and events."""
    known = panel = panel.as_of(origins[-1])
    _require_calendar(panel, artefact.horizon)
    span = (origins[-1] - origins[0]).days + 1
    cold_start_d = _cold_start(artefact, panel, panel.origin)
    panel = impute_from_peers(
        panel.last(receptive_field_days(artefact) + span - 1), cold_start_d
    )
    parts = [
        panel.part(first, first + PART) for first in range(0, panel.n_depots, PART)
    ]
    asked = _Predictor(artefact, span)
    # NumPy's products and functions let other threads run.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        surprise = _city_residual_mean(parts, asked.last.read, threads)
        found = list(threads.map(partial(asked.answers, surprise), parts))
    baseline_doh = np.concatenate([part.baseline_doh for part in found])
    correction_doh = np.concatenate([part.correction_doh for part in found])
    spread_do = np.concatenate([part.spread_do for part in found])
    for origin in origins:
        at, first = (origin - origins[0]).days, known.step(origin) + 1
        yield RawForecast(
            origin_on=origin,
            baseline_dh=baseline_doh[:, at],
            correction_dh=correction_doh[:, at],
            spread_d=spread_do[:, at] + np.float32(COLD_START_SPREAD) * cold_start_d,
            cold_start_d=cold_start_d,
            closed_dh=known.closed_dt[:, first : first + artefact.horizon],
        )


def _city_residual_mean(
    parts: Sequence[Panel], days: int, threads: ThreadPoolExecutor
) -> CityResidualMean | None:
    """What the cities missed on the last days, where no part has all their depots."""
    if len(parts) == 1:
        return None
    reach = days + CITY_MEAN_DAYS + windows.lookback(1) + SPREAD_DAYS
    ends = [part.last(reach) for part in parts]
    surprise = CityResidualMean()
    for end, residuals in zip(
        ends, threads.map(BaselineResiduals.of, ends), strict=True
    ):
        surprise.add(residuals, end.cities)
    return surprise


class _Predictor:
    """What all parts are asked."""

    def __init__(self, artefact: Artefact, span: int) -> None:
        self._artefact, self._span = artefact, span
        self._network = Network(artefact)
        self._number_of = embedding_rows(artefact.depot_ids)
        context = artefact.reading_days + span - 1
        self._task = replace(artefact.task, context=context)
        self.last = LastDays(context + windows.lookback(artefact.horizon), span)

    def answers(self, surprise: CityResidualMean | None, panel: Panel) -> _Predictions:
        """The network's answers for some depots, from each of the last days."""
        artefact, span = self._artefact, self._span
        features = build_features(
            panel,
            artefact.kinds,
            artefact.horizon,
            self._number_of,
            surprise,
            self.last,
        )
        require_same_inputs(artefact, features)
        starts = range(0, panel.n_depots, BATCH)
        batches = [
            inputs.last(features, self._task, slice(first, first + BATCH))
            for first in starts
        ]
        said = [self._network.forward(slices, span) for slices in batches]
        plain, correction = zip(*said, strict=True)
        end = features.n_steps
        return _Predictions(
            np.concatenate(plain),
            np.concatenate(correction),
            features.spread_dt[:, end - span : end].copy(),
        )


def _cold_start(
    artefact: Artefact, panel: Panel, origin: date
) -> Bool[np.ndarray, " depot"]:
    """Depots not observed on any day that can reach a forecast from the origin."""
    end = panel.step(origin) + 1
    first = max(0, end - receptive_field_days(artefact))
    return np.logical_not(np.isfinite(panel.demand_dt[:, first:end]).any(axis=1))


def receptive_field_days(artefact: Artefact) -> int:
    """Steps before the origin that can reach a forecast."""
    horizon = artefact.horizon
    lags = windows.lookback(horizon) + horizon + LONGEST_LAG
    return artefact.reading_days + lags + SPREAD_DAYS


def _require_calendar(panel: Panel, horizon: int) -> None:
    if panel.ahead < horizon:
        raise NoDataError(
            f"The calendar reaches {panel.ahead} days past {panel.origin}, but the "
            f"model forecasts {horizon}. Build the panel with ahead={horizon}."
        )
