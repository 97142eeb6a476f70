"""Forecasts a trained model must beat before it may become champion."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from forecaster.data.windows import weekday_lag
from forecaster.errors import ConfigError, CutoffError

Baseline = Callable[
    [Float[np.ndarray, "depot time"], int, int], Float[np.ndarray, "depot horizon"]
]
SEASON = 7


def seasonal_naive(
    demand_dt: Float[np.ndarray, "depot time"], cutoff: int, horizon: int
) -> Float[np.ndarray, "depot horizon"]:
    """Repeats the last observed same weekday, up to eight weeks back.

    Args:
      demand_dt: Orders per day, NaN where not observed or closed.
      cutoff: Number of leading steps the forecast may look at; step `cutoff` is the
        first one forecast.
      horizon: Steps to forecast, at least 1.

    Returns:
      Orders per day, depots in the order given. NaN where no same weekday was observed.

    Raises:
      CutoffError: `cutoff` lies outside the steps given.
    """
    weekdays_dhk = _same_weekdays(demand_dt, cutoff, horizon, repeats=8)
    return _first_known(weekdays_dhk)


def median4(
    demand_dt: Float[np.ndarray, "depot time"], cutoff: int, horizon: int
) -> Float[np.ndarray, "depot horizon"]:
    """Median of the last four same weekdays, those not observed left out.

    Args:
      demand_dt: Orders per day, NaN where not observed or closed.
      cutoff: Number of leading steps the forecast may look at.
      horizon: Steps to forecast, at least 1.

    Returns:
      Orders per day; where none of the four was observed, as `seasonal_naive`.

    Raises:
      CutoffError: `cutoff` lies outside the steps given.
    """
    weekdays_dhk = _same_weekdays(demand_dt, cutoff, horizon, repeats=4)
    known_dhk = np.isfinite(weekdays_dhk)
    filled_dhk = np.where(known_dhk.any(axis=-1, keepdims=True), weekdays_dhk, 0.0)
    median_dh = np.nanmedian(filled_dhk, axis=-1)
    naive_dh = seasonal_naive(demand_dt, cutoff, horizon)
    return np.where(known_dhk.any(axis=-1), median_dh, naive_dh)


BASELINES: dict[str, Baseline] = {"seasonal_naive": seasonal_naive, "median4": median4}
"""Baselines by the names that `harbor backtest --against` accepts."""


def baseline(name: str) -> Baseline:
    """Returns a baseline by name.

    Raises:
      ConfigError: there is none.
    """
    if name not in BASELINES:
        raise ConfigError(
            f"{name!r} is no baseline; there are {', '.join(BASELINES)}. Choose one "
            "of these."
        )
    return BASELINES[name]


def seasonal_naive_scale(
    demand_dt: Float[np.ndarray, "depot time"],
) -> Float[np.ndarray, " depot"]:
    """Mean absolute change from one week to the next: the scale of MASE.

    Args:
      demand_dt: Orders per day of the training period, NaN where not observed.

    Returns:
      Orders per day; NaN for a depot without two observed days a week apart.
    """
    change_dt = np.abs(demand_dt[:, SEASON:] - demand_dt[:, :-SEASON])
    known_dt = np.isfinite(change_dt)
    total_d = np.where(known_dt, change_dt, 0.0).sum(axis=1, dtype=float)
    count_d = known_dt.sum(axis=1)
    return np.divide(
        total_d, count_d, out=np.full(len(total_d), np.nan), where=count_d > 0
    )


def _same_weekdays(
    demand_dt: Float[np.ndarray, "depot time"], cutoff: int, horizon: int, repeats: int
) -> Float[np.ndarray, "depot horizon repeat"]:
    """Last same weekdays of each target, newest first; NaN before the first step."""
    n_steps = demand_dt.shape[1]
    if not 1 <= cutoff <= n_steps:
        raise CutoffError(
            f"cutoff is {cutoff}, but must lie between 1 and the number of steps "
            f"({n_steps}). Choose a cutoff in between."
        )
    steps, ago = range(1, horizon + 1), range(1, repeats + 1)
    source_hk = np.array(
        [[cutoff - 1 + step - weekday_lag(step, k) for k in ago] for step in steps]
    )
    value_dhk = demand_dt[:, np.maximum(source_hk, 0)]
    return np.where(source_hk >= 0, value_dhk, np.nan)


def _first_known(
    value_dhk: Float[np.ndarray, "depot horizon repeat"],
) -> Float[np.ndarray, "depot horizon"]:
    newest_dh = np.isfinite(value_dhk).argmax(axis=-1)
    return np.take_along_axis(value_dhk, newest_dh[..., None], axis=-1)[..., 0]
