"""Raw log-count forecasts of the network: runs the exported network on a panel.

`infer` makes the finished forecast of them: orders, bands, closed days and totals.
Depots are computed in chunks, on all cores, so that memory does not grow with the fleet.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from functools import partial

import numpy as np
from jaxtyping import Bool, Float32, Int

from forecaster.data import inputs, windows
from forecaster.data.baseline import BaselineResiduals
from forecaster.data.features import (
    Features,
    LastDays,
    build_features,
    embedding_rows,
)
from forecaster.data.panel import Panel
from forecaster.data.residual_features import CITY_MEAN_DAYS, CityResidualMean
from forecaster.data.scaling import SPREAD_DAYS
from forecaster.data.signal_effects import WEEKDAY_MEDIAN_DAYS
from forecaster.data.yearly_features import LONGEST_LAG
from forecaster.errors import ArtefactError, NoDataError
from forecaster.inference.artefact import Artefact
from forecaster.inference.cold_start import MATURE, impute_from_peers, own_days
from forecaster.inference.intervals import COLD_START_SPREAD

DEPOTS_PER_CHUNK = 256
"""Depots whose features are in memory at once, for each core. With smaller chunks, threads
wait for the interpreter longer than their products take."""
MAX_ORIGINS = 64
"""Days that the origins of one pass may span; more would cost memory and save little."""
EFFECT_DAYS = WEEKDAY_MEDIAN_DAYS + 1
"""Days before a day that its effects read: what is usual of a signal, and the day before."""
EVE_DAYS = 1
"""Days read past the horizon: its last day may be the eve of an event."""


@dataclass(frozen=True)
class RawForecast:
    """The network's forecast from one origin before post-processing; log counts."""

    origin_on: date
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

    @property
    def spread_dh(self) -> Float32[np.ndarray, "depot horizon"]:
        """Spread of each day ahead: the depot's and that of the day's effect together."""
        return np.hypot(self.spread_d[:, None], self.effect_sd_dh)


@dataclass(frozen=True)
class _Predictions:
    """Forecasts of a chunk of depots from every day of a pass; log counts."""

    baseline_doh: Float32[np.ndarray, "depot origin horizon"]
    correction_doh: Float32[np.ndarray, "depot origin horizon"]
    spread_do: Float32[np.ndarray, "depot origin"]


def predict(artefact: Artefact, panel: Panel) -> RawForecast:
    """Forecasts every depot from the panel's last day.

    Raises:
      NoDataError: as `forecast`.
      ArtefactError: the artefact was made for other inputs.
    """
    return next(predict_origins(artefact, panel, [panel.origin]))


def predict_origins(
    artefact: Artefact, panel: Panel, origins: Sequence[date]
) -> Iterator[RawForecast]:
    """Forecasts every depot from each of some origins; see `infer.forecast_origins`."""
    for group in _passes(artefact, panel, origins):
        yield from _predict_pass(artefact, panel, group)


def _passes(
    artefact: Artefact, panel: Panel, origins: Sequence[date]
) -> Iterator[list[date]]:
    """Groups origins into passes with the same new depots and the same calendar ahead.

    The calendars may differ on days beyond the horizon of a pass's first origin.
    """

    def pass_key(origin: date) -> tuple[int, bytes]:
        block = (origin - origins[0]).days // MAX_ORIGINS
        return block, _own_days(artefact, panel, origin).tobytes()

    group: list[date] = []
    for origin in origins:
        if group and not (
            pass_key(group[-1]) == pass_key(origin)
            and panel.has_same_calendar(group[-1], origin, artefact.horizon + EVE_DAYS)
        ):
            yield group
            group = []
        group.append(origin)
    if group:
        yield group


def _predict_pass(
    artefact: Artefact, panel: Panel, origins: Sequence[date]
) -> Iterator[RawForecast]:
    """Runs one pass, for origins with the same new depots and calendar ahead."""
    as_of_last = panel = panel.as_of(origins[-1])
    n_origins = (origins[-1] - origins[0]).days + 1
    _require_calendar(panel, artefact.horizon)
    near = panel.last(EFFECT_DAYS + n_origins)
    effect_sd_dt = artefact.effects.calendar.sd_of(near)
    own_d = _own_days(artefact, panel, panel.origin)
    panel = impute_from_peers(
        panel.last(receptive_field_days(artefact) + n_origins - 1), own_d
    )
    chunks = [
        panel.of_depots(slice(first, first + DEPOTS_PER_CHUNK))
        for first in range(0, panel.n_depots, DEPOTS_PER_CHUNK)
    ]
    predictor = _Predictor(artefact, n_origins)
    # NumPy's products and functions let other threads run.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        city_mean = _city_residual_mean(
            artefact, chunks, predictor.last_days.n_days, threads
        )
        predictions = list(threads.map(partial(predictor.predict, city_mean), chunks))
    baseline_doh = np.concatenate([part.baseline_doh for part in predictions])
    correction_doh = np.concatenate([part.correction_doh for part in predictions])
    spread_do = np.concatenate([part.spread_do for part in predictions])
    for origin in origins:
        position, first = (origin - origins[0]).days, as_of_last.step(origin) + 1
        near_first = near.step(origin) + 1
        yield RawForecast(
            origin_on=origin,
            baseline_dh=baseline_doh[:, position],
            correction_dh=correction_doh[:, position],
            spread_d=_of_new_depots(spread_do[:, position], own_d),
            effect_sd_dh=effect_sd_dt[:, near_first : near_first + artefact.horizon],
            cold_start_d=own_d == 0,
            closed_dh=as_of_last.closed_dt[:, first : first + artefact.horizon],
        )


def _city_residual_mean(
    artefact: Artefact,
    chunks: Sequence[Panel],
    n_days: int,
    threads: ThreadPoolExecutor,
) -> CityResidualMean | None:
    """Mean residuals of the cities, or None where one chunk has all depots."""
    if len(chunks) == 1:
        return None
    reach = n_days + CITY_MEAN_DAYS + windows.lookback(1) + SPREAD_DAYS + EFFECT_DAYS
    ends = [chunk.last(reach) for chunk in chunks]
    city_mean = CityResidualMean()
    effects = threads.map(partial(artefact.effects.of, horizon=1), ends)
    known_before = (effect_dtf[..., 0] for effect_dtf in effects)
    every = threads.map(BaselineResiduals.from_panel, ends, known_before)
    for end, residuals in zip(ends, every, strict=True):
        city_mean.add(residuals, end.cities)
    return city_mean


class _Predictor:
    """Runs the network on chunks of depots."""

    def __init__(self, artefact: Artefact, n_origins: int) -> None:
        self._artefact, self._n_origins = artefact, n_origins
        # Made ready here, once, and not by every thread.
        self._network = artefact.network
        self._embedding_row_of = embedding_rows(artefact.depot_ids)
        context = artefact.effective_context_days + n_origins - 1
        self._task = replace(artefact.task, context=context)
        self.last_days = LastDays(
            context + windows.lookback(artefact.horizon), n_origins
        )

    def predict(self, city_mean: CityResidualMean | None, panel: Panel) -> _Predictions:
        """Forecasts a chunk of depots from each of the last days."""
        artefact, n_origins = self._artefact, self._n_origins
        features = build_features(
            panel,
            artefact.kinds,
            artefact.horizon,
            self._embedding_row_of,
            city_mean,
            self.last_days,
            artefact.effects.of(panel, artefact.horizon),
        )
        _require_same_inputs(artefact, features)
        slices = inputs.last_windows(features, self._task)
        baseline_doh, correction_doh = self._network.forward(
            slices, n_origins, features.group_d
        )
        end = features.n_steps
        spread_do = features.spread_dt[:, end - n_origins : end].copy()
        return _Predictions(baseline_doh, correction_doh, spread_do)


def _own_days(
    artefact: Artefact, panel: Panel, origin: date
) -> Int[np.ndarray, " depot"]:
    """Days of its own that each depot's history depends on, see `cold_start.own_days`."""
    return own_days(panel, panel.step(origin) + 1, receptive_field_days(artefact))


def _of_new_depots(
    spread_d: Float32[np.ndarray, " depot"], own_d: Int[np.ndarray, " depot"]
) -> Float32[np.ndarray, " depot"]:
    """Spreads; those of new depots are their peers', and wider the fewer days there are.

    The median of several depots, of which a new one's history is made, has less spread.
    """
    is_mature_d = own_d == MATURE
    if is_mature_d.all():
        return spread_d
    of_peers = np.median(spread_d[is_mature_d]) if is_mature_d.any() else 0.0
    new_d = np.maximum(spread_d, of_peers) + COLD_START_SPREAD / (1 + own_d)
    return np.where(is_mature_d, spread_d, new_d).astype(np.float32)


def receptive_field_days(artefact: Artefact) -> int:
    """Number of a panel's days up to the origin that can influence a forecast.

    The network's effective context, and before it the days that its lags, spreads and
    effects are computed from.
    """
    horizon = artefact.horizon
    lags = windows.lookback(horizon) + horizon + LONGEST_LAG
    return artefact.effective_context_days + lags + SPREAD_DAYS + EFFECT_DAYS


def _require_same_inputs(artefact: Artefact, features: Features) -> None:
    """Raises an ArtefactError unless the artefact was trained on the inputs built here."""
    trained, built = artefact.feature_names, inputs.column_names(features)
    if trained != built:
        other = sorted({*trained} ^ {*built})
        raise ArtefactError(
            f"The model was trained with other inputs: {len(trained)} columns, and this "
            f"program makes {len(built)}. They differ in {', '.join(other[:5]) or 'order'}. "
            "Train again."
        )


def _require_calendar(panel: Panel, horizon: int) -> None:
    if panel.ahead < horizon:
        raise NoDataError(
            f"The calendar reaches {panel.ahead} days past {panel.origin}, but the "
            f"model forecasts {horizon}. Build the panel with ahead={horizon}."
        )
