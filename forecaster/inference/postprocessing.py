"""Turns the network's raw forecast into the median forecast, tuned on held-out days.

The median is the baseline forecast plus a share of the network's correction: the one with the
lowest MAPE and WAPE on the holdout, held close to a prior share by the length of history, because
one month is little evidence.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from forecaster import metrics

SHARE_GRID = tuple(round(0.1 * number, 1) for number in range(11))
PRIOR_HISTORY_DAYS, PRIOR_SHARES = (285, 548), (0.2, 0.8)
"""Prior share by the length of history, interpolated: the best of each length on real fleets,
see LAB.md. With less than a year the network cannot tell a season from a trend."""
MIN_NETWORK_DAYS = 28
"""Days that a network must have been trained on for its correction to be used."""
PRIOR_PENALTY = 1.6
"""Weight of the quadratic penalty (share - prior share)². The held-out month overrules the prior
only where the network is far better or worse: the next month differs from it."""
MIN_ERROR = 1e-6


@dataclass(frozen=True)
class Postprocessing:
    """Rules that turn the raw forecast into the median forecast.

    Attributes:
      network_share: Share of the network's correction to the baseline, 0 to 1.
    """

    network_share: float = 1.0

    def median(
        self,
        baseline: Float[np.ndarray, "*batch depot horizon"],
        correction: Float[np.ndarray, "*batch depot horizon"],
    ) -> Float[np.ndarray, "*batch depot horizon"]:
        """Median forecasts in log counts.

        Args:
          baseline: Baseline forecast, log counts.
          correction: The network's correction to it, log counts.
        """
        return (baseline + self.network_share * correction).astype(np.float32)

    def to_json(self) -> dict[str, Any]:
        """JSON of the artefact's manifest."""
        return {"network_share": self.network_share}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Postprocessing":
        """Reads what `to_json` wrote."""
        return cls(float(stored["network_share"]))


class HoldoutForecasts(NamedTuple):
    """Raw forecasts of held-out days, with their actuals.

    Attributes:
      baseline: Baseline forecast, log counts.
      correction: The network's correction to it, log counts.
      spread: Spread of each depot and day ahead, log counts.
      actual: Orders per day, NaN where not observed.
      valid: Whether the day counts: it is observed, and the depot has a history of its own.
    """

    baseline: Float[np.ndarray, "origin depot horizon"]
    correction: Float[np.ndarray, "origin depot horizon"]
    spread: Float[np.ndarray, "origin depot horizon"]
    actual: Float[np.ndarray, "origin depot horizon"]
    valid: Bool[np.ndarray, "origin depot horizon"]


def fit_postprocessing(holdout: HoldoutForecasts, history_days: int) -> Postprocessing:
    """Fits the share of the correction to a holdout.

    It minimises log(MAPE · WAPE) plus the penalty, on a grid.

    Args:
      holdout: Forecasts of a fit for the days after its training.
      history_days: Days that the fit was trained on.
    """
    if history_days < MIN_NETWORK_DAYS:
        return Postprocessing(network_share=0.0)
    prior_share = np.interp(history_days, PRIOR_HISTORY_DAYS, PRIOR_SHARES)
    choices = [Postprocessing(share) for share in SHARE_GRID]
    costs = [
        _relative_error(holdout, each.median(holdout.baseline, holdout.correction))
        + PRIOR_PENALTY * (each.network_share - prior_share) ** 2
        for each in choices
    ]
    # Without a day that counts, the costs are NaN.
    return choices[int(np.nanargmin(costs)) if np.isfinite(costs).any() else 0]


def _relative_error(
    holdout: HoldoutForecasts, median_odh: Float[np.ndarray, "origin depot horizon"]
) -> float:
    """Log of the product of MAPE and WAPE; differences are relative changes of both."""
    forecast_odh = np.maximum(np.expm1(median_odh), 0.0)
    errors = [
        metric(holdout.actual, forecast_odh, holdout.valid)
        for metric in (metrics.mape, metrics.wape)
    ]
    return float(np.log(np.maximum(errors, MIN_ERROR)).sum())
