"""Error metrics of forecasts, as fractions. Argument order is actual, forecast.

Every score is NaN where it is undefined: 0 would read as a perfect forecast.
"""

import numpy as np
from jaxtyping import Bool, Float

Values = Float[np.ndarray, "*shape"]
Flags = Bool[np.ndarray, "*shape"]


def mape(actual: Values, forecast: Values, observed: Flags) -> float:
    """Mean of |forecast - actual| / actual over observed days with any orders."""
    return mase(actual, forecast, observed, scale=actual)


def mape_days(actual: Values, observed: Flags) -> int:
    """Number of days that MAPE averages over: observed days with any orders."""
    return int((observed & (np.nan_to_num(actual) > 0)).sum())


def wape(actual: Values, forecast: Values, observed: Flags) -> float:
    """Sum of |forecast - actual| as a share of volume, over observed days."""
    return _fraction_of_volume(np.abs(forecast - actual), actual, observed)


def bias(actual: Values, forecast: Values, observed: Flags) -> float:
    """Sum of forecast - actual as a share of volume; positive means too high."""
    return _fraction_of_volume(forecast - actual, actual, observed)


def mase(actual: Values, forecast: Values, observed: Flags, scale: Values) -> float:
    """Mean of |forecast - actual| / scale over observed days.

    Args:
      actual: Orders per day.
      forecast: Orders per day.
      observed: Whether the day is scored.
      scale: Mean absolute error of the depot's seasonal naive on the training days; days
        whose scale is 0 or NaN are left out (Hyndman & Koehler, 2006).
    """
    valid = observed & (np.nan_to_num(scale) > 0)
    if not valid.any():
        return float("nan")
    error = np.abs(forecast[valid] - actual[valid]) / scale[valid]
    return float(error.mean(dtype=float))


def coverage(actual: Values, low: Values, high: Values, observed: Flags) -> float:
    """Share of observed days whose actual lies between low and high, both included."""
    if not observed.any():
        return float("nan")
    inside = (low <= actual) & (actual <= high)
    return float(inside[observed].mean(dtype=float))


def _fraction_of_volume(amount: Values, actual: Values, observed: Flags) -> float:
    volume = actual[observed].sum(dtype=float)
    if not volume > 0:
        return float("nan")
    return float(amount[observed].sum(dtype=float) / volume)
