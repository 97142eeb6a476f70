"""Raw log-count forecasts of the network: runs the exported network on a panel.

`infer` turns them into the finished forecast: orders, bands, closed days and totals.
Depots are computed in chunks, on all cores, so that memory does not grow with the fleet.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Int

from forecaster.data import inputs, lags
from forecaster.data.baseline import BaselineResiduals
from forecaster.data.features import (
    LastDays,
    build_features,
    embedding_rows,
)
from forecaster.data.outages import DAYS_READ, find_outages, without_outages
from forecaster.data.panel import Panel
from forecaster.data.residual_features import CITY_MEAN_DAYS, CityResidualMean
from forecaster.data.scaling import SPREAD_DAYS_READ
from forecaster.data.signal_effects import WEEKDAY_MEDIAN_DAYS
from forecaster.data.yearly_features import LONGEST_LAG
from forecaster.errors import NoDataError
from forecaster.inference.artefact import Artefact
from forecaster.inference.cold_start import MATURE, impute_from_peers, own_days, peers
from forecaster.inference.intervals import COLD_START_SPREAD

DEPOTS_PER_CHUNK = 256
"""Depots whose features are in memory at once, for each core. With smaller chunks, threads
spend more time waiting for the interpreter than computing products."""
MAX_ORIGINS = 64
"""Days that the origins of one pass may span; more would cost memory and save little."""
EFFECT_DAYS = WEEKDAY_MEDIAN_DAYS + 1
"""Days of history that a day's effects read: 28 for a signal's weekday median, 1 for its eve."""
EVE_DAYS = 1
"""Days read past the horizon, whose last day may be the eve of an event."""


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


class _NetworkForecasts(NamedTuple):
    """Forecasts of some depots from the origins of a pass; log counts."""

    baseline_doh: Float32[np.ndarray, "depot origin horizon"]
    correction_doh: Float32[np.ndarray, "depot origin horizon"]
    spread_do: Float32[np.ndarray, "depot origin"]


def predict(artefact: Artefact, panel: Panel) -> RawForecast:
    """Forecasts every depot from the panel's last day.

    Raises:
      NoDataError: as `infer.forecast`.
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
    """Groups origins into passes with the same calendar ahead, and the same outages behind.

    The calendars may differ on days beyond the horizon of a pass's first origin.
    """
    back_on: set[date] = set()
    if len(origins) > 1:
        outages = find_outages(panel.as_of(origins[-1]))
        back_on = {panel.day(step) for step in outages.back_r.tolist()}

    def block_of(origin: date) -> int:
        return (origin - origins[0]).days // MAX_ORIGINS

    group: list[date] = []
    for origin in origins:
        if group and not (
            block_of(group[-1]) == block_of(origin)
            and not any(group[-1] < day <= origin for day in back_on)
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
    """Runs one pass, for origins with the same calendar ahead.

    New depots are forecast separately, from a history imputed from their peers, which
    changes as the depots age.
    """
    # All origins of the pass knew the same calendar, so it is not built again for each.
    panel = without_outages(replace(panel.as_of(origins[-1]), source=None))
    _require_calendar(panel, artefact.horizon)
    near = panel.last(EFFECT_DAYS + _n_days(origins))
    effect_sd_dt = artefact.effects.calendar.sd_of(near)
    reach = _feature_days(artefact)
    own_od = np.stack([own_days(panel, panel.step(day) + 1, reach) for day in origins])
    raw = _network_forecasts(artefact, panel, origins, own_od)
    for position, (origin, own_d) in enumerate(zip(origins, own_od, strict=True)):
        first, near_first = panel.step(origin) + 1, near.step(origin) + 1
        yield RawForecast(
            origin_on=origin,
            baseline_dh=raw.baseline_doh[:, position],
            correction_dh=raw.correction_doh[:, position],
            spread_d=_of_new_depots(raw.spread_do[:, position], own_d, panel.cities),
            effect_sd_dh=effect_sd_dt[:, near_first : near_first + artefact.horizon],
            cold_start_d=own_d == 0,
            closed_dh=panel.closed_dt[:, first : first + artefact.horizon],
        )


def _network_forecasts(
    artefact: Artefact,
    panel: Panel,
    origins: Sequence[date],
    own_od: Int[np.ndarray, "origin depot"],
) -> _NetworkForecasts:
    """Forecasts every depot from the origins of one pass, the last of which is the panel's."""
    shape = (panel.n_depots, len(origins))
    baseline_doh, correction_doh = np.zeros((2, *shape, artefact.horizon), np.float32)
    spread_do = np.zeros(shape, np.float32)
    result = _NetworkForecasts(baseline_doh, correction_doh, spread_do)

    def put(row_d: np.ndarray, run: slice, part: _NetworkForecasts) -> None:
        for whole, some in zip(result, part, strict=True):
            whole[row_d, run] = some

    is_new_od = own_od != MATURE
    # NumPy's products and functions release the interpreter lock.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        predictor = _Predictor(artefact, threads)
        city_mean = None
        if panel.n_depots > DEPOTS_PER_CHUNK or is_new_od.any():
            city_mean = predictor.city_residual_mean(panel, _n_days(origins))
        row_d = np.flatnonzero(~is_new_od.all(axis=0))
        if len(row_d):
            some = panel if len(row_d) == panel.n_depots else panel.of_depots(row_d)
            forecasts = predictor.predict(some, origins, city_mean)
            put(row_d, slice(None), forecasts)
        for run in _runs_of_equal_rows(own_od):
            row_d = np.flatnonzero(is_new_od[run.start])
            if city_mean is None or not len(row_d):
                continue
            last = origins[run.stop - 1]
            visible = panel.as_of(last).last(_days_read(artefact, origins[run]))
            demand_dt = impute_from_peers(visible, own_od[run.start])
            new = replace(visible.of_depots(row_d), demand_dt=demand_dt)
            known = city_mean.without_last((origins[-1] - last).days)
            put(row_d, run, predictor.predict(new, origins[run], known))
    return result


def _runs_of_equal_rows(value_od: Int[np.ndarray, "origin depot"]) -> Iterator[slice]:
    """Runs of successive origins whose values are the same."""
    is_first_o = np.append(True, (value_od[1:] != value_od[:-1]).any(axis=1))
    bounds = [*np.flatnonzero(is_first_o), len(value_od)]
    return (slice(int(first), int(end)) for first, end in pairwise(bounds))


def _n_days(origins: Sequence[date]) -> int:
    """Days from the first of the origins to the last, both included."""
    return (origins[-1] - origins[0]).days + 1


def _days_read(artefact: Artefact, origins: Sequence[date]) -> int:
    """Days up to the last of the origins that the features of any of them read."""
    return _feature_days(artefact) + _n_days(origins) - 1


class _Predictor:
    """Runs the network on chunks of depots."""

    def __init__(self, artefact: Artefact, threads: ThreadPoolExecutor) -> None:
        self._artefact, self._threads = artefact, threads
        # Built here once, and not in every thread.
        self._network = artefact.network
        self._embedding_row_of = embedding_rows(artefact.depot_ids)

    def predict(
        self, panel: Panel, origins: Sequence[date], city_mean: CityResidualMean | None
    ) -> _NetworkForecasts:
        """Forecasts every depot of a panel from the origins, the last of which is the panel's.

        `city_mean` may be None if the panel is the whole fleet in one chunk.
        """
        chunks = _chunks(panel.last(_days_read(self._artefact, origins)))
        predict = partial(self._predict_chunk, city_mean, origins)
        parts = list(self._threads.map(predict, chunks))
        every = zip(*parts, strict=True)
        return _NetworkForecasts(*(np.concatenate(each) for each in every))

    def _predict_chunk(
        self, city_mean: CityResidualMean | None, origins: Sequence[date], panel: Panel
    ) -> _NetworkForecasts:
        artefact, n_days = self._artefact, _n_days(origins)
        context = artefact.task.context + n_days - 1
        features = build_features(
            panel,
            artefact.kinds,
            artefact.horizon,
            self._embedding_row_of,
            city_mean,
            LastDays(context + lags.LOOKBACK_DAYS, n_days),
            artefact.effects.of(panel, artefact.horizon),
            artefact.effects.weekdays,
        )
        task = replace(artefact.task, context=context)
        windows = inputs.last_windows(features, task)
        baseline_doh, correction_doh = self._network.forward(
            windows, n_days, inputs.last_calendars(features, task)
        )
        position_o = np.array([(origin - origins[0]).days for origin in origins])
        spread_do = features.spread_dt[:, features.n_steps - n_days + position_o]
        return _NetworkForecasts(
            baseline_doh[:, position_o], correction_doh[:, position_o], spread_do
        )

    def city_residual_mean(self, panel: Panel, n_origin_days: int) -> CityResidualMean:
        """Mean residuals of the cities, from observed days only."""
        artefact = self._artefact
        n_days = artefact.task.context + n_origin_days - 1
        before = (
            CITY_MEAN_DAYS + SPREAD_DAYS_READ + EFFECT_DAYS + 2 * lags.LOOKBACK_DAYS
        )
        city_mean = CityResidualMean()
        chunks = list(_chunks(panel.last(n_days + before)))
        effects = self._threads.map(partial(artefact.effects.of, horizon=1), chunks)
        known_before = (effect_dtf[..., 0] for effect_dtf in effects)
        every = self._threads.map(BaselineResiduals.from_panel, chunks, known_before)
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
