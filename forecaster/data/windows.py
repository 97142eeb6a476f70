"""Cuts windows of past and future days; the only place that separates the two.

`xp` is NumPy when serving and jax.numpy when training, so that both see the same windows. Every function takes the arrays of one depot, or of many
with leading axes; time is the last axis.

A window has three parts: `lookback(horizon)` days that only lags read, C context days,
each of which is an origin in training, and H days ahead.
"""

from collections.abc import Sequence
from functools import reduce
from types import ModuleType
from typing import Any

from jaxtyping import Float

REPEATS = 4
"""Number of past same weekdays in the features."""


def weekday_lag(step: int, repeat: int) -> int:
    """Days from target `step` (1 is tomorrow) back to its same weekday, `repeat` ago.

    The first repeat is the newest same weekday that lies at the origin or before it.
    """
    weeks = (step + 6) // 7 + repeat - 1
    return 7 * weeks


def lookback(horizon: int) -> int:
    """Days before the context that the same-weekday lags reach into."""
    return weekday_lag(horizon, REPEATS)


def same_weekdays(
    xp: ModuleType, value: Float[Any, "*batch day"], context: int, horizon: int
) -> Float[Any, "*batch {context} {horizon} 4"]:
    """Returns the values of the last four same weekdays of every target, from every origin.

    Args:
      xp: numpy or jax.numpy.
      value: [..., P] with P = lookback + context + horizon; the last `horizon` days
        are never read.
      context: C.
      horizon: H.

    Returns:
      [..., C, H, 4], newest first.
    """
    reach = lookback(horizon)
    columns = []
    for step in range(1, horizon + 1):
        repeats = []
        for repeat in range(1, REPEATS + 1):
            first = reach + step - weekday_lag(step, repeat)
            repeats.append(value[..., first : first + context])
        columns.append(xp.stack(repeats, axis=-1))
    return xp.stack(columns, axis=-2)


def days_ahead(
    xp: ModuleType, value: Float[Any, "*batch day feature"], context: int, horizon: int
) -> Float[Any, "*batch {context} {horizon} feature"]:
    """Returns the H days after every origin.

    Args:
      xp: numpy or jax.numpy.
      value: [..., C + H, F], days from the first context day on.
      context: C.
      horizon: H.

    Returns:
      [..., C, H, F].
    """
    ahead = [value[..., step : step + context, :] for step in range(1, horizon + 1)]
    return xp.stack(ahead, axis=-2)


def baseline_forecast(
    xp: ModuleType,
    weekdays: Float[Any, "*batch origin horizon 4"],
    regular: Float[Any, "*batch origin horizon 4"],
    level: Float[Any, "*batch origin"],
) -> Float[Any, "*batch origin horizon"]:
    """Baseline forecast: the mean of the last four same weekdays without their extremes.

    Args:
      xp: numpy or jax.numpy.
      weekdays: [..., C, H, 4] log counts.
      regular: [..., C, H, 4] 1.0 where that day counts.
      level: [..., C] log counts, the forecast of targets without a regular same weekday.

    Returns:
      [..., C, H] log counts.
    """
    days, counts = (
        [value[..., repeat] for repeat in range(REPEATS)]
        for value in (weekdays, regular)
    )
    return trimmed_mean(xp, days, counts, level[..., None])


def trimmed_mean(
    xp: ModuleType,
    weekdays: Sequence[Float[Any, "*day"]],
    regular: Sequence[Float[Any, "*day"]],
    level: Float[Any, "..."],
) -> Float[Any, "*day"]:
    """Computes `baseline_forecast` from one array per same weekday.

    NumPy's reductions are slow over an axis this short.
    """
    count = reduce(xp.add, regular)
    counted = [days * counts for days, counts in zip(weekdays, regular, strict=True)]
    total = reduce(xp.add, counted)

    def bound(otherwise: float) -> list[Float[Any, "*day"]]:
        # Beyond any log count; infinities would warn when they meet.
        return [
            xp.where(counts > 0, days, otherwise)
            for days, counts in zip(weekdays, regular, strict=True)
        ]

    highest, lowest = reduce(xp.maximum, bound(-1e6)), reduce(xp.minimum, bound(1e6))
    enough = count > 2.5
    extremes = xp.where(enough, highest + lowest, 0.0)
    left = xp.where(enough, count - 2, count)
    mean = (total - extremes) / xp.maximum(left, 1.0)
    return xp.where(count > 0.5, mean, level)
