"""Outages: days without orders that nobody announced, at depots that usually have some.

A strike, a storm or a fault leaves zeros that say nothing of the days after it; a level would follow
them for a month, and a band for two. Once orders are back, such days count as not observed. Until
then they are taken as they are, because a depot may have closed for good. Zeros of a holiday, an event
or the end of a year are demand: they come again. So are those of a depot that often has none.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from forecaster.data.calendar import adjacent_days
from forecaster.data.dates import month_days
from forecaster.data.effect_columns import RARE_SHARE
from forecaster.data.panel import Panel

SAME_WEEKDAYS, MIN_KNOWN = 4, 3
"""Number of same weekdays before an outage that are read, and minimum of known ones."""
MIN_ORDERS = 5
"""Minimum orders on each of these weekdays: a day without any is then no chance."""
BACK_DAYS, BACK_SHARE = 7, 0.5
"""Orders are back once one of so many days after has at least this share of a usual day's."""
MANY_RUNS, MANY_DAYS = 4, 112
"""A depot with more runs of such days in so many days often has none."""
MAX_DAYS = 63
"""Days of the longest outage: after more, a depot begins anew."""
YEAR_END_SINCE, YEAR_END_UNTIL = 1222, 102
"""First and last day of the end of a year, see `dates.month_days`."""
DAYS_READ = MAX_DAYS + MANY_DAYS + 7 * (SAME_WEEKDAYS + 1)
"""Days before a day that tell whether it belongs to an outage."""


class _Runs(NamedTuple):
    """Runs of days without orders; the last step of each is `end_r`."""

    depot_r: Int[np.ndarray, " run"]
    start_r: Int[np.ndarray, " run"]
    end_r: Int[np.ndarray, " run"]


class Outages(NamedTuple):
    """Days of outages, and the steps from which these are known to be over."""

    day_dt: Bool[np.ndarray, "depot time"]
    over_r: Int[np.ndarray, " outage"]


def without_outages(panel: Panel) -> Panel:
    """Returns the panel with the days of outages as not observed."""
    day_dt = find_outages(panel).day_dt
    if not day_dt.any():
        return panel
    return replace(
        panel, demand_dt=np.where(day_dt, np.float32(np.nan), panel.demand_dt)
    )


def find_outages(panel: Panel) -> Outages:
    """Finds the outages that are over at the panel's origin."""
    demand_dt = panel.demand_dt
    day_dt = np.zeros(demand_dt.shape, bool)
    runs = _runs_without_orders(demand_dt)
    depot_z, step_z = np.nonzero(demand_dt == 0)
    # Runs are in the order of their days.
    first_r = runs.depot_r * demand_dt.shape[1] + runs.start_r
    run_z = np.searchsorted(first_r, depot_z * demand_dt.shape[1] + step_z, "right") - 1
    usual_z = _usual_orders(demand_dt, depot_z, step_z, runs.start_r[run_z])
    usual_r = np.zeros(len(first_r))
    np.maximum.at(usual_r, run_z, usual_z)
    over_r = _over_since(demand_dt, runs, usual_r)
    is_outage_r = (over_r >= 0) & (runs.end_r - runs.start_r < MAX_DAYS)
    is_outage_r &= ~_is_one_of_many(runs, usual_r > 0)
    is_day_z = is_outage_r[run_z] & (usual_z > 0)
    is_day_z &= ~_special_days(panel)[depot_z, step_z]
    day_dt[depot_z[is_day_z], step_z[is_day_z]] = True
    return Outages(day_dt, over_r[np.unique(run_z[is_day_z])])


def _runs_without_orders(demand_dt: Float[np.ndarray, "depot time"]) -> _Runs:
    """Runs of days without orders, those not observed included."""
    is_empty_dt = np.pad(~(demand_dt > 0), ((0, 0), (1, 1)))
    depot_r, start_r = np.nonzero(is_empty_dt[:, 1:] & ~is_empty_dt[:, :-1])
    _, end_r = np.nonzero(is_empty_dt[:, :-1] & ~is_empty_dt[:, 1:])
    return _Runs(depot_r, start_r, end_r - 1)


def _usual_orders(
    demand_dt: Float[np.ndarray, "depot time"],
    depot_z: Int[np.ndarray, " zero"],
    step_z: Int[np.ndarray, " zero"],
    start_z: Int[np.ndarray, " zero"],
) -> Float[np.ndarray, " zero"]:
    """Fewest orders on the last same weekdays before the run of each day; 0 if that is no evidence."""
    weeks_z = (step_z - start_z) // 7 + 1
    step_kz = step_z - 7 * (weeks_z + np.arange(SAME_WEEKDAYS)[:, None])
    value_kz = demand_dt[depot_z, np.maximum(step_kz, 0)]
    is_known_kz = (step_kz >= 0) & np.isfinite(value_kz)
    fewest_z = np.where(is_known_kz, value_kz, np.inf).min(axis=0, initial=np.inf)
    is_usual_z = is_known_kz.sum(axis=0) >= MIN_KNOWN
    return np.where(is_usual_z & (fewest_z >= MIN_ORDERS), fewest_z, 0.0)


def _over_since(
    demand_dt: Float[np.ndarray, "depot time"],
    runs: _Runs,
    usual_r: Float[np.ndarray, " run"],
) -> Int[np.ndarray, " run"]:
    """Step at which orders are back; -1 where they are not, or where nobody misses any."""
    step_kr = runs.end_r + 1 + np.arange(BACK_DAYS)[:, None]
    last = demand_dt.shape[1] - 1
    value_kr = demand_dt[runs.depot_r, np.minimum(step_kr, last)]
    is_back_kr = (step_kr <= last) & (value_kr >= BACK_SHARE * usual_r) & (usual_r > 0)
    return np.where(is_back_kr.any(axis=0), step_kr[0] + is_back_kr.argmax(axis=0), -1)


def _special_days(panel: Panel) -> Bool[np.ndarray, "depot time_ahead"]:
    """Whether a day is a holiday, a rare event, beside one, or of the end of a year."""
    calendar = panel.calendar
    shares = [calendar.share_of_days(kind, panel.n_steps) for kind in calendar.kinds]
    rare_k = np.flatnonzero([share <= RARE_SHARE for share in shares])
    special_gt = np.asarray(calendar.active_gtk[..., rare_k].any(axis=2))
    special_dt = special_gt[calendar.group_d]
    own = calendar.own.rows(np.isin(calendar.own.kind_r, rare_k))
    special_dt[own.depot_r, own.step_r] = True
    before_dt, after_dt = adjacent_days(special_dt)
    month_day_t = month_days(panel.days())
    is_year_end_t = (month_day_t >= YEAR_END_SINCE) | (month_day_t <= YEAR_END_UNTIL)
    return np.asarray(special_dt | before_dt | after_dt | is_year_end_t)


def _is_one_of_many(
    runs: _Runs, is_missed_r: Bool[np.ndarray, " run"]
) -> Bool[np.ndarray, " run"]:
    """Whether a run in which orders are missed comes after many others of its depot."""
    rows = np.flatnonzero(is_missed_r)
    depot_r, start_r = runs.depot_r[rows], runs.start_r[rows]
    before = np.maximum(np.arange(len(rows)) - MANY_RUNS, 0)
    is_many_r = (np.arange(len(rows)) >= MANY_RUNS) & (depot_r[before] == depot_r)
    is_many_r &= start_r - start_r[before] <= MANY_DAYS
    found_r = np.zeros(len(is_missed_r), bool)
    found_r[rows[is_many_r]] = True
    return found_r
