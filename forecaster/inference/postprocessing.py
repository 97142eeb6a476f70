"""Turns the network's raw forecast into the median forecast, tuned on held-out days.

The median is the baseline forecast plus a share of the network's correction: the one with the
lowest MAPE and WAPE on the holdout, held close to a prior share by the length of history, because
one month is little evidence. A depot whose errors the network made larger keeps the
baseline forecast (the fallback).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
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
FALLBACK_MARGIN = 1.1
"""Ratio of the errors with and without the network above which a depot falls back."""
MIN_FALLBACK_DAYS = 42
"""Fewest held-out forecast days by which a depot may fall back to the baseline."""


@dataclass(frozen=True)
class Postprocessing:
    """Rules that turn the raw forecast into the median forecast.

    Attributes:
      network_share: Share of the network's correction to the baseline, 0 to 1.
      fallback_depots: Ids of the depots that keep the baseline forecast.
    """

    network_share: float = 1.0
    fallback_depots: tuple[str, ...] = ()

    def medians(
        self,
        depot_ids: Sequence[str],
        baseline_dh: Float[np.ndarray, "depot horizon"],
        correction_dh: Float[np.ndarray, "depot horizon"],
        extra_fallback_depots: Collection[str] = (),
    ) -> Float[np.ndarray, "depot horizon"]:
        """Median forecasts in log counts.

        Args:
          depot_ids: Depots, in the order of the rows.
          baseline_dh: Baseline forecast, log counts.
          correction_dh: The network's correction to it, log counts.
          extra_fallback_depots: Further depots that keep the baseline forecast.
        """
        median_dh = baseline_dh + self.network_share * correction_dh
        fallbacks = {*self.fallback_depots, *extra_fallback_depots}
        fallback_d = np.array([depot in fallbacks for depot in depot_ids], bool)
        return np.where(fallback_d[:, None], baseline_dh, median_dh).astype(np.float32)

    def to_json(self) -> dict[str, Any]:
        """JSON of the artefact's manifest."""
        return {
            "network_share": self.network_share,
            "fallback_depots": list(self.fallback_depots),
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Postprocessing":
        """Reads what `to_json` wrote."""
        return cls(float(stored["network_share"]), tuple(stored["fallback_depots"]))


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

    def medians(
        self, postprocessing: Postprocessing, depot_ids: Sequence[str]
    ) -> Float[np.ndarray, "origin depot horizon"]:
        """Median forecasts in log counts under this postprocessing."""
        rows = zip(self.baseline, self.correction, strict=True)
        return np.stack([postprocessing.medians(depot_ids, *row) for row in rows])


def fit_postprocessing(
    holdout: HoldoutForecasts, depot_ids: Sequence[str], history_days: int
) -> Postprocessing:
    """Fits the share of the correction, and the depots that fall back, to a holdout.

    Args:
      holdout: Forecasts of a fit for the days after its training.
      depot_ids: Depots, in the order of the depot axis.
      history_days: Days that the fit was trained on.
    """
    share = 0.0
    if history_days >= MIN_NETWORK_DAYS:
        share = _network_share(holdout, depot_ids, history_days)
    postprocessing = Postprocessing(network_share=share)
    fallbacks = _fallback_depots(holdout, depot_ids, postprocessing)
    return replace(postprocessing, fallback_depots=fallbacks)


def _network_share(
    holdout: HoldoutForecasts, depot_ids: Sequence[str], history_days: int
) -> float:
    """Share on the grid that minimises log(MAPE · WAPE) plus the penalty."""
    prior_share = np.interp(history_days, PRIOR_HISTORY_DAYS, PRIOR_SHARES)
    costs = [
        _relative_error(holdout, holdout.medians(Postprocessing(share), depot_ids))
        + PRIOR_PENALTY * (share - prior_share) ** 2
        for share in SHARE_GRID
    ]
    # Without a day that counts, the costs are NaN.
    return SHARE_GRID[int(np.nanargmin(costs))] if np.isfinite(costs).any() else 0.0


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


def _fallback_depots(
    holdout: HoldoutForecasts, depot_ids: Sequence[str], postprocessing: Postprocessing
) -> tuple[str, ...]:
    """Ids of the depots whose absolute error is clearly larger with the network, over enough days."""
    network_d = _absolute_error(holdout, holdout.medians(postprocessing, depot_ids))
    baseline_d = _absolute_error(holdout, holdout.baseline)
    has_enough_days_d = holdout.valid.sum(axis=(0, 2)) >= MIN_FALLBACK_DAYS
    worse_d = has_enough_days_d & (network_d > FALLBACK_MARGIN * baseline_d)
    return tuple(
        depot for depot, worse in zip(depot_ids, worse_d, strict=True) if worse
    )


def _absolute_error(
    holdout: HoldoutForecasts, median_odh: Float[np.ndarray, "origin depot horizon"]
) -> Float[np.ndarray, " depot"]:
    """Sum of absolute errors of each depot, orders."""
    orders_odh = np.maximum(np.expm1(median_odh), 0.0)
    error_odh = np.abs(orders_odh - np.where(holdout.valid, holdout.actual, 0.0))
    return np.where(holdout.valid, error_odh, 0.0).sum(axis=(0, 2))
