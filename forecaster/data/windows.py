"""Cuts windows of past and future days; the only place that separates the two.

`xp` is NumPy when serving and jax.numpy when training, so that both see the same windows.
Every function takes the arrays of one depot, or of many with leading axes.

A window has three parts: `lookback(horizon)` days that only lags read, C context days,
each of which is an origin in training, and H days ahead.
"""

from types import ModuleType
from typing import Any, Protocol, TypeVar, runtime_checkable

from jaxtyping import Float

REPEATS = 4
"""Number of past same weekdays in the features."""


@runtime_checkable
class Array(Protocol):
    """A NumPy or a JAX array; serving has no JAX whose type could be named."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""

    @property
    def dtype(self) -> Any:
        """Type of the elements."""

    def __getitem__(self, key: Any, /) -> Any:
        """Some of the elements."""

    def __add__(self, other: Any, /) -> Any:
        """Elementwise sum."""

    def __sub__(self, other: Any, /) -> Any:
        """Elementwise difference."""

    def __mul__(self, other: Any, /) -> Any:
        """Elementwise product."""

    def __truediv__(self, other: Any, /) -> Any:
        """Elementwise quotient."""

    def __gt__(self, other: Any, /) -> Any:
        """Elementwise comparison."""


ArrayT = TypeVar("ArrayT", bound=Array)


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
    xp: ModuleType, value: Float[ArrayT, "*batch day"], context: int, horizon: int
) -> Float[ArrayT, "*batch {context} {horizon} 4"]:
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
        for repeat in range(1, REPEATS + 1):
            first = reach + step - weekday_lag(step, repeat)
            columns.append(value[..., first : first + context])
    stacked = xp.stack(columns, axis=-1)
    return stacked.reshape(*stacked.shape[:-1], horizon, REPEATS)


def days_ahead(
    xp: ModuleType,
    value: Float[ArrayT, "*batch {context+horizon} feature"],
    context: int,
    horizon: int,
) -> Float[ArrayT, "*batch {context} {horizon} feature"]:
    """Returns the H days after every origin, [..., C, H, F].

    Args:
      xp: numpy or jax.numpy.
      value: [..., C + H, F], days from the first context day on.
      context: C.
      horizon: H.
    """
    ahead = [value[..., step : step + context, :] for step in range(1, horizon + 1)]
    return xp.stack(ahead, axis=-2)
