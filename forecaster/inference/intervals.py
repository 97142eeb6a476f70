"""80 % intervals of depots, from the errors of a year.

The baseline's errors on ordinary days are divided by the depot's own spread and pooled over depots
(Vovk et al., split conformal prediction). Their quantiles by horizon day, narrowed by the network's
gain on the held-out month, are the band of an ordinary day. On a holiday or an event the standard
deviation of the estimated effect is added in quadrature, times a factor with which the bands would
have covered the year's holidays and events.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int

from forecaster.inference.baseline_errors import (
    NORMAL_HIGH,
    BaselineErrors,
    effect_factor,
    shrunk_quantiles,
)

PRIOR_LOW, PRIOR_HIGH = -1.8, 1.6
"""Usual quantiles of scaled errors: means over fleets and lengths of history."""
PRIOR_WEEKS = 1
"""Weeks of errors at which the prior quantiles weigh as much as the measured ones."""
PRIOR_EFFECT_FACTOR = 1.3
COLD_START_SPREAD = 0.3
"""Added to the spread of a depot without a history of its own, log counts."""
MAX_WIDTH = 3.0
"""Maximum distance from the median to a bound, log counts (a factor of 20): when a depot reopens
after days of unannounced zeros, its spread is meaningless for the days ahead."""
MIN_WIDENING = 1.05
"""Minimum factor on the width per missing day, used where the table is flat."""


@dataclass(frozen=True)
class IntervalTable:
    """Quantiles of scaled errors, and the factor on the spread of effects.

    Attributes:
      low_h: 10 % quantile per horizon day, in spreads, below 0.
      high_h: 90 % quantile per horizon day, in spreads, above 0.
      effect_factor: Factor on the standard deviation of a day's effect.
    """

    low_h: Float32[np.ndarray, " horizon"]
    high_h: Float32[np.ndarray, " horizon"]
    effect_factor: float = PRIOR_EFFECT_FACTOR


def calibrate(errors: BaselineErrors, narrowing: float = 1.0) -> IntervalTable:
    """Fits intervals that cover 80 % of a year's errors, shrunk towards the prior ones.

    `narrowing` is the ratio of the network's error width to the baseline's.
    """
    spread_doh = errors.spread_do[..., None]
    is_ordinary_doh = np.isfinite(errors.error_doh) & ~errors.special_doh
    score_doh = errors.error_doh / spread_doh
    of_days = [np.s_[..., h : h + 1] for h in range(score_doh.shape[2])]
    bounds_h2 = np.array(
        [
            shrunk_quantiles(
                score_doh[day],
                is_ordinary_doh[day],
                (PRIOR_LOW, PRIOR_HIGH),
                PRIOR_WEEKS,
            )
            for day in of_days
        ]
    )
    low_h, high_h = bounds_h2.T.astype(np.float32)
    half_doh = np.where(errors.error_doh < 0, -low_h, high_h) * spread_doh
    factor = effect_factor(
        errors.error_doh,
        half_doh,
        NORMAL_HIGH * errors.effect_sd_doh,
        np.isfinite(errors.error_doh) & errors.special_doh,
        PRIOR_EFFECT_FACTOR,
    )
    narrow = np.float32(narrowing)
    return IntervalTable(narrow * low_h, narrow * high_h, factor)


def bounds(
    table: IntervalTable,
    median_dh: Float[np.ndarray, "depot horizon"],
    spread_d: Float[np.ndarray, " depot"],
    effect_sd_dh: Float[np.ndarray, "depot horizon"],
    missing_d: Int[np.ndarray, " depot"],
) -> tuple[Float[np.ndarray, "depot horizon"], Float[np.ndarray, "depot horizon"]]:
    """Returns the bounds of the 80 % interval around the median, log counts.

    Args:
      table: From `calibrate`.
      median_dh: Median, log counts.
      spread_d: Spread of each depot, log counts.
      effect_sd_dh: Standard deviation of each day's effect, log counts.
      missing_d: Number of newest open days whose demand is missing. Tomorrow is then forecast
        from an older day, and is as uncertain as a day further ahead.
    """
    effect_dh = NORMAL_HIGH * table.effect_factor * effect_sd_dh
    below_dh, above_dh = (
        np.hypot(quantile_h * stale_spread(quantile_h, spread_d, missing_d), effect_dh)
        for quantile_h in (table.low_h, table.high_h)
    )
    return (
        median_dh - np.minimum(below_dh, MAX_WIDTH),
        median_dh + np.minimum(above_dh, MAX_WIDTH),
    )


def stale_spread(
    quantile_h: Float32[np.ndarray, " horizon"],
    spread_d: Float[np.ndarray, " depot"],
    missing_d: Int[np.ndarray, " depot"],
) -> Float[np.ndarray, "depot horizon"]:
    """Spreads of the days ahead, which are wider the more of the newest days are missing."""
    horizon = len(quantile_h)
    step_dh = np.arange(horizon) + missing_d[:, None]
    further_dh = quantile_h[np.minimum(step_dh, horizon - 1)]
    ratio_dh = np.divide(
        further_dh, quantile_h, out=np.ones_like(further_dh), where=quantile_h != 0
    )
    widened_dh = np.maximum(ratio_dh, MIN_WIDENING ** missing_d[:, None])
    return spread_d[:, None] * widened_dh.astype(np.float32)
