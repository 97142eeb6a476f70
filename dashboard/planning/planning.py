"""A city's plan: vans and drivers for each depot and day. Tables in, tables out."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dashboard.planning import overrides, staffing

BY_LEVEL, BY_COST = "Service level", "Costs"
DEFAULT_CAPACITY = 100
"""Default orders per van and day where the number of vans is not known."""
QUANTILES = ["p10", "p50", "p90"]


@dataclass(frozen=True)
class Assumptions:
    """The assumptions of a plan.

    Attributes:
      capacity: Orders that a van carries per day.
      vans: Vans of the city per day; None if not known: as many as needed.
      level: Service level, the share of days with all orders delivered; None to plan by
        costs.
      per_order: Cost of one undelivered order.
      per_idle_van: Cost of one idle van per day.
      drivers_per_van: Drivers per van and day.
    """

    capacity: float
    vans: int | None
    level: float | None
    per_order: float = 0.0
    per_idle_van: float = 0.0
    drivers_per_van: float = 1.0


def total_vans(week: pd.DataFrame) -> int | None:
    """Total vans of the depots in `queries.fleet_week`; None if no depot has a number."""
    vans = week.drop_duplicates("depot_id")["vans"].dropna()
    return None if vans.empty else int(vans.sum())


def default_capacity(week: pd.DataFrame) -> int:
    """Default orders per van: with it the vans suffice on the busiest day ahead."""
    vans = total_vans(week)
    busiest = week.groupby("target_on")["p90"].sum().max()
    return max(int(np.ceil(busiest / vans)), 1) if vans else DEFAULT_CAPACITY


def make_plan(
    week: pd.DataFrame, changes: pd.DataFrame, assumptions: Assumptions
) -> pd.DataFrame:
    """Vans for every depot and day of one city.

    Args:
      week: The city's rows of `queries.fleet_week`.
      changes: As `queries.overrides_ahead` returns it.
      assumptions: The assumptions of the plan.

    Returns:
      The columns of `week` with p10, p50 and p90 moved to what planners set, and:
      forecast (the median before), is_set, is_locked, reason, made_by, needed (vans),
      allocated (vans), drivers, undelivered (expected orders beyond their capacity),
      service_level (probability that all orders are delivered).
    """
    planned = _with_overrides(week, changes)
    p10_r, p50_r, p90_r = (planned[name].to_numpy(float) for name in QUANTILES)
    capacity = assumptions.capacity
    case_rs = staffing.cases(p10_r, p50_r, p90_r)
    if assumptions.level is None:
        marginal_rv = staffing.marginal_orders(case_rs, capacity)
        costs = (assumptions.per_order, assumptions.per_idle_van)
        needed_r = staffing.needed_by_cost(marginal_rv, capacity, *costs)
    else:
        orders_r = staffing.quantile_orders(p10_r, p50_r, p90_r, assumptions.level)
        needed_r = staffing.vans_for(orders_r, capacity)
        most = int(needed_r.max(initial=0))
        marginal_rv = staffing.marginal_orders(case_rs, capacity, most)
    allocated_r = np.zeros_like(needed_r)
    for rows in planned.groupby("target_on").indices.values():
        total = int(needed_r[rows].sum())
        vans = total if assumptions.vans is None else assumptions.vans
        allocated_r[rows] = staffing.allocate(marginal_rv[rows], needed_r[rows], vans)
    return planned.assign(
        needed=needed_r,
        allocated=allocated_r,
        drivers=staffing.vans_for(allocated_r * assumptions.drivers_per_van, 1.0),
        undelivered=staffing.undelivered(case_rs, capacity, allocated_r),
        service_level=staffing.service_level(case_rs, capacity, allocated_r),
    )


def by_day(plan: pd.DataFrame, assumptions: Assumptions) -> pd.DataFrame:
    """The plan's totals: target_on, p50, needed, allocated, drivers, undelivered, spare.

    `spare` (vans) is NaN where the number of vans is not known.
    """
    columns = ["p50", "needed", "allocated", "drivers", "undelivered"]
    days = plan.groupby("target_on", as_index=False)[columns].sum()
    vans = float("nan") if assumptions.vans is None else assumptions.vans
    return days.assign(spare=vans - days["allocated"])


def _with_overrides(week: pd.DataFrame, changes: pd.DataFrame) -> pd.DataFrame:
    """The forecast with its band moved to the numbers that planners set."""
    columns = ["depot_id", "target_on", "action", "orders", "reason", "made_by"]
    both = week.merge(changes[columns], on=["depot_id", "target_on"], how="left")
    is_set = both["orders"].notna()
    ratio = both["orders"] / both["p50"].where(both["p50"] > 0)
    moved = {
        name: (both[name] * ratio).fillna(both["orders"]).where(is_set, both[name])
        for name in QUANTILES
    }
    return both.assign(
        **moved,
        forecast=both["p50"],
        is_set=is_set,
        is_locked=both["action"] == overrides.LOCK,
    )
