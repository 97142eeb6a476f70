"""A city's plan: vans and drivers for each depot and day. Tables in, tables out."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dashboard.planning import overrides, staffing

BY_LEVEL, BY_COST = "Service level", "Costs"
UNKNOWN_CAPACITY = 100
"""Orders a van carries where nothing is known of vans."""


@dataclass(frozen=True)
class Assumptions:
    """What a plan rests on beside the forecast.

    Attributes:
      capacity: Orders that a van carries per day.
      vans: Of the city, each day; None where nobody told: as many as are needed.
      level: Share of days on which all orders shall be carried; None to go by costs.
      per_order: Cost of one order too many for the vans.
      per_idle_van: Cost of one van that stands idle for a day.
      drivers_per_van: On a day.
    """

    capacity: float
    vans: int | None
    level: float | None
    per_order: float = 0.0
    per_idle_van: float = 0.0
    drivers_per_van: float = 1.0


def own_vans(here: pd.DataFrame) -> int | None:
    """The vans that a city's depots are known to have; None where that is told of none.

    Args:
      here: The city's rows of `queries.fleet_week`.
    """
    known = here.drop_duplicates("depot_id")["vans"].dropna()
    return None if known.empty else int(known.sum())


def usual_capacity(here: pd.DataFrame) -> int:
    """Orders a van carries if the city's vans suffice on its busiest day ahead.

    It is where a planner begins who has not said what a van carries.

    Args:
      here: The city's rows of `queries.fleet_week`.
    """
    vans = own_vans(here)
    busiest = here.groupby("target_on")["p90"].sum().max()
    return max(int(np.ceil(busiest / vans)), 1) if vans else UNKNOWN_CAPACITY


def make(
    week: pd.DataFrame, touched: pd.DataFrame, assumed: Assumptions
) -> pd.DataFrame:
    """Vans for every depot and day of one city.

    Args:
      week: The city's rows of `queries.fleet_week`.
      touched: `queries.overrides_ahead`.
      assumed: See there.

    Returns:
      The columns of `week` with p10, p50 and p90 moved to what planners set, and:
      forecast (the median before), is_set, is_locked, reason, made_by, needed (vans),
      given (vans of the city's), drivers, left_over (orders that those vans are expected
      not to carry), enough (chance that they carry all).
    """
    planned = _with_overrides(week, touched)
    quantiles = [planned[name].to_numpy(float) for name in ("p10", "p50", "p90")]
    case_rs = staffing.cases(*quantiles)
    needed_r, next_rv = _needed(quantiles, case_rs, assumed)
    given_r = np.zeros_like(needed_r)
    for rows in planned.groupby("target_on").indices.values():
        vans = int(needed_r[rows].sum()) if assumed.vans is None else assumed.vans
        given_r[rows] = staffing.split(next_rv[rows], needed_r[rows], vans)
    return planned.assign(
        needed=needed_r,
        given=given_r,
        drivers=np.ceil(given_r * assumed.drivers_per_van - 1e-9).astype(int),
        left_over=staffing.left_over(case_rs, assumed.capacity, given_r),
        enough=staffing.chance_of_enough(case_rs, assumed.capacity, given_r),
    )


def by_day(plan: pd.DataFrame, assumed: Assumptions) -> pd.DataFrame:
    """The plan's totals: target_on, p50, needed, given, drivers, left_over, spare vans.

    `spare` is NaN where nobody told how many vans there are.
    """
    columns = ["p50", "needed", "given", "drivers", "left_over"]
    days = plan.groupby("target_on", as_index=False)[columns].sum()
    vans = float("nan") if assumed.vans is None else assumed.vans
    return days.assign(spare=vans - days["given"])


def _needed(
    quantiles: list[np.ndarray], case_rs: np.ndarray, assumed: Assumptions
) -> tuple[np.ndarray, np.ndarray]:
    """Vans needed by each row, and what each further van is expected to carry."""
    capacity = assumed.capacity
    most = staffing.most_useful(case_rs, capacity)
    if assumed.level is None:
        next_rv = staffing.carried_by_next(case_rs, capacity, most)
        costs = (assumed.per_order, assumed.per_idle_van)
        return staffing.needed_by_cost(next_rv, capacity, *costs), next_rv
    p10_r, p50_r, p90_r = quantiles
    needed_r = staffing.needed_by_level(p10_r, p50_r, p90_r, capacity, assumed.level)
    most = max(most, int(needed_r.max(initial=0)))
    return needed_r, staffing.carried_by_next(case_rs, capacity, most)


def _with_overrides(week: pd.DataFrame, touched: pd.DataFrame) -> pd.DataFrame:
    """The forecast with its band moved to the numbers that planners set."""
    columns = ["depot_id", "target_on", "action", "orders", "reason", "made_by"]
    both = week.merge(touched[columns], on=["depot_id", "target_on"], how="left")
    is_set = both["orders"].notna()
    share = both["orders"] / both["p50"].where(both["p50"] > 0)
    moved = {
        name: (both[name] * share).fillna(both["orders"]).where(is_set, both[name])
        for name in ("p10", "p50", "p90")
    }
    return both.assign(
        **moved,
        forecast=both["p50"],
        is_set=is_set,
        is_locked=both["action"] == overrides.LOCK,
    )
