"""Turns the network's raw forecast into the point forecast, tuned on held-out days.

The point is the baseline forecast plus the share of the network's correction that lowered
MAPE on the holdout; minus a multiple of the depot's spread where residuals are skewed, as
they are where counts are small. A depot whose errors the network made larger keeps the
baseline forecast (the fallback).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from forecaster import metrics

SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)
MIN_GAIN = 0.01
"""Relative fall of MAPE that a share below 1 must bring, or the whole correction is used."""
SHIFTS = tuple(round(0.05 * number, 2) for number in range(21))
MIN_BIAS, MAX_BIAS_COST, MAX_WAPE_COST = -0.02, 0.02, 0.005
"""Limits of a shift, as fractions: the lowest bias it may lead to, or else the largest
fall of the bias, and the largest relative rise of WAPE."""
FALLBACK_MARGIN = 1.1
"""Ratio of the errors with and without the network above which a depot falls back."""
MIN_FALLBACK_DAYS = 42
"""Fewest held-out forecast days by which a depot may fall back to the baseline."""


@dataclass(frozen=True)
class Postprocessing:
    """Rules that turn the raw forecast into the point forecast.

    Attributes:
      network_share: Share of the network's correction to the baseline, 0 to 1.
      shift: Number of spreads subtracted from the point.
      fallback_depots: Ids of the depots that keep the baseline forecast.
    """

    network_share: float = 1.0
    shift: float = 0.0
    fallback_depots: tuple[str, ...] = ()

    def points(
        self,
        depot_ids: Sequence[str],
        baseline_dh: Float[np.ndarray, "depot horizon"],
        correction_dh: Float[np.ndarray, "depot horizon"],
        spread_d: Float[np.ndarray, " depot"],
        more_fallbacks: Collection[str] = (),
    ) -> Float[np.ndarray, "depot horizon"]:
        """Point forecasts in log counts.

        Args:
          depot_ids: Depots, in the order of the rows.
          baseline_dh: Baseline forecast, log counts.
          correction_dh: The network's correction to it, log counts.
          spread_d: Spread of each depot at the origin, log counts.
          more_fallbacks: Further depots that keep the baseline forecast.
        """
        point_dh = (
            baseline_dh
            + self.network_share * correction_dh
            - self.shift * spread_d[:, None]
        )
        fallbacks = (*self.fallback_depots, *more_fallbacks)
        fallback_d = np.isin(depot_ids, fallbacks)
        return np.where(fallback_d[:, None], baseline_dh, point_dh).astype(np.float32)

    def to_json(self) -> dict[str, Any]:
        """JSON of the artefact's manifest."""
        return {
            "share": self.network_share,
            "shift": self.shift,
            "gated": list(self.fallback_depots),
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Postprocessing":
        """Reads what `to_json` wrote."""
        return cls(
            float(stored["share"]), float(stored["shift"]), tuple(stored["gated"])
        )


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

    def points(
        self, postprocessing: Postprocessing, depot_ids: Sequence[str]
    ) -> Float[np.ndarray, "origin depot horizon"]:
        """Point forecasts in log counts under this postprocessing."""
        rows = zip(self.baseline, self.correction, self.spread, strict=True)
        return np.stack([postprocessing.points(depot_ids, *row) for row in rows])


def choose(holdout: HoldoutForecasts, depot_ids: Sequence[str]) -> Postprocessing:
    """Chooses the postprocessing of least MAPE, within the limits on WAPE and bias.

    Args:
      holdout: Forecasts of a fit for the days after its training.
      depot_ids: Depots, in the order of the depot axis.
    """
    postprocessing = Postprocessing(network_share=_network_share(holdout, depot_ids))
    postprocessing = replace(
        postprocessing, shift=_shift(holdout, depot_ids, postprocessing)
    )
    return replace(
        postprocessing,
        fallback_depots=_fallback_depots(holdout, depot_ids, postprocessing),
    )


class _Score(NamedTuple):
    mape: float
    wape: float
    bias: float


def _score(holdout: HoldoutForecasts, point_odh: Float[np.ndarray, "..."]) -> _Score:
    arguments = (holdout.actual, np.maximum(np.expm1(point_odh), 0.0), holdout.valid)
    return _Score(
        metrics.mape(*arguments), metrics.wape(*arguments), metrics.bias(*arguments)
    )


def _network_share(holdout: HoldoutForecasts, depot_ids: Sequence[str]) -> float:
    def mape(share: float) -> float:
        return _score(holdout, holdout.points(Postprocessing(share), depot_ids)).mape

    mapes = {share: mape(share) for share in SHARES}
    best = min(SHARES, key=lambda share: mapes[share])
    return best if mapes[best] < (1 - MIN_GAIN) * mapes[1.0] else 1.0


def _shift(
    holdout: HoldoutForecasts, depot_ids: Sequence[str], postprocessing: Postprocessing
) -> float:
    scores = {
        shift: _score(
            holdout, holdout.points(replace(postprocessing, shift=shift), depot_ids)
        )
        for shift in SHIFTS
    }
    unshifted = scores[0.0]
    max_wape = (1 + MAX_WAPE_COST) * unshifted.wape
    min_bias = min(MIN_BIAS, unshifted.bias - MAX_BIAS_COST)
    allowed = [
        shift
        for shift, score in scores.items()
        if score.wape <= max_wape and score.bias >= min_bias
    ]
    # Scores are NaN where no day had orders: then no shift is allowed.
    return min(allowed, key=lambda shift: scores[shift].mape, default=0.0)


def _fallback_depots(
    holdout: HoldoutForecasts, depot_ids: Sequence[str], postprocessing: Postprocessing
) -> tuple[str, ...]:
    """Ids of the depots whose absolute error is larger with the network than without it."""
    network_d = _absolute_error(holdout, holdout.points(postprocessing, depot_ids))
    baseline_d = _absolute_error(holdout, holdout.baseline)
    has_enough_days_d = holdout.valid.sum(axis=(0, 2)) >= MIN_FALLBACK_DAYS
    worse_d = has_enough_days_d & (network_d > FALLBACK_MARGIN * baseline_d)
    return tuple(
        depot for depot, worse in zip(depot_ids, worse_d, strict=True) if worse
    )


def _absolute_error(
    holdout: HoldoutForecasts, point_odh: Float[np.ndarray, "origin depot horizon"]
) -> Float[np.ndarray, " depot"]:
    """Sum of absolute errors of each depot, orders."""
    orders_odh = np.maximum(np.expm1(point_odh), 0.0)
    error_odh = np.abs(orders_odh - np.where(holdout.valid, holdout.actual, 0.0))
    return np.where(holdout.valid, error_odh, 0.0).sum(axis=(0, 2))
