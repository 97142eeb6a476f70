"""Cuts windows into the days up to an origin and the days after it.

Arrays are NumPy's when serving and JAX's when training, so that both see the same windows;
they hold one depot, or many along leading axes.

A window has three parts: `LOOKBACK_DAYS` that only lags read, C context days, each of which
may be an origin, and H days ahead.
"""

from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

REPEATS = 4
"""Number of past same weekdays in the features."""
ALL = slice(None)
"""All context days as origins."""
LOOKBACK_DAYS = 7 * REPEATS
"""Days before the context that the same-weekday lags reach into."""


@runtime_checkable
class Array(Protocol):
    """A NumPy or JAX array, as a protocol because serving cannot import JAX's type."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=Array)


def weekday_lag(step: int, repeat: int) -> int:
    """Days from target `step` (1 is tomorrow) back to its `repeat`-th last same weekday.

    Repeat 1 is the newest same weekday at or before the origin.
    """
    weeks = (step + 6) // 7 + repeat - 1
    return 7 * weeks


def same_weekdays(
    value: Float[ArrayT, "*batch day"], context: int, horizon: int, origins: slice = ALL
) -> Float[ArrayT, "*batch origin {min(horizon,7)} 4"]:
    """Returns the values of every target's last four same weekdays up to each of some origins.

    Targets after the first week have the same values as in that week, see `of_every_week`.

    Args:
      value: [..., P] with P = LOOKBACK_DAYS + context + horizon; the last `horizon` days
        are never read.
      context: C.
      horizon: H.
      origins: Context days that are origins.

    Returns:
      [..., O, min(H, 7), 4], newest first.
    """
    origin_o = LOOKBACK_DAYS + np.arange(context)[origins]
    step_w, week_r = np.arange(1, min(horizon, 7) + 1), np.arange(1, REPEATS + 1)
    return value[..., (origin_o[:, None, None] + step_w[:, None]) - 7 * week_r]


def of_every_week(
    value: Float[ArrayT, "*batch weekday feature"], horizon: int
) -> Float[ArrayT, "*batch {horizon} feature"]:
    """Repeats the values of the first week of targets, [..., min(H, 7), F], for all H days."""
    return value if horizon <= 7 else value[..., np.arange(horizon) % 7, :]


def days_ahead(
    value: Float[ArrayT, "*batch {context+horizon} feature"],
    context: int,
    horizon: int,
    origins: slice = ALL,
) -> Float[ArrayT, "*batch origin {horizon} feature"]:
    """Returns the H days after some origins, [..., O, H, F].

    Args:
      value: [..., C + H, F], days from the first context day on.
      context: C.
      horizon: H.
      origins: Context days that are origins.
    """
    tomorrow_o = np.arange(1, context + 1)[origins]
    return value[..., tomorrow_o[:, None] + np.arange(horizon), :]
