"""Outages: days without orders that nobody announced, at depots that usually have some.

A strike, a storm or a fault leaves zeros that say nothing of the days after it; a level would follow
them for a month, and a band for two. Once orders are back, such days count as not observed. Until
then they are taken as they are, because a depot may have closed for good. Zeros on and beside a
holiday or a rare event, and at the end of a year, are demand: they come again. So are the zeros of a
depot that often has none. The lab book has what this changes.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from forecaster.data.calendar import HOLIDAY, adjacent_days
from forecaster.data.dates import month_days
from forecaster.data.panel import Panel
from forecaster.data.scaling import trailing_sum

SAME_WEEKDAYS, MIN_BUSY = 4, 3
"""Number of same weekdays before an outage that are read, and minimum of busy ones."""
MIN_ORDERS = 5
"""Minimum orders of a busy day."""
BACK_DAYS, BACK_SHARE = 7, 0.5
"""Orders are back if one of the days after a run has at least this share of a usual day's."""
MANY_RUNS, MANY_DAYS = 4, 112
"""Zeros are usual at a depot that missed orders in this many runs of the days before."""
MAX_DAYS = 63
"""Maximum days from the first to the last one without orders: after more, a depot begins anew."""
RARE_DAYS, EVENT_DAYS = 14, 56
"""An event is rare if at most `RARE_DAYS` of the depot's last `EVENT_DAYS` days had one."""
YEAR_END_SINCE, YEAR_END_UNTIL = 1222, 102
"""First and last day of the end of a year, see `dates.month_days`."""
DEPOTS_PER_CHUNK = 256
"""Depots searched at once, so that memory does not grow with the fleet."""
DAYS_READ = 2 * MAX_DAYS + MANY_DAYS + 7 * (SAME_WEEKDAYS + 1) + EVENT_DAYS
"""Days before a day that tell whether it belongs to an outage."""


class _Runs(NamedTuple):
    """Runs of days that are not busy; the last step of each is `end_r`."""

    depot_r: Int[np.ndarray, " run"]
    start_r: Int[np.ndarray, " run"]
    end_r: Int[np.ndarray, " run"]


def without_outages(panel: Panel) -> Panel:
    """Returns the panel with the days of outages as not observed."""
    starts = range(0, panel.n_depots, DEPOTS_PER_CHUNK)
    chunks = (panel.of_depots(slice(n, n + DEPOTS_PER_CHUNK)) for n in starts)
    day_dt = np.concatenate([*map(find_outages, chunks)])
    if not day_dt.any():
        return panel
    return replace(
        panel, demand_dt=np.where(day_dt, np.float32(np.nan), panel.demand_dt)
    )


def find_outages(panel: Panel) -> Bool[np.ndarray, "depot time"]:
    """Whether a day belongs to an outage that is over at the panel's origin."""
    demand_dt = panel.demand_dt
    day_dt = np.zeros(demand_dt.shape, bool)
    runs = _runs_of_few_orders(demand_dt)
    depot_z, step_z = np.nonzero(demand_dt == 0)
    # Runs are in the order of their days.
    first_r = runs.depot_r * demand_dt.shape[1] + runs.start_r
    run_z = np.searchsorted(first_r, depot_z * demand_dt.shape[1] + step_z, "right") - 1
    usual_z = _usual_orders(demand_dt, depot_z, step_z, runs.start_r[run_z])
    # Of depots closed on a weekday most zeros are no evidence.
    is_missed_z = usual_z > 0
    depot_z, step_z, run_z, usual_z = (
        each[is_missed_z] for each in (depot_z, step_z, run_z, usual_z)
    )
    usual_r, last_r = np.zeros((2, len(first_r)))
    np.maximum.at(usual_r, run_z, usual_z)
    np.maximum.at(last_r, run_z, step_z)
    missed_since_r = np.full(len(first_r), np.inf)
    np.minimum.at(missed_since_r, run_z, step_z)
    is_over_r = _is_back(demand_dt, runs, usual_r) & (
        last_r - missed_since_r < MAX_DAYS
    )
    is_plain_z = ~_special_days(panel)[depot_z, step_z]
    is_missed_r = np.zeros(len(first_r), bool)
    is_missed_r[run_z[is_plain_z]] = True
    is_outage_r = is_over_r & ~_is_one_of_many(runs, is_missed_r)
    is_day_z = is_plain_z & is_outage_r[run_z]
    day_dt[depot_z[is_day_z], step_z[is_day_z]] = True
    return day_dt


def _runs_of_few_orders(demand_dt: Float[np.ndarray, "depot time"]) -> _Runs:
    """Runs of days with fewer than `MIN_ORDERS`, those not observed included."""
    is_few_dt = np.pad(~(demand_dt >= MIN_ORDERS), ((0, 0), (1, 1)))
    depot_r, start_r = np.nonzero(is_few_dt[:, 1:] & ~is_few_dt[:, :-1])
    _, end_r = np.nonzero(is_few_dt[:, :-1] & ~is_few_dt[:, 1:])
    return _Runs(depot_r, start_r, end_r - 1)


def _usual_orders(
    demand_dt: Float[np.ndarray, "depot time"],
    depot_z: Int[np.ndarray, " zero"],
    step_z: Int[np.ndarray, " zero"],
    start_z: Int[np.ndarray, " zero"],
) -> Float[np.ndarray, " zero"]:
    """Fewest orders of the busy ones among the last same weekdays before a day's run.

    0 if too few of them were busy; one may itself have been a holiday or an outage.
    """
    weeks_z = (step_z - start_z) // 7 + 1
    step_kz = step_z - 7 * (weeks_z + np.arange(SAME_WEEKDAYS)[:, None])
    value_kz = demand_dt[depot_z, np.maximum(step_kz, 0)]
    is_busy_kz = (step_kz >= 0) & (value_kz >= MIN_ORDERS)
    fewest_z = np.where(is_busy_kz, value_kz, np.inf).min(axis=0, initial=np.inf)
    return np.where(is_busy_kz.sum(axis=0) >= MIN_BUSY, fewest_z, 0.0)


def _is_back(
    demand_dt: Float[np.ndarray, "depot time"],
    runs: _Runs,
    usual_r: Float[np.ndarray, " run"],
) -> Bool[np.ndarray, " run"]:
    """Whether orders are back after a run in which some were missed."""
    step_kr = runs.end_r + 1 + np.arange(BACK_DAYS)[:, None]
    last = demand_dt.shape[1] - 1
    value_kr = demand_dt[runs.depot_r, np.minimum(step_kr, last)]
    is_enough_kr = (step_kr <= last) & (value_kr >= BACK_SHARE * usual_r)
    return (usual_r > 0) & is_enough_kr.any(axis=0)


def _special_days(panel: Panel) -> Bool[np.ndarray, "depot time_ahead"]:
    """Whether a day is a holiday, has a rare event, is beside one, or of the end of a year."""
    calendar = panel.calendar
    event_gt = np.asarray(calendar.active_gtk.any(axis=2))
    event_dt = event_gt[calendar.group_d]
    event_dt[calendar.own.depot_r, calendar.own.step_r] = True
    is_rare_dt = trailing_sum(event_dt, EVENT_DAYS, 0) <= RARE_DAYS
    special_dt = (event_dt & is_rare_dt) | calendar.of_kind(HOLIDAY)
    before_dt, after_dt = adjacent_days(special_dt)
    month_day_t = month_days(panel.days())
    is_year_end_t = (month_day_t >= YEAR_END_SINCE) | (month_day_t <= YEAR_END_UNTIL)
    return np.asarray(special_dt | before_dt | after_dt | is_year_end_t)


def _is_one_of_many(
    runs: _Runs, is_missed_r: Bool[np.ndarray, " run"]
) -> Bool[np.ndarray, " run"]:
    """Whether a run in which orders are missed comes after `MANY_RUNS` others of its depot."""
    rows = np.flatnonzero(is_missed_r)
    depot_r, start_r = runs.depot_r[rows], runs.start_r[rows]
    before = np.maximum(np.arange(len(rows)) - MANY_RUNS, 0)
    is_many_r = (np.arange(len(rows)) >= MANY_RUNS) & (depot_r[before] == depot_r)
    is_many_r &= start_r - start_r[before] <= MANY_DAYS
    is_one_of_many_r = np.zeros(len(is_missed_r), bool)
    is_one_of_many_r[rows[is_many_r]] = True
    return is_one_of_many_r
