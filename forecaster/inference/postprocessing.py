"""What the network says, and what is delivered: chosen on days the fit had not seen.

The point is the plain forecast, and so much of the network's correction as helped; less
a part of the depot's spread where its residuals are lopsided, as they are where counts are
small or bad days deep. A depot whose residuals the network made larger keeps the plain
forecast (the naive gate).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from forecaster import metrics

SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)
LEAST_GAIN = 0.01
"""Less of the network must lower MAPE by this share, or all of it is delivered."""
SHIFTS = tuple(round(0.05 * number, 2) for number in range(21))
LEAST_BIAS, BIAS_COST, WAPE_COST = -0.02, 0.02, 0.005
"""A shift may bring the bias down to the first, or by the second at most; and WAPE may
rise by the third, as a share."""
GATE_MARGIN = 1.1
GATE_DAYS = 42
"""Forecast days a depot is evaluation on at least."""


@dataclass(frozen=True)
class Postprocessing:
    """How what the network says becomes the point.

    Attributes:
      share: Of the network's correction to the plain forecast.
      shift: Spreads taken off the point.
      gated: Ids of the depots that keep the plain forecast.
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
    ) -> Float[np.ndarray, "depot horizon"]:
        """Log counts that are delivered.

        Args:
          depot_ids: Of the rows.
          baseline_dh: The plain forecast, log counts.
          correction_dh: What the network adds to it.
          spread_d: Of each depot, log counts.
        """
        point_dh = (
            baseline_dh
            + self.network_share * correction_dh
            - self.shift * spread_d[:, None]
        )
        gated_d = np.isin(depot_ids, self.fallback_depots)
        return np.where(gated_d[:, None], baseline_dh, point_dh).astype(np.float32)

    def to_json(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "share": self.network_share,
            "shift": self.shift,
            "gated": list(self.fallback_depots),
        }

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> "Postprocessing":
        """As `to_json` wrote it."""
        return cls(float(kept["share"]), float(kept["shift"]), tuple(kept["gated"]))


def describe_share(share: float | None) -> str:
    """Names what is delivered for a share of the network's correction to the baseline.

    Args:
      share: Of `Postprocessing`; None where it is not known.
    """
    if share is None:
        return "–"
    if share == 0:
        return "baseline"
    return "network" if share == 1 else f"{100 * share:.0f} % network"


class HoldoutForecasts(NamedTuple):
    """Forecasts of days the fit had not seen, [O, D, H]; log counts but for `actual`."""

    plain: Float[np.ndarray, "origin depot horizon"]
    correction: Float[np.ndarray, "origin depot horizon"]
    spread: Float[np.ndarray, "origin depot"]
    # Orders, and whether they are known.
    actual: Float[np.ndarray, "origin depot horizon"]
    known: Bool[np.ndarray, "origin depot horizon"]

    def points(
        self, delivery: Postprocessing, depot_ids: Sequence[str]
    ) -> Float[np.ndarray, "origin depot horizon"]:
        """Log counts that would have been delivered."""
        rows = zip(self.plain, self.correction, self.spread, strict=True)
        return np.stack([delivery.points(depot_ids, *row) for row in rows])


def choose(unseen: HoldoutForecasts, depot_ids: Sequence[str]) -> Postprocessing:
    """The delivery of least MAPE, at little cost of WAPE and bias.

    Args:
      unseen: Forecasts of a fit for the days after it.
      depot_ids: Of the depot axis.
    """
    delivery = Postprocessing(network_share=_network_share(unseen, depot_ids))
    delivery = replace(delivery, shift=_shift(unseen, depot_ids, delivery))
    return replace(
        delivery, fallback_depots=_fallback_depots(unseen, depot_ids, delivery)
    )


class _Score(NamedTuple):
    mape: float
    wape: float
    bias: float


def _score(unseen: HoldoutForecasts, point_odh: Float[np.ndarray, "..."]) -> _Score:
    told = (unseen.actual, np.maximum(np.expm1(point_odh), 0.0), unseen.known)
    return _Score(metrics.mape(*told), metrics.wape(*told), metrics.bias(*told))


def _network_share(unseen: HoldoutForecasts, depot_ids: Sequence[str]) -> float:
    def mape(share: float) -> float:
        return _score(unseen, unseen.points(Postprocessing(share), depot_ids)).mape

    mapes = {share: mape(share) for share in SHARES}
    best = min(SHARES, key=lambda share: mapes[share])
    return best if mapes[best] < (1 - LEAST_GAIN) * mapes[1.0] else 1.0


def _shift(
    unseen: HoldoutForecasts, depot_ids: Sequence[str], delivery: Postprocessing
) -> float:
    scores = {
        shift: _score(unseen, unseen.points(replace(delivery, shift=shift), depot_ids))
        for shift in SHIFTS
    }
    plain = scores[0.0]
    most_wape = (1 + WAPE_COST) * plain.wape
    least_bias = min(LEAST_BIAS, plain.bias - BIAS_COST)
    allowed = [
        shift
        for shift, score in scores.items()
        if score.wape <= most_wape and score.bias >= least_bias
    ]
    # NaN, where nothing was ordered, allows nothing and compares with nothing.
    return min(allowed, key=lambda shift: scores[shift].mape, default=0.0)


def _fallback_depots(
    unseen: HoldoutForecasts, depot_ids: Sequence[str], delivery: Postprocessing
) -> tuple[str, ...]:
    """Depots whose mean absolute miss is larger with the network than without it."""
    with_d = _misses(unseen, unseen.points(delivery, depot_ids))
    without_d = _misses(unseen, unseen.plain)
    enough_d = unseen.known.sum(axis=(0, 2)) >= GATE_DAYS
    worse_d = enough_d & (with_d > GATE_MARGIN * without_d)
    return tuple(
        depot for depot, worse in zip(depot_ids, worse_d, strict=True) if worse
    )


def _misses(
    unseen: HoldoutForecasts, point_odh: Float[np.ndarray, "origin depot horizon"]
) -> Float[np.ndarray, " depot"]:
    """Sum of absolute residuals of each depot, orders."""
    orders_odh = np.maximum(np.expm1(point_odh), 0.0)
    miss_odh = np.abs(orders_odh - np.where(unseen.known, unseen.actual, 0.0))
    return np.where(unseen.known, miss_odh, 0.0).sum(axis=(0, 2))
