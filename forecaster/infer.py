"""Forecasts a panel with an artefact: orders per day and their bands. Needs no JAX."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby

import numpy as np
from jaxtyping import Bool, Float, Float32

from forecaster import inputs, intervals, network, totals, windows
from forecaster.artefact import Artefact
from forecaster.errors import NoDataError
from forecaster.features import LONGEST_LAG, Features, build_features
from forecaster.intervals import STRANGER_SPREAD
from forecaster.panel import Panel
from forecaster.scaling import SPREAD_DAYS
from forecaster.strangers import lend_days
from forecaster.totals import Bands, Total

BATCH = 64
"""Depots at once: products this small stay in the cache."""
MOST_ORIGINS = 64
"""Days that one pass may span; more would cost memory and save little."""
Answers = tuple[
    Float32[np.ndarray, "depot origin horizon"],
    Float32[np.ndarray, "depot origin horizon"],
]

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


@dataclass(frozen=True)
class Said:
    """The network's answer before it becomes orders; log counts."""

    origin_on: date
    plain_dh: Float32[np.ndarray, "depot horizon"]
    # What the network adds to the plain forecast.
    correction_dh: Float32[np.ndarray, "depot horizon"]
    spread_d: Float32[np.ndarray, " depot"]
    # Depots without an observed day of their own.
    stranger_d: Bool[np.ndarray, " depot"]


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
    return _delivered(artefact, panel, ask(artefact, panel))


def forecast_each(
    artefact: Artefact, panel: Panel, origins: Sequence[date]
) -> Iterator[tuple[date, Forecast]]:
    """Forecasts every depot from each of some origins, in few passes of the network.

    The features of a day come from that day's past, so those of one panel serve every
    origin in it. A later origin of a pass stands on up to `MOST_ORIGINS` context days
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
    for said in ask_each(artefact, panel, origins):
        yield said.origin_on, _delivered(artefact, panel, said)


def ask(artefact: Artefact, panel: Panel) -> Said:
    """What the network says of every depot from the panel's last day.

    Raises:
      NoDataError: as `forecast`.
      ArtefactError: the artefact was made for other inputs.
    """
    return next(ask_each(artefact, panel, [panel.origin]))


def ask_each(
    artefact: Artefact, panel: Panel, origins: Sequence[date]
) -> Iterator[Said]:
    """What the network says from each of some origins; see `forecast_each`."""

    def knowledge(origin: date) -> tuple[int, bytes]:
        together = (origin - origins[0]).days // MOST_ORIGINS
        return together, _strangers(artefact, panel.as_of(origin)).tobytes()

    for _, same in groupby(origins, knowledge):
        yield from _ask_together(artefact, panel, tuple(same))


def orders(log_count: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Orders of log counts, log(1 + orders): never negative."""
    return np.maximum(np.expm1(log_count.astype(float)), 0.0)


def _ask_together(
    artefact: Artefact, panel: Panel, origins: Sequence[date]
) -> Iterator[Said]:
    """One pass, for origins that know of the same depots."""
    panel = panel.as_of(origins[-1])
    _require_calendar(panel, artefact.horizon)
    span = (origins[-1] - origins[0]).days + 1
    stranger_d = _strangers(artefact, panel)
    features = build_features(
        lend_days(panel.last(_days_that_matter(artefact) + span - 1), stranger_d),
        artefact.kinds,
        artefact.horizon,
        artefact.depot_ids,
    )
    network.require_same_inputs(artefact, features)
    plain_doh, correction_doh = _in_batches(artefact, features, span)
    for origin in origins:
        at = (origin - origins[-1]).days - 1
        spread_d = features.spread_dt[:, features.n_steps + at]
        yield Said(
            origin_on=origin,
            plain_dh=plain_doh[:, at],
            correction_dh=correction_doh[:, at],
            spread_d=spread_d + np.float32(STRANGER_SPREAD) * stranger_d,
            stranger_d=stranger_d,
        )


def _in_batches(artefact: Artefact, features: Features, span: int) -> Answers:
    """The network's answers for all depots, in batches that stay in the cache."""
    read = replace(artefact.task, context=artefact.reading_days + span - 1)

    def answer(first: int) -> Answers:
        depot_b = np.arange(first, min(first + BATCH, len(features.group_d)))
        last_b = np.full(len(depot_b), features.n_steps - 1)
        return network.forward(
            artefact, inputs.cut(features, read, depot_b, last_b), span
        )

    # NumPy's products and functions let other threads run.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        parts = threads.map(answer, range(0, len(features.group_d), BATCH))
    plain, correction = zip(*parts, strict=True)
    return np.concatenate(plain), np.concatenate(correction)


def _delivered(artefact: Artefact, panel: Panel, said: Said) -> Forecast:
    """From log counts to orders: never negative, 0 where closed."""
    low_dh, point_dh, high_dh = _log_bands(artefact, panel, said)
    first = panel.step(said.origin_on) + 1
    closed_dh = panel.closed_dt[:, first : first + artefact.horizon]
    basis_dh = np.where(said.stranger_d[:, None], SIMILAR, MODEL)
    bands = Bands(
        *(
            np.where(closed_dh, 0.0, orders(log_dh))
            for log_dh in (low_dh, point_dh, high_dh)
        )
    )
    return Forecast(
        *bands,
        basis_dh=np.where(closed_dh, CLOSED, basis_dh),
        totals=totals.of_scopes(artefact.totals, bands, panel.cities),
    )


def _log_bands(artefact: Artefact, panel: Panel, said: Said) -> Bands:
    point_dh = artefact.delivery.points(
        panel.depot_ids, said.plain_dh, said.correction_dh, said.spread_d
    )
    weekday_h = (said.origin_on.weekday() + 1 + np.arange(artefact.horizon)) % 7
    low_dh, high_dh = intervals.band(
        artefact.intervals, point_dh, said.spread_d, weekday_h, panel.depot_ids
    )
    return Bands(low_dh, point_dh, high_dh)


def _strangers(artefact: Artefact, panel: Panel) -> Bool[np.ndarray, " depot"]:
    """Depots not observed on any day that can reach a forecast."""
    seen_dt = panel.last(_days_that_matter(artefact)).observed_dt
    return np.logical_not(seen_dt.any(axis=1))


def _days_that_matter(artefact: Artefact) -> int:
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
