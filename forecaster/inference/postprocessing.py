"""Turns the network's raw forecast into the median forecast, tuned on held-out days.

The median is the baseline forecast plus a share of the network's correction: the one that
lowers MAPE and WAPE on the holdout, shrunk towards what usually pays, for a month of a young
fleet says little. A depot whose errors the network made larger keeps the baseline forecast
(the fallback).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from forecaster import metrics

SHARES = tuple(round(0.1 * number, 1) for number in range(11))
SHORT_HISTORY_SHARE, SHORT_HISTORY_DAYS, LONG_HISTORY_DAYS = 0.3, 730, 1460
"""Share that pays on average over fleets of less than two years; with four, the network has
seen each season several times and is trusted whole, in between in part."""
MIN_NETWORK_DAYS = 28
"""Days that a network must have been trained on for any of it to be delivered."""
MAX_PENALTY, CONFIDENCE_DAYS = 0.4, 600
"""Cost, in relative error, of a share that differs from the expected one by 1, times the
square of the difference: so much without history, and half of it at so many days."""
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
        more_fallbacks: Collection[str] = (),
    ) -> Float[np.ndarray, "depot horizon"]:
        """Median forecasts in log counts.

        Args:
          depot_ids: Depots, in the order of the rows.
          baseline_dh: Baseline forecast, log counts.
          correction_dh: The network's correction to it, log counts.
          more_fallbacks: Further depots that keep the baseline forecast.
        """
        median_dh = baseline_dh + self.network_share * correction_dh
        fallbacks = (*self.fallback_depots, *more_fallbacks)
        fallback_d = np.isin(depot_ids, fallbacks)
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


def describe_share(share: float | None) -> str:
    """Describes a share of the network's correction for people.

    Args:
      share: `Postprocessing.network_share`; None if it was not recorded.
    """
    if share is None:
        return "–"
    if share == 0:
        return "baseline"
    return "network" if share == 1 else f"{100 * share:.0f} % network"


class HoldoutForecasts(NamedTuple):
    """Raw forecasts of held-out days, [O, D, H], with their actuals; log counts but for `actual`."""

    baseline: Float[np.ndarray, "origin depot horizon"]
    correction: Float[np.ndarray, "origin depot horizon"]
    spread: Float[np.ndarray, "origin depot"]
    # Orders per day, NaN where not observed.
    actual: Float[np.ndarray, "origin depot horizon"]
    # Whether the day counts: it is observed, and the depot has a history of its own.
    valid: Bool[np.ndarray, "origin depot horizon"]

    def medians(
        self, postprocessing: Postprocessing, depot_ids: Sequence[str]
    ) -> Float[np.ndarray, "origin depot horizon"]:
        """Median forecasts in log counts under this postprocessing."""
        rows = zip(self.baseline, self.correction, strict=True)
        return np.stack([postprocessing.medians(depot_ids, *row) for row in rows])


def choose(
    holdout: HoldoutForecasts, depot_ids: Sequence[str], history_days: int
) -> Postprocessing:
    """Chooses the share of the correction, and the depots that fall back.

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
    """Share of least relative error, shrunk to the expected one for young fleets."""
    penalty = MAX_PENALTY / (1 + history_days / CONFIDENCE_DAYS)
    years = np.clip(
        (history_days - SHORT_HISTORY_DAYS) / (LONG_HISTORY_DAYS - SHORT_HISTORY_DAYS),
        0.0,
        1.0,
    )
    expected = SHORT_HISTORY_SHARE + (1 - SHORT_HISTORY_SHARE) * years
    costs = [
        _relative_error(holdout, holdout.medians(Postprocessing(share), depot_ids))
        + penalty * (share - expected) ** 2
        for share in SHARES
    ]
    # Without a day that counts, the costs are NaN.
    return SHARES[int(np.nanargmin(costs))] if np.isfinite(costs).any() else 0.0


def _relative_error(
    holdout: HoldoutForecasts, median_odh: Float[np.ndarray, "origin depot horizon"]
) -> float:
    """Log of the product of MAPE and WAPE; differences are relative changes of both."""
    forecast_odh = np.maximum(np.expm1(median_odh), 0.0)
    scores = (metrics.mape, metrics.wape)
    errors = [each(holdout.actual, forecast_odh, holdout.valid) for each in scores]
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
