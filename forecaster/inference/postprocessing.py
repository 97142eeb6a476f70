"""Turns the network's raw forecast into the median forecast, tuned on held-out days.

The median is the baseline forecast plus a share of the network's correction. The share is a robust
least-squares fit to the held-out days (Huber, Robust estimation of a location parameter, 1964). One
month is little evidence, so it is shrunk towards a prior share, which depends on the length of the
history. A share below `LEAST_SHARE` is set to 0: the forecast is the baseline.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

PRIOR_HISTORY_DAYS, PRIOR_SHARES = (285, 548), (0.0, 0.7)
"""Prior share by days of history, interpolated: the best share for each length on real fleets,
see LAB.md. With less than a year the network cannot tell a season from a trend."""
LEAST_SHARE = 0.05
"""Minimum share that is used: smaller shares did harm as often as good."""
MIN_NETWORK_DAYS = 28
"""Days that a network must have been trained on for its correction to be used."""
PRIOR_WEIGHT = 1.6
"""Mean square of the correction, in squared spreads, at which the held-out month weighs as much as
the prior: the next month differs from it, and only large corrections are strong evidence."""
MAX_SPREADS = 3.0
"""Cap on a residual in the fit, in spreads, so that no single odd day decides it."""
FIT_STEPS = 10
"""Steps of the reweighted fit, after which it has converged."""


def median(
    network_share: float,
    baseline: Float[np.ndarray, "*batch depot horizon"],
    correction: Float[np.ndarray, "*batch depot horizon"],
) -> Float[np.ndarray, "*batch depot horizon"]:
    """Median forecasts: the baseline plus a share, 0 to 1, of the correction; log counts."""
    return (baseline + network_share * correction).astype(np.float32)


class HoldoutForecasts(NamedTuple):
    """Raw forecasts of held-out days, with their actuals.

    Attributes:
      baseline: Baseline forecast, log counts.
      correction: The network's correction to it, log counts.
      spread: Depot's spread and standard deviation of the day's effect, in quadrature; log counts.
      actual: Orders per day, NaN where not observed.
      valid: Whether the day counts: it is observed, and the depot has a history of its own.
    """

    baseline: Float[np.ndarray, "origin depot horizon"]
    correction: Float[np.ndarray, "origin depot horizon"]
    spread: Float[np.ndarray, "origin depot horizon"]
    actual: Float[np.ndarray, "origin depot horizon"]
    valid: Bool[np.ndarray, "origin depot horizon"]


def fit_network_share(holdout: HoldoutForecasts, history_days: int) -> float:
    """Fits the correction's share to a holdout; the network was trained on `history_days`."""
    valid_odh = holdout.valid
    if history_days < MIN_NETWORK_DAYS or not valid_odh.any():
        return 0.0
    prior_share = share = float(
        np.interp(history_days, PRIOR_HISTORY_DAYS, PRIOR_SHARES)
    )
    missed_odh = np.log1p(holdout.actual) - holdout.baseline
    missed_n = missed_odh[valid_odh] / holdout.spread[valid_odh]
    correction_n = holdout.correction[valid_odh] / holdout.spread[valid_odh]
    for _ in range(FIT_STEPS):
        rest_n = np.abs(missed_n - share * correction_n)
        weighted_n = correction_n * np.minimum(
            1.0, MAX_SPREADS / np.maximum(rest_n, 1e-6)
        )
        share = (np.mean(weighted_n * missed_n) + PRIOR_WEIGHT * prior_share) / (
            np.mean(weighted_n * correction_n) + PRIOR_WEIGHT
        )
    return float(min(share, 1.0)) if share >= LEAST_SHARE else 0.0
