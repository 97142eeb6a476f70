"""Whether what a new model says may be shown: finite, in range, like the champion.

Its scores say how good it is; this says that nothing is grossly wrong with it. So the
limits lie far outside of what good models differ by.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from forecaster.data.panel import Panel
from forecaster.inference.infer import CLOSED, Forecast

YEAR = 366
RECENT = 28
REACH = 10.0
"""A depot's p90 may be so many times its largest day of the year."""
FLEET_REACH = 5.0
"""The fleet's mean day ahead may be so many times its recent mean day, or a part of it."""
DEPOT_REACH = 3.0
"""A depot's days ahead may be so many times what the champion says, or a part of it."""
MOST_APART = 0.1
"""Share of depots that may be further apart from the champion than that."""
FEW_ORDERS = 20.0
"""Added before sizes are compared: few orders are often many times fewer."""
PARITY_LIMIT = 1e-5
"""NumPy and Flax may differ by so much, in log counts."""


class Check(NamedTuple):
    """One thing that was looked at, and what was found."""

    name: str
    passed: bool
    says: str


def run_checks(
    said: Forecast, shown: Forecast | None, panel: Panel, parity_error: float
) -> list[Check]:
    """Looks at a forecast before anybody else does.

    Args:
      said: By the new model.
      shown: By the champion, of the same panel; None where there is none.
      panel: That both were made from.
      parity_error: Of the new model, as its export measured it.
    """
    found = [_finite(said), _parity(parity_error)]
    if not found[0].passed:
        return found
    found += [_depots_in_range(said, panel), _fleet_in_range(said, panel)]
    if shown is not None:
        found.append(_like_champion(said, shown))
    return found


def _finite(said: Forecast) -> Check:
    wrong = sum(int((~good).sum()) for good in _in_order(said))
    if wrong:
        says = f"{wrong} numbers are not finite, or not 0 ≤ p10 ≤ p50 ≤ p90"
        return Check("finite", False, says)
    return Check("finite", True, "every number is finite and every band in order")


def _in_order(said: Forecast) -> Iterator[np.ndarray]:
    totals = [(each.p10_h, each.p50_h, each.p90_h) for each in said.totals]
    for p10, p50, p90 in [(said.p10_dh, said.p50_dh, said.p90_dh), *totals]:
        # False for NaN, too.
        yield (p10 >= 0) & (p10 <= p50) & (p50 <= p90) & np.isfinite(p90)


def _parity(error: float) -> Check:
    says = f"NumPy and Flax differed by {error:.0e} log counts at export"
    return Check("parity", bool(error <= PARITY_LIMIT), says)


def _depots_in_range(said: Forecast, panel: Panel) -> Check:
    recent_dt = panel.last(YEAR).demand_dt
    known_d = np.isfinite(recent_dt).sum(axis=1) >= RECENT
    largest_d = np.nan_to_num(recent_dt, nan=0.0).max(axis=1)
    limit_d = REACH * largest_d + FEW_ORDERS
    over_d = known_d & (said.p90_dh > limit_d[:, None]).any(axis=1)
    if over_d.any():
        names = ", ".join(np.array(panel.depot_ids)[over_d][:5])
        says = (
            f"{int(over_d.sum())} depots are forecast at more than {REACH:.0f} times "
            f"their largest day of the year, such as {names}"
        )
        return Check("range", False, says)
    return Check(
        "range",
        True,
        f"no depot is above {REACH:.0f} times its largest day of the year",
    )


def _fleet_in_range(said: Forecast, panel: Panel) -> Check:
    recent_dt = panel.last(RECENT).demand_dt
    known_d = np.isfinite(recent_dt).any(axis=1)
    open_dh = said.basis_dh != CLOSED
    ahead = said.p50_dh[known_d][open_dh[known_d]]
    if not known_d.any() or not ahead.size:
        return Check("fleet", True, "no recent day, or none ahead, to compare")
    # A mean of depot-days, so that closed ones weigh nothing.
    before = float(np.nanmean(recent_dt[known_d]))
    times = (float(ahead.mean()) + 1.0) / (before + 1.0)
    says = f"an open day ahead has {times:.2f} times the orders of a recent one"
    return Check("fleet", 1 / FLEET_REACH <= times <= FLEET_REACH, says)


def _like_champion(said: Forecast, shown: Forecast) -> Check:
    steps = min(said.p50_dh.shape[1], shown.p50_dh.shape[1])
    ours_d, theirs_d = (
        each.p50_dh[:, :steps].sum(axis=1) + FEW_ORDERS for each in (said, shown)
    )
    apart_d = np.abs(np.log(ours_d / theirs_d)) > np.log(DEPOT_REACH)
    fleet = float(ours_d.sum() / theirs_d.sum())
    says = (
        f"{int(apart_d.sum())} of {len(apart_d)} depots are more than "
        f"{DEPOT_REACH:.0f} times what the champion says, or a part; the fleet is "
        f"{fleet:.2f} times"
    )
    fits = apart_d.mean() <= MOST_APART and 1 / DEPOT_REACH <= fleet <= DEPOT_REACH
    return Check("champion", bool(fits), says)
