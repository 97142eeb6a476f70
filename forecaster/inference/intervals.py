"""Conformal intervals from the residuals of held-out forecasts.

Residuals are divided by their depot's own spread, pooled over depots, and kept per
horizon day (Vovk et al., split conformal prediction). A factor per weekday
and per depot corrects the width, shrunk towards 1 where data are few. On holidays and events the
spread includes the standard deviation of their estimated effect (`RawForecast.spread_dh`).

`calibrate` fits the table, called by `calibration.calibrate_artefact` after training; the
artefact keeps it. `bounds` applies it to the medians of a forecast, called by `infer`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from forecaster.errors import NoDataError

LOW, HIGH = 0.1, 0.9
"""Quantiles that bound the 80 % interval."""
PRIOR_LOW, PRIOR_HIGH = -1.8, 1.6
"""Usual quantiles of scaled residuals: means over fleets and lengths of history."""
PRIOR_WEEKS = 1
"""Weeks of residuals at which the prior quantiles weigh as much as those found."""
COLD_START_SPREAD = 0.3
"""Added to the spread of a depot without a history of its own, log counts."""
WEEKDAY_DAYS, DEPOT_DAYS = 300, 100
"""Forecast days at which a factor's own data weigh as much as the pool."""
MIN_FACTOR, MAX_FACTOR = 0.4, 2.5
"""Limits of a factor before it is shrunk."""
YEAR_DAYS = 364
MIN_RELATIVE_DIFFICULTY = 0.5
MATURE_DAYS = 56
"""Days of history after which a depot has a spread of its own."""
MAX_WIDTH = 3.0
"""Log counts from the median to a bound at most, a factor of 20: a depot that reopens after days
of unannounced zeros has a spread that says nothing of the days ahead."""
MIN_WIDENING = 1.05
"""Minimum factor on the width per missing day, used where the table is flat."""


@dataclass(frozen=True)
class IntervalTable:
    """Quantiles of scaled residuals, and factors on the width.

    Attributes:
      low_h: 10 % quantile per horizon day, at most 0.
      high_h: 90 % quantile per horizon day, at least 0.
      weekday_w: Factor of each weekday, Monday first.
      depot_ids: Depots that have a factor; others have 1.
      depot_d: Factor of each of these depots.
    """

    low_h: Float32[np.ndarray, " horizon"]
    high_h: Float32[np.ndarray, " horizon"]
    weekday_w: Float32[np.ndarray, " 7"]
    depot_ids: tuple[str, ...]
    depot_d: Float32[np.ndarray, " depot"]


def uniform_table(
    low_h: Float[np.ndarray, " horizon"], high_h: Float[np.ndarray, " horizon"]
) -> IntervalTable:
    """Returns a table whose factors are all 1."""
    low_h, high_h = np.asarray(low_h, np.float32), np.asarray(high_h, np.float32)
    ones = np.ones(7, np.float32)
    return IntervalTable(low_h, high_h, ones, (), np.ones(0, np.float32))


def calibrate(
    residual_odh: Float[np.ndarray, "origin depot horizon"],
    valid_odh: Bool[np.ndarray, "origin depot horizon"],
    weekday_oh: Int[np.ndarray, "origin horizon"],
    depot_ids: Sequence[str],
) -> IntervalTable:
    """Fits the intervals that contain 80 % of the residuals, shrunk towards the prior ones.

    Args:
      residual_odh: (log actual - log forecast) / spread of held-out forecasts; origins a
        day apart.
      valid_odh: Whether the residual counts: the actual is observed, and the depot has a
        history of its own.
      weekday_oh: Weekdays of the targets, Monday is 0.
      depot_ids: Depots, in the order of the depot axis.

    Raises:
      NoDataError: a horizon day has no residual.
    """
    if not valid_odh.any(axis=(0, 1)).all():
        raise NoDataError(
            "Intervals need at least one known actual for each horizon day. Load a "
            "longer history, or shorten the horizon."
        )
    valid_odh = _forecast_at_every_horizon(valid_odh)
    days = range(residual_odh.shape[2])
    columns = [residual_odh[..., h][valid_odh[..., h]] for h in days]
    low_h = np.minimum([np.quantile(column, LOW) for column in columns], -1e-6)
    high_h = np.maximum([np.quantile(column, HIGH) for column in columns], 1e-6)
    score_odh = np.where(residual_odh < 0, residual_odh / low_h, residual_odh / high_h)
    weekday_odh = np.broadcast_to(weekday_oh[:, None], valid_odh.shape)
    weekday_w = _weekday_factors(score_odh, valid_odh, weekday_odh)
    depot_d = _depot_factors(score_odh / weekday_w[weekday_odh], valid_odh)
    # A few weeks may all lie above or below their forecasts, or be unusually calm.
    weeks = len(residual_odh) / 7
    weight = weeks / (weeks + PRIOR_WEEKS)
    return IntervalTable(
        (weight * low_h + (1 - weight) * PRIOR_LOW).astype(np.float32),
        (weight * high_h + (1 - weight) * PRIOR_HIGH).astype(np.float32),
        weekday_w.astype(np.float32),
        tuple(depot_ids),
        depot_d.astype(np.float32),
    )


def scale_to_typical_days(table: IntervalTable, difficulty: float) -> IntervalTable:
    """Rescales a table fitted on days of this relative difficulty to typical days."""
    return replace(
        table,
        low_h=(table.low_h / difficulty).astype(np.float32),
        high_h=(table.high_h / difficulty).astype(np.float32),
    )


def relative_difficulty(
    score_dt: Float[np.ndarray, "depot time"],
    valid_dt: Bool[np.ndarray, "depot time"],
    days: int,
) -> float:
    """Ratio of the baseline's errors on the last days to those of a year.

    Intervals are fitted on few days, and months differ; the baseline, which is not fitted,
    measures by how much. Intervals of easy days are widened; those of hard days are kept,
    because the next days may be as hard.

    Args:
      score_dt: Absolute residuals of the baseline, in spreads.
      valid_dt: Whether the residual counts.
      days: Number of last days, compared with the last 364.

    Returns:
      Ratio of the 80 % quantiles, between 0.5 and 1; 1 where no residual counts.
    """
    year = score_dt[:, -YEAR_DAYS:][valid_dt[:, -YEAR_DAYS:]]
    recent = score_dt[:, -days:][valid_dt[:, -days:]]
    if not len(recent):
        return 1.0
    of_year, of_recent = (
        np.quantile(score_r, HIGH - LOW) for score_r in (year, recent)
    )
    if not of_year > 0:
        return 1.0
    return float(np.clip(of_recent / of_year, MIN_RELATIVE_DIFFICULTY, 1.0))


def bounds(
    table: IntervalTable,
    median_dh: Float[np.ndarray, "depot horizon"],
    spread_dh: Float[np.ndarray, "depot horizon"],
    weekday_h: Int[np.ndarray, " horizon"],
    depot_ids: Sequence[str],
    missing_d: Int[np.ndarray, " depot"] | None = None,
) -> tuple[Float[np.ndarray, "depot horizon"], Float[np.ndarray, "depot horizon"]]:
    """Returns the bounds of the 80 % interval around the median, log counts.

    Args:
      table: From `calibrate`.
      median_dh: Median, log counts.
      spread_dh: Spread of each depot and day ahead, log counts.
      weekday_h: Weekdays of the days ahead, Monday is 0.
      depot_ids: Depots, in the order of the rows.
      missing_d: Newest open days whose demand is missing. Tomorrow is forecast from an
        older day then, and is as uncertain as a day further ahead.
    """
    if missing_d is None:
        missing_d = np.zeros(len(depot_ids), int)
    low_dh = table.low_h * _stale_factors(table.low_h, missing_d)
    high_dh = table.high_h * _stale_factors(table.high_h, missing_d)
    factor_of = dict(zip(table.depot_ids, table.depot_d, strict=True))
    factor_d = np.array([factor_of.get(depot, 1.0) for depot in depot_ids], np.float32)
    width_dh = factor_d[:, None] * spread_dh * table.weekday_w[weekday_h]
    return (
        median_dh + np.maximum(low_dh * width_dh, -MAX_WIDTH),
        median_dh + np.minimum(high_dh * width_dh, MAX_WIDTH),
    )


def _stale_factors(
    quantile_h: Float32[np.ndarray, " horizon"], missing_d: Int[np.ndarray, " depot"]
) -> Float32[np.ndarray, "depot horizon"]:
    """Factors on the width by the number of missing days; 1 for none."""
    horizon = len(quantile_h)
    step_dh = np.arange(horizon) + missing_d[:, None]
    further_dh = quantile_h[np.minimum(step_dh, horizon - 1)]
    ratio_dh = np.divide(
        further_dh, quantile_h, out=np.ones_like(further_dh), where=quantile_h != 0
    )
    return np.maximum(ratio_dh, MIN_WIDENING ** missing_d[:, None]).astype(np.float32)


def _forecast_at_every_horizon(
    valid_odh: Bool[np.ndarray, "origin depot horizon"],
) -> Bool[np.ndarray, "origin depot horizon"]:
    """Keeps targets that were forecast at every horizon from H days to one.

    The first days after a fit are the targets of short horizons only: a holiday among
    them would widen those intervals and no others. Keeps all where a horizon would be left
    without any.
    """
    origins, _, horizon = valid_odh.shape
    target_oh = np.arange(origins)[:, None] + np.arange(horizon)
    kept_odh = valid_odh & (target_oh >= horizon - 1)[:, None]
    return kept_odh if kept_odh.any(axis=(0, 1)).all() else valid_odh


def _weekday_factors(
    score_odh: Float[np.ndarray, "origin depot horizon"],
    valid_odh: Bool[np.ndarray, "origin depot horizon"],
    weekday_odh: Int[np.ndarray, "origin depot horizon"],
) -> Float[np.ndarray, " 7"]:
    rows = [score_odh[valid_odh & (weekday_odh == weekday)] for weekday in range(7)]
    return np.array([_factor(score_r, WEEKDAY_DAYS) for score_r in rows])


def _depot_factors(
    score_odh: Float[np.ndarray, "origin depot horizon"],
    valid_odh: Bool[np.ndarray, "origin depot horizon"],
) -> Float[np.ndarray, " depot"]:
    depots = range(score_odh.shape[1])
    rows = [score_odh[:, depot][valid_odh[:, depot]] for depot in depots]
    return np.array([_factor(score_r, DEPOT_DAYS) for score_r in rows])


def _factor(score_r: Float[np.ndarray, " row"], days: int) -> float:
    """Factor on the width that contains 80 % of the residuals; shrunk to 1 when few.

    Args:
      score_r: Residuals divided by the half width of the interval.
      days: Number of rows that weigh as much as the pool.
    """
    if not len(score_r):
        return 1.0
    own = np.clip(np.quantile(score_r, HIGH - LOW), MIN_FACTOR, MAX_FACTOR)
    return float(own ** (len(score_r) / (len(score_r) + days)))
