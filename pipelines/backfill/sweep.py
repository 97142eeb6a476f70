"""One artefact forecasts many origins in one pass of its network.

The features of a day come from that day's past, so those of one panel serve every origin
in it, and the network's state after each day is what a forecast from that day rests on.
A night lets the network read exactly the context it was made for; in a sweep the later
origins stand on up to `MOST_ORIGINS` days more, which it has long forgotten.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby

import numpy as np

from forecaster import inputs, intervals, windows
from forecaster.artefact import Artefact
from forecaster.features import Features, build_features
from forecaster.infer import (
    Forecast,
    Weights,
    _days_that_matter,
    _delivered,
    _dense,
    _gru,
    _lend_days,
    _require_same_inputs,
    _silu,
)
from forecaster.inputs import Slices, Targets
from forecaster.intervals import STRANGER_SPREAD
from forecaster.panel import Panel

MOST_ORIGINS = 64
"""Days that one pass may span; more would cost memory and save little."""
BATCH = 64
"""Depots at once: products this small stay in the cache, and on one core."""


def sweep(
    artefact: Artefact, panel: Panel, origins: Sequence[date]
) -> Iterator[tuple[date, Forecast]]:
    """Forecasts every depot from each of some origins.

    Args:
      artefact: From `artefact.load`.
      panel: As it was known at the last of the origins, and to those before it as far
        as it reaches; see `knowledge.stretches`.
      origins: In order, within the panel and `MOST_ORIGINS` days of each other.

    Raises:
      NoDataError: at an origin no depot has been observed.
      ArtefactError: the artefact was made for other inputs.
    """
    for _, same in groupby(origins, lambda day: _strangers(artefact, panel, day)):
        group = tuple(same)
        yield from _Pass.over(artefact, panel.as_of(group[-1]), group).forecasts()


def _strangers(artefact: Artefact, panel: Panel, origin: date) -> bytes:
    """The depots an origin knows nothing of: others' days are lent to them."""
    end = panel.step(origin) + 1
    first = max(0, end - _days_that_matter(artefact))
    seen_d = np.isfinite(panel.demand_dt[:, first:end]).any(axis=1)
    return np.logical_not(seen_d).tobytes()


@dataclass(frozen=True)
class _Pass:
    """Origins that know of the same depots, and the features they share."""

    artefact: Artefact
    panel: Panel
    features: Features
    stranger_d: np.ndarray
    origins: tuple[date, ...]

    @classmethod
    def over(
        cls, artefact: Artefact, panel: Panel, origins: tuple[date, ...]
    ) -> "_Pass":
        stranger = np.frombuffer(_strangers(artefact, panel, panel.origin), bool)
        span = (origins[-1] - origins[0]).days
        panel = panel.last(_days_that_matter(artefact) + span)
        lent = _lend_days(panel, stranger)
        features = build_features(lent, artefact.kinds, artefact.horizon)
        _require_same_inputs(artefact, features)
        return cls(artefact, panel, features, stranger, origins)

    @property
    def span(self) -> int:
        """Days from the first origin to the last, both counted."""
        return (self.origins[-1] - self.origins[0]).days + 1

    def forecasts(self) -> Iterator[tuple[date, Forecast]]:
        """What is delivered from each origin."""
        plain_doh, correction_doh = self._ask()
        for origin in self.origins:
            at = (origin - self.origins[0]).days
            yield origin, self._deliver(origin, plain_doh[:, at], correction_doh[:, at])

    def _ask(self) -> tuple[np.ndarray, np.ndarray]:
        """`infer.forward` from every day of the span, all depots."""
        task = self.artefact.task
        longer = replace(task, context=task.context + self.span - 1)
        parts = []
        for first in range(0, self.panel.n_depots, BATCH):
            depot_b = np.arange(first, min(first + BATCH, self.panel.n_depots))
            last_b = np.full(len(depot_b), self.features.n_steps - 1)
            slices = inputs.cut(self.features, longer, depot_b, last_b)
            parts.append(forward_from_each(self.artefact, slices, self.span))
        plain, correction = zip(*parts, strict=True)
        return np.concatenate(plain), np.concatenate(correction)

    def _deliver(
        self, origin: date, plain_dh: np.ndarray, correction_dh: np.ndarray
    ) -> Forecast:
        artefact, step = self.artefact, self.panel.step(origin)
        horizon, ids = artefact.horizon, self.panel.depot_ids
        spread_d = self.features.spread_dt[:, step]
        spread_d = spread_d + np.float32(STRANGER_SPREAD) * self.stranger_d
        point_dh = artefact.delivery.points(ids, plain_dh, correction_dh, spread_d)
        weekday_h = (origin.weekday() + 1 + np.arange(horizon)) % 7
        table = artefact.intervals
        low_dh, high_dh = intervals.band(table, point_dh, spread_d, weekday_h, ids)
        closed_dh = self.panel.closed_dt[:, step + 1 : step + 1 + horizon]
        return _delivered(low_dh, point_dh, high_dh, closed_dh, self.stranger_d)


def forward_from_each(
    artefact: Artefact, slices: Slices, span: int
) -> tuple[np.ndarray, np.ndarray]:
    """The plain forecast from each of the last days, and what the members add to it.

    Args:
      artefact: Its weights.
      slices: As the network takes them, with a batch axis.
      span: How many of their last context days are origins.

    Returns:
      Log counts, two of [batch, origin, horizon]; the second is the mean of the members.
    """
    horizon = artefact.task.horizon
    past_bcf = inputs.past(np, slices, horizon)
    newest = inputs.newest(slices, horizon, span)
    targets = inputs.targets(np, newest, horizon)
    corrections = [
        _corrections(artefact.member(number), slices.calendar, past_bcf, targets)
        for number in range(artefact.n_members)
    ]
    return targets.plain, np.mean(corrections, axis=0)


def _corrections(
    weights: Weights, calendar_bsk: np.ndarray, past_bcf: np.ndarray, targets: Targets
) -> np.ndarray:
    """What `model.DepotForecaster` adds to the plain forecasts of the last days."""
    span, horizon = targets.plain.shape[1:]
    context = past_bcf.shape[1]
    day_bsm = _dense(weights, "calendar", calendar_bsk)
    today_bcf = np.concatenate([past_bcf, day_bsm[:, :context]], axis=-1)
    state_bcu = _gru(weights, "gru_2", _gru(weights, "gru_1", today_bcf))
    origin_bof = np.concatenate([state_bcu, past_bcf], axis=-1)[:, -span:]
    kernel_fhm = weights["origin/kernel"]
    origin_box = origin_bof @ kernel_fhm.reshape(len(kernel_fhm), -1)
    origin_bohm = origin_box.reshape(*targets.plain.shape, -1) + weights["origin/bias"]
    target_bohm = targets.features @ weights["target/kernel"]
    near_bsm = day_bsm[:, context - span :]
    ahead_bohm = windows.days_ahead(np, near_bsm, span, horizon)
    mixed = _silu(_dense(weights, "mix", _silu(ahead_bohm + origin_bohm + target_bohm)))
    return _dense(weights, "correction", mixed)[..., 0]
