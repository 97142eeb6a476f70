"""The invented fleet: its orders by depot and day, and the effects on them.

Shape letters as in `forecaster`, but c is a city and s a series.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import holidays
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from pipelines.demo.depots import (
    CITIES,
    LOCAL_EVENTS,
    City,
    black_friday,
    invent_depots,
    invent_events,
)

ORDERS_PER_DEPOT_DAY = 152
"""On average: two million orders for 24 depots and 548 days."""
SILENT_DAYS = 2
# Share of the average day, Monday to Sunday, and standard deviation between depots.
BUSINESS_WEEK = np.array([1.16, 1.18, 1.14, 1.16, 1.20, 0.68, 0.48])
HOME_WEEK = np.array([0.96, 0.90, 0.92, 0.98, 1.12, 1.14, 0.98])
WEEK_SPREAD = 0.05
# Share of its usual orders that a depot has on its first day, and days until it has all.
OPENING_SHARE, OPENING_DAYS = 0.4, 60

# Effects in log demand: -0.45 is 36 % fewer orders, 0.10 is 11 % more.
HOLIDAY = -0.45
QUIET_HOLIDAYS = {"Christmas Day": -1.1, "New Year's Day": -0.8, "Christmas Eve": -0.6}
DAY_BEFORE_HOLIDAY, DAY_AFTER_HOLIDAY = 0.14, 0.10
PAY_DAY = (0.10, 0.07, 0.05, 0.02)  # the day itself and three days after
BLACK_FRIDAY = (0.48, 0.22, 0.18, 0.32)  # Friday to Monday
SUMMER_LOW = 0.08
CHRISTMAS_RUSH, RUSH_DAYS = 0.20, 28

# Standard deviations of random effects on log demand, and the share of a drift that remains
# after a day.
DAY_NOISE = 0.025
CITY_DRIFT, CITY_MEMORY = 0.02, 0.80
DEPOT_DRIFT, DEPOT_MEMORY = 0.045, 0.93


@dataclass(frozen=True)
class Fleet:
    """An invented fleet.

    Attributes:
      depots: The table of `invent_depots`.
      events: The columns of events.csv.
      reported_dt: Whether a depot was open and its city's feed was not silent.
      counts_dt: Orders as first sent; 0 where not reported.
    """

    seed: int
    days: pd.DatetimeIndex
    depots: pd.DataFrame
    events: pd.DataFrame
    reported_dt: Bool[np.ndarray, "depot time"]
    counts_dt: Int[np.ndarray, "depot time"]


def invent(seed: int, n_depots: int, n_days: int, ends_on: date) -> Fleet:
    """Invents a fleet over three cities; the same arguments give the same fleet.

    Depots have 152 orders a day on average.
    """
    rng = np.random.default_rng(seed)
    days = pd.date_range(end=ends_on, periods=n_days)
    depots = invent_depots(rng, n_depots, days)
    events = invent_events(rng, depots, days)
    open_dt = _open_days(depots, events, days)
    expected_dt = np.exp(_log_demand(rng, depots, events, days)) * open_dt
    expected_dt *= ORDERS_PER_DEPOT_DAY / expected_dt.mean()
    # Wider than Poisson (negative binomial).
    noise_dt = rng.gamma(DAY_NOISE**-2, DAY_NOISE**2, expected_dt.shape)
    reported_dt = open_dt & ~_silent_days(depots, n_days)
    counts_dt = rng.poisson(expected_dt * noise_dt) * reported_dt
    return Fleet(seed, days, depots, events, reported_dt, counts_dt)


def running_day(fleet: Fleet) -> Float[np.ndarray, " depot"]:
    """Returns the expected orders of each depot on the day after the fleet's last day.

    They are the orders of a week before, adjusted for the calendar effects on both days.
    """
    week = pd.date_range(fleet.days[-7], periods=8)
    effect_dt = _calendar_effects(fleet.depots, fleet.events, week)
    is_open_d = _open_days(fleet.depots, fleet.events, week)[:, -1]
    lift_d = np.exp(effect_dt[:, -1] - effect_dt[:, 0]) * is_open_d
    return np.asarray(fleet.counts_dt[:, -7] * lift_d)


def _open_days(
    depots: pd.DataFrame, events: pd.DataFrame, days: pd.DatetimeIndex
) -> Bool[np.ndarray, "depot time"]:
    opened_on_d = pd.to_datetime(depots["opened_on"]).fillna(days[0]).to_numpy()
    open_dt = days.to_numpy() >= opened_on_d[:, None]
    no_sunday_d = (depots["closed_weekdays"] == "sun").to_numpy()
    open_dt &= ~(no_sunday_d[:, None] & (days.day_of_week == 6))
    for event in events[events["kind"] == "closed"].to_dict("records"):
        row_d = (depots["depot_id"] == event["depot_id"]).to_numpy()
        open_dt &= ~(row_d[:, None] & _during(event, days))
    return open_dt


def _silent_days(depots: pd.DataFrame, n_days: int) -> Bool[np.ndarray, "depot time"]:
    """Marks the days without a feed in the first city: after 70 % of all days, before the holdout."""
    after_t = np.arange(n_days) - n_days * 7 // 10
    is_first_d = depots["city_index"].to_numpy() == 0
    return is_first_d[:, None] & (after_t >= 0) & (after_t < SILENT_DAYS)


def _log_demand(
    rng: np.random.Generator,
    depots: pd.DataFrame,
    events: pd.DataFrame,
    days: pd.DatetimeIndex,
) -> Float[np.ndarray, "depot time"]:
    """Returns the sum of all effects on log demand, up to a constant."""
    n_days, city_d = len(days), depots["city_index"]
    residential_d1 = depots["residential"].to_numpy()[:, None]
    week_dw = residential_d1 * HOME_WEEK + (1 - residential_d1) * BUSINESS_WEEK
    week_dw = np.log(week_dw) + rng.normal(0, WEEK_SPREAD, week_dw.shape)
    growth_d1 = np.log1p(depots["growth"].to_numpy())[:, None]
    city_drift_ct = CITY_DRIFT * _drift(rng, len(CITIES), n_days, CITY_MEMORY)
    log_dt = (
        np.log(depots["size"].to_numpy())[:, None]
        + week_dw[:, days.day_of_week]
        + growth_d1 * np.arange(n_days) / 365.25
        + _opening(depots, days)
        + city_drift_ct[city_d]
        + DEPOT_DRIFT * _drift(rng, len(depots), n_days, DEPOT_MEMORY)
        + _calendar_effects(depots, events, days)
    )
    for local in LOCAL_EVENTS:
        if local.days_ago >= 0:
            is_there_d = (depots["depot_id"] == local.depot_id).to_numpy()
            log_dt[is_there_d, n_days - 1 - local.days_ago] += np.log1p(local.lift)
    return log_dt


def _calendar_effects(
    depots: pd.DataFrame, events: pd.DataFrame, days: pd.DatetimeIndex
) -> Float[np.ndarray, "depot time"]:
    """Returns the calendar's effects on log demand for consecutive days; nothing is random."""
    city_d = depots["city_index"]
    residential_d1 = depots["residential"].to_numpy()[:, None]
    holiday_ct = np.stack([_holidays(city, days) for city in CITIES])
    pay_day_ct = np.stack([_pay_days(city, days) for city in CITIES])
    log_dt = (
        _season(days)
        + _after(list(map(black_friday, days.year.unique())), BLACK_FRIDAY, days)
        # Businesses rest on holidays; homes buy on pay days.
        + holiday_ct[city_d] * (1.3 - 0.6 * residential_d1)
        + pay_day_ct[city_d] * (0.6 + 0.8 * residential_d1)
    )
    # A discount of a tenth brings a tenth more orders.
    for event in events[events["kind"] == "promotion"].to_dict("records"):
        in_city_d = (depots["city"] == event["city"]).to_numpy()
        log_dt += np.log1p(event["value"]) * in_city_d[:, None] * _during(event, days)
    return np.asarray(log_dt)


def _during(
    event: Mapping[Any, Any], days: pd.DatetimeIndex
) -> Bool[np.ndarray, " time"]:
    starts, ends = pd.Timestamp(event["starts_on"]), pd.Timestamp(event["ends_on"])
    return np.asarray((days >= starts) & (days <= ends))


def _opening(
    depots: pd.DataFrame, days: pd.DatetimeIndex
) -> Float[np.ndarray, "depot time"]:
    """Fewer orders in the first weeks of a depot that has just opened."""
    opened_on_d = pd.to_datetime(depots["opened_on"]).to_numpy()
    age_dt = (days.to_numpy() - opened_on_d[:, None]) / np.timedelta64(1, "D")
    grown_dt = (np.nan_to_num(age_dt, nan=OPENING_DAYS) / OPENING_DAYS).clip(0, 1)
    return np.log(OPENING_SHARE + (1 - OPENING_SHARE) * grown_dt)


def _season(days: pd.DatetimeIndex) -> Float[np.ndarray, " time"]:
    """A quiet summer, and a rush that grows for four weeks and ends before Christmas."""
    wave_t = np.cos(2 * np.pi * (days.day_of_year / 365.25 - 0.03))
    left_t = (23 - days.day + 31 * (12 - days.month)).to_numpy()
    rush_t = (1 - left_t / RUSH_DAYS).clip(0) * (left_t > 0)
    return np.asarray(SUMMER_LOW * wave_t + CHRISTMAS_RUSH * rush_t)


def _holidays(city: City, days: pd.DatetimeIndex) -> Float[np.ndarray, " time"]:
    """Fewer orders on public holidays, more on the open days before and after."""
    names = holidays.country_holidays(
        city.country, subdiv=city.subdivision or None, language="en_US"
    )
    around = pd.date_range(days[0] - pd.Timedelta(days=1), periods=len(days) + 2).date
    lift_t = np.array(
        [day in names and QUIET_HOLIDAYS.get(names[day], HOLIDAY) for day in around],
        float,
    )
    is_holiday_t = lift_t < 0
    before_t, after_t = is_holiday_t[2:], is_holiday_t[:-2]
    busy_t = DAY_BEFORE_HOLIDAY * before_t + DAY_AFTER_HOLIDAY * after_t
    return np.where(is_holiday_t[1:-1], lift_t[1:-1], busy_t)


def _pay_days(city: City, days: pd.DatetimeIndex) -> Float[np.ndarray, " time"]:
    """More orders on the month's pay day and, fading, on the three days after."""
    first = days[0] - pd.DateOffset(months=1)
    months = pd.period_range(first, days[-1], freq="M")
    nominal = [
        f"{month}-{min(city.pay_day, month.days_in_month):02d}" for month in months
    ]
    # A pay day on a weekend moves to the working day before.
    return _after(np.busday_offset(nominal, 0, roll="backward"), PAY_DAY, days)


def _after(
    starts: Any, lift: tuple[float, ...], days: pd.DatetimeIndex
) -> Float[np.ndarray, " time"]:
    """Returns the lift of each day: `lift[n]` on the day n days after a start, else 0."""
    lift_t = pd.Series(0.0, index=days)
    for start in starts:
        during = pd.date_range(start, periods=len(lift))
        lift_t = lift_t.add(pd.Series(lift, during).reindex(days), fill_value=0)
    return lift_t.to_numpy()


def _drift(
    rng: np.random.Generator, n_series: int, n_days: int, memory: float
) -> Float[np.ndarray, "series time"]:
    """Draws first-order autoregressive series with a standard deviation of 1."""
    level_st = rng.normal(size=(n_series, n_days))
    for step in range(1, n_days):
        fresh_s = np.sqrt(1 - memory**2) * level_st[:, step]
        level_st[:, step] = memory * level_st[:, step - 1] + fresh_s
    return level_st
