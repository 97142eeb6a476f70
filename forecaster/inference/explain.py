"""Splits a depot's forecast into parts that add up to it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from forecaster.config import DEFAULT_POINT, PointFor
from forecaster.data.calendar import HOLIDAY, NAMED_HOLIDAY
from forecaster.data.effect_columns import BETWEEN_HOLIDAYS_COLUMN, EVE_COLUMN
from forecaster.data.panel import Panel
from forecaster.data.signal_effects import EVENT_VALUE
from forecaster.inference import infer, postprocessing, predict
from forecaster.inference.artefact import Artefact

LEVEL, WEEKDAY, CLOSED = "level", "weekday", "closed"
NETWORK, POINT_SHIFT = "network", "point shift"
CORRECTED, PLANNER = "corrected since", "planner"
LEAST_ORDERS = 1e-3
"""Maximum difference between two numbers, in orders, that is taken for rounding."""
WEEK = 7
BESIDE = (", the day before", ", the day after")
HOLIDAY_CLASSES = ("holiday", "major holiday", "holiday on a weekend")


@dataclass(frozen=True)
class Part:
    """One part of a forecast.

    Attributes:
      name: `level`, `weekday`, `holiday: NAME`, the kind of an event, `signal: NAME`, `network`
        (its share of the correction), `point shift` (from the median down to the number that
        is shown), `closed`, or one that was added by `reaching`.
      orders: Orders that it adds to the parts before it; all parts add up to the forecast.
      relative: The same as a fraction of the sum of the parts before it; None for the first.
    """

    name: str
    orders: float
    relative: float | None


@dataclass(frozen=True)
class Explanation:
    """The parts of one day's forecast.

    Attributes:
      target_on: The day.
      basis: Basis of the forecast, see `infer.Forecast`.
      parts: Parts in order; effects multiply, so each applies to the sum of those before it.
      point: Sum of the parts: the model's point, or the number that `reaching` added.
    """

    target_on: date
    basis: str
    parts: tuple[Part, ...]
    point: float

    def reaching(self, number: float, name: str) -> "Explanation":
        """Adds a part, `CORRECTED` or `PLANNER`, for the difference to another number, if any."""
        if abs(number - self.point) <= LEAST_ORDERS:
            return self
        part = Part(name, number - self.point, _ratio(self.point, number))
        return replace(self, parts=(*self.parts, part), point=number)


def explain(
    artefact: Artefact, panel: Panel, depot_id: str, point: PointFor = DEFAULT_POINT
) -> list[Explanation]:
    """Explains one depot's forecast of every day ahead; the panel is of the whole fleet.

    The level is the mean of the first week without effects; the weekday is the difference from it.

    Raises:
      NoDataError: as `infer.forecast`.
    """
    raw = predict.predict(artefact, panel)
    forecast = infer.postprocess(artefact, panel, raw, infer.NONE_MISSING, point)
    row = panel.depot_ids.index(depot_id)
    one = panel.of_depots(np.array([row]))
    horizon = artefact.horizon
    effects_h = [_effects(artefact, one, step) for step in range(1, horizon + 1)]
    effect_h = np.array([sum(effects.values()) for effects in effects_h])
    # Any rounding difference is included here.
    without_effects_h = raw.baseline_dh[row].astype(float) - effect_h
    level = float(without_effects_h[:WEEK].mean())
    median_dh = postprocessing.median(
        artefact.network_share, raw.baseline_dh, raw.correction_dh
    )
    correction_h = median_dh[row].astype(float) - raw.baseline_dh[row]
    explanations = []
    for h in range(horizon):
        day_on, basis = panel.day(panel.n_steps + h), str(forecast.basis_dh[row, h])
        number = float(forecast.point_dh[row, h])
        if basis == infer.CLOSED:
            parts: tuple[Part, ...] = (Part(CLOSED, 0.0, None),)
        else:
            logs = {
                LEVEL: level,
                WEEKDAY: without_effects_h[h] - level,
                **effects_h[h],
                NETWORK: float(correction_h[h]),
            }
            parts = tuple(_parts(logs, number))
        explanations.append(Explanation(day_on, basis, parts, number))
    return explanations


def _parts(logs: Mapping[str, float], number: float) -> Iterator[Part]:
    """Converts parts from log counts to orders; adds the point shift, which leads to `number`."""
    before = 0.0
    after_n = infer.orders(np.cumsum(list(logs.values()))).tolist()
    for name, after in zip(logs, after_n, strict=True):
        relative = None if name == LEVEL else _ratio(before, after)
        yield Part(name, after - before, relative)
        before = after
    yield Part(POINT_SHIFT, number - before, _ratio(before, number))


def _ratio(before: float, after: float) -> float | None:
    return after / before - 1 if before > 0 else None


def _effects(artefact: Artefact, panel: Panel, step: int) -> dict[str, float]:
    """Effects by name on a day ahead of a panel's only depot, without zeros; log counts."""
    day = panel.n_steps + step - 1
    calendar, signals = artefact.effects.calendar, artefact.effects.signals
    active = [
        kind for kind in panel.calendar.kinds if panel.calendar.of_kind(kind)[0, day]
    ]
    by_column = calendar.by_column(panel, day)
    named = [_label(column, active, by_column) for column in by_column]
    values = list(by_column.values())
    if signals.names:
        of_signals = signals.by_name(panel, step)[:, 0, day]
        named += [name.removeprefix(EVENT_VALUE) for name in signals.names]
        values += of_signals.tolist()
    effects: dict[str, float] = {}
    for name, value in zip(named, values, strict=True):
        if value:
            effects[name] = effects.get(name, 0.0) + value
    return effects


def _label(column: str, active: list[str], by_column: Mapping[str, float]) -> str:
    """Names the holiday or event that a column of `effect_columns` belongs to on a day."""
    if column.endswith(BESIDE):
        kind, _, side = column.partition(", ")
        return f"{side} a {HOLIDAY}" if kind in HOLIDAY_CLASSES else column
    names = [kind for kind in active if kind.startswith(NAMED_HOLIDAY)]
    if column in HOLIDAY_CLASSES or column.startswith(NAMED_HOLIDAY):
        if HOLIDAY in active:
            return ", ".join(names) or HOLIDAY
        return EVE_COLUMN if by_column.get(EVE_COLUMN) else BETWEEN_HOLIDAYS_COLUMN
    return column
