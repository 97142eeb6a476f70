"""The naive forecasts scored along with every model: seasonal naive, and median of four weeks.

Promotion compares a challenger with the seasonal naive. Neither naive forecast is part of a
model: the network corrects the baseline of `data.baseline`.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from forecaster.data.lags import weekday_lag
from forecaster.data.shapes import DepotTime
from forecaster.errors import CutoffError

NaiveForecast = Callable[[DepotTime, int, int], Float[np.ndarray, "depot horizon"]]
SEASON = 7


def seasonal_naive(
    demand_dt: DepotTime, cutoff: int, horizon: int
) -> Float[np.ndarray, "depot horizon"]:
    """Repeats the last observed same weekday, up to eight weeks back.

    Args:
      demand_dt: Orders per day, NaN where not observed or closed.
      cutoff: Number of leading steps visible to the forecast; step `cutoff` is the
        first one forecast.
      horizon: Steps to forecast, at least 1.

    Returns:
      Orders per day, in the order of `demand_dt`. NaN where no same weekday was observed.

    Raises:
      CutoffError: `cutoff` lies outside the steps of `demand_dt`.
    """
    lagged_dhl = _same_weekdays(demand_dt, cutoff, horizon, repeats=8)
    newest_dh = np.isfinite(lagged_dhl).argmax(axis=-1)
    return np.take_along_axis(lagged_dhl, newest_dh[..., None], axis=-1)[..., 0]


def median4(
    demand_dt: DepotTime, cutoff: int, horizon: int
) -> Float[np.ndarray, "depot horizon"]:
    """Median of the observed days among the last four same weekdays.

    Takes the same arguments and raises the same errors as `seasonal_naive`.

    Returns:
      Orders per day; the seasonal naive where none of the four was observed.
    """
    lagged_dhl = _same_weekdays(demand_dt, cutoff, horizon, repeats=4)
    observed_dhl = np.isfinite(lagged_dhl)
    filled_dhl = np.where(observed_dhl.any(axis=-1, keepdims=True), lagged_dhl, 0.0)
    median_dh = np.nanmedian(filled_dhl, axis=-1)
    naive_dh = seasonal_naive(demand_dt, cutoff, horizon)
    return np.where(observed_dhl.any(axis=-1), median_dh, naive_dh)


NAIVE_FORECASTS: dict[str, NaiveForecast] = {
    "seasonal_naive": seasonal_naive,
    "median4": median4,
}
"""Naive forecasts by the names that `harbor backtest --against` accepts."""


def seasonal_naive_scale(demand_dt: DepotTime) -> Float[np.ndarray, " depot"]:
    """Mean absolute change from one week to the next: the scale of MASE.

    Args:
      demand_dt: Orders per day of the training period, NaN where not observed.

    Returns:
      Orders per day; NaN for a depot without two observed days a week apart.
    """
    change_dt = np.abs(demand_dt[:, SEASON:] - demand_dt[:, :-SEASON])
    has_change_dt = np.isfinite(change_dt)
    total_d = np.where(has_change_dt, change_dt, 0.0).sum(axis=1, dtype=float)
    count_d = has_change_dt.sum(axis=1)
    return np.divide(
        total_d, count_d, out=np.full(len(total_d), np.nan), where=count_d > 0
    )


def _same_weekdays(
    demand_dt: DepotTime, cutoff: int, horizon: int, repeats: int
) -> Float[np.ndarray, "depot horizon lag"]:
    """Demand on the last same weekdays of each target, newest first; NaN before the first step."""
    n_steps = demand_dt.shape[1]
    if not 1 <= cutoff <= n_steps:
        raise CutoffError(
            f"cutoff is {cutoff}, but must lie between 1 and the number of steps "
            f"({n_steps}). Choose a cutoff in between."
        )
    steps, weeks = range(1, horizon + 1), range(1, repeats + 1)
    source_hl = np.array(
        [
            [cutoff - 1 + step - weekday_lag(step, repeat) for repeat in weeks]
            for step in steps
        ]
    )
    value_dhl = demand_dt[:, np.maximum(source_hl, 0)]
    return np.where(source_hl >= 0, value_dhl, np.nan)
