"""Conformal intervals: how far actuals lay from forecasts that had not seen them.

Residuals are pooled over depots, each divided by its depot's own spread, and kept per
horizon day (Vovk et al., split conformal prediction).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32

from forecaster.errors import NoDataError

LOW, HIGH = 0.1, 0.9
# What is added to the spread of a depot without a history of its own.
STRANGER_SPREAD = 0.3


@dataclass(frozen=True)
class IntervalTable:
    """Quantiles of scaled residuals per horizon day; `low_h` ≤ 0 ≤ `high_h`."""

    low_h: Float32[np.ndarray, " horizon"]
    high_h: Float32[np.ndarray, " horizon"]


def calibrate(
    residual_rh: Float[np.ndarray, "row horizon"],
    known_rh: Bool[np.ndarray, "row horizon"],
) -> IntervalTable:
    """The band that held 80 % of the residuals.

    Args:
      residual_rh: (log actual - log forecast) / spread of forecasts whose fit had not
        seen the actual; a row is one depot and origin, origins a day apart.
      known_rh: Where the actual is known.

    Raises:
      NoDataError: a horizon day has no residual.
    """
    if not known_rh.any(axis=0).all():
        raise NoDataError(
            "Intervals need at least one known actual for each horizon day. Load a "
            "longer history, or shorten the horizon."
        )
    columns = [residual_rh[known_rh[:, h], h] for h in range(residual_rh.shape[1])]
    low_h = [np.quantile(column, LOW) for column in columns]
    high_h = [np.quantile(column, HIGH) for column in columns]
    return IntervalTable(
        np.minimum(np.array(low_h, np.float32), 0),
        np.maximum(np.array(high_h, np.float32), 0),
    )


def band(
    table: IntervalTable,
    point_dh: Float[np.ndarray, "depot horizon"],
    spread_d: Float[np.ndarray, " depot"],
) -> tuple[Float[np.ndarray, "depot horizon"], Float[np.ndarray, "depot horizon"]]:
    """Low and high log counts around a point forecast.

    Args:
      table: From `calibrate`.
      point_dh: Log counts.
      spread_d: Of each depot at the origin, log counts.
    """
    spread_d1 = spread_d[:, None]
    return point_dh + table.low_h * spread_d1, point_dh + table.high_h * spread_d1
