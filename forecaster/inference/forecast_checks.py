"""Sanity checks of a new model's forecast: finite, in range, close to the champion's.

Scores measure how good a model is; these checks catch gross faults. The limits lie far
outside of the differences between good models.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from forecaster.data.outages import without_outages
from forecaster.data.panel import Panel
from forecaster.inference.infer import CLOSED, Forecast

YEAR_DAYS = 366
MIN_HISTORY_DAYS = 28
MAX_RATIO = 10.0
"""Maximum ratio of a depot's p90 to its largest day of the year."""
MAX_FLEET_RATIO = 5.0
"""Maximum ratio of the fleet's mean day ahead to its recent mean day, or the inverse."""
MAX_CHAMPION_RATIO = 3.0
"""Maximum ratio of a depot's or the fleet's forecast to the champion's, or the inverse."""
MAX_APART_SHARE = 0.1
"""Maximum share of depots that may exceed `MAX_CHAMPION_RATIO`."""
FEW_ORDERS = 20.0
"""Orders added to both sides of a ratio, because small counts have large ratios."""
PARITY_LIMIT = 1e-5
"""Maximum difference between NumPy and Flax, log counts."""


class Check(NamedTuple):
    """Result of one check; stored and printed under these names."""

    name: str
    passed: bool
    says: str


def run_checks(
    candidate: Forecast, champion: Forecast | None, panel: Panel, parity_error: float
) -> list[Check]:
    """Checks a new model's forecast before it is published.

    The champion's forecast is of the same panel; `parity_error` is from the new model's export.
    """
    checks = [_finite(candidate), _parity(parity_error)]
    if not checks[0].passed:
        return checks
    # As in the forecast, an outage that is over says nothing of the days ahead.
    panel = without_outages(panel)
    checks += [_depots_in_range(candidate, panel), _fleet_in_range(candidate, panel)]
    if champion is not None:
        checks.append(_like_champion(candidate, champion))
    return checks


def _finite(candidate: Forecast) -> Check:
    n_invalid = sum(int((~valid).sum()) for valid in _in_order(candidate))
    message = "every number is finite and every interval in order"
    if n_invalid:
        message = f"{n_invalid} numbers are not finite, or not 0 ≤ p10 ≤ p50 ≤ p90"
    return Check("finite", not n_invalid, message)


def _in_order(candidate: Forecast) -> Iterator[np.ndarray]:
    """Whether each interval, of depots and of totals, is finite and in order."""
    totals = [(total.p10_h, total.p50_h, total.p90_h) for total in candidate.totals]
    for p10, p50, p90 in [
        (candidate.p10_dh, candidate.p50_dh, candidate.p90_dh),
        *totals,
    ]:
        # False for NaN, too.
        yield (p10 >= 0) & (p10 <= p50) & (p50 <= p90) & np.isfinite(p90)


def _parity(error: float) -> Check:
    message = f"NumPy and Flax differed by {error:.0e} log counts at export"
    return Check("parity", bool(error <= PARITY_LIMIT), message)


def _depots_in_range(candidate: Forecast, panel: Panel) -> Check:
    recent_dt = panel.last(YEAR_DAYS).demand_dt
    has_history_d = np.isfinite(recent_dt).sum(axis=1) >= MIN_HISTORY_DAYS
    largest_d = np.nan_to_num(recent_dt, nan=0.0).max(axis=1)
    limit_d = MAX_RATIO * largest_d + FEW_ORDERS
    over_d = has_history_d & (candidate.p90_dh > limit_d[:, None]).any(axis=1)
    message = f"no depot is above {MAX_RATIO:.0f} times its largest day of the year"
    if over_d.any():
        names = ", ".join(np.array(panel.depot_ids)[over_d][:5])
        message = (
            f"{int(over_d.sum())} depots are forecast at more than {MAX_RATIO:.0f} times "
            f"their largest day of the year, such as {names}"
        )
    return Check("range", not over_d.any(), message)


def _fleet_in_range(candidate: Forecast, panel: Panel) -> Check:
    recent_dt = panel.last(MIN_HISTORY_DAYS).demand_dt
    known_d = np.isfinite(recent_dt).sum(axis=1)
    open_dh = (candidate.basis_dh != CLOSED) & (known_d > 0)[:, None]
    if not open_dh.any():
        return Check("fleet", True, "no recent day or no open day ahead to compare")
    # Both means weigh a depot by its open days ahead: it may have few known days, or close.
    recent_d = np.nansum(recent_dt, axis=1, dtype=float) / np.maximum(known_d, 1)
    before = float(np.average(recent_d, weights=open_dh.sum(axis=1)))
    ratio = (float(candidate.p50_dh[open_dh].mean()) + 1.0) / (before + 1.0)
    message = f"an open day ahead has {ratio:.2f} times the orders of a recent one"
    return Check("fleet", 1 / MAX_FLEET_RATIO <= ratio <= MAX_FLEET_RATIO, message)


def _like_champion(candidate: Forecast, champion: Forecast) -> Check:
    steps = min(candidate.p50_dh.shape[1], champion.p50_dh.shape[1])
    candidate_d, champion_d = (
        forecast.p50_dh[:, :steps].sum(axis=1) + FEW_ORDERS
        for forecast in (candidate, champion)
    )
    apart_d = np.abs(np.log(candidate_d / champion_d)) > np.log(MAX_CHAMPION_RATIO)
    fleet = float(candidate_d.sum() / champion_d.sum())
    message = (
        f"{int(apart_d.sum())} of {len(apart_d)} depots are more than "
        f"{MAX_CHAMPION_RATIO:.0f} times the champion's forecast, or less than a third; the fleet is "
        f"{fleet:.2f} times"
    )
    fits = (
        apart_d.mean() <= MAX_APART_SHARE
        and 1 / MAX_CHAMPION_RATIO <= fleet <= MAX_CHAMPION_RATIO
    )
    return Check("champion", bool(fits), message)
