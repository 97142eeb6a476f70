"""Holidays, pay days, the year and Black Friday: what a date does to demand."""

import calendar
from collections.abc import Sequence
from datetime import date, timedelta

import holidays
import numpy as np
from jaxtyping import Float

from pipelines.demo.places import City

# All of this is in log demand: -0.45 is 36 % fewer orders, 0.10 is 11 % more.
HOLIDAY = -0.45
DEEPER = {"Christmas Day": -1.1, "New Year's Day": -0.8, "Christmas Eve": -0.6}
DAY_BEFORE, DAY_AFTER = 0.14, 0.10
PAY_DAY = (0.10, 0.07, 0.05, 0.02)
BLACK_FRIDAY = (0.48, 0.22, 0.18, 0.32)
"""From Friday to Monday."""
SUMMER_LOW = 0.08
CHRISTMAS_RUSH = 0.20
RUSH_DAYS = 28


def holiday_log_lift(city: City, days: Sequence[date]) -> Float[np.ndarray, " time"]:
    """Fewer orders on public holidays, more on the open days before and after."""
    lift_of = _public_holidays(city, days)
    lift_t = np.zeros(len(days))
    for step, day in enumerate(days):
        if day in lift_of:
            lift_t[step] = lift_of[day]
        else:
            lift_t[step] += DAY_BEFORE * (day + timedelta(days=1) in lift_of)
            lift_t[step] += DAY_AFTER * (day - timedelta(days=1) in lift_of)
    return lift_t


def _public_holidays(city: City, days: Sequence[date]) -> dict[date, float]:
    # The day after the last may lie in the next year.
    years = range(days[0].year, days[-1].year + 2)
    found = holidays.country_holidays(
        city.country, subdiv=city.subdivision or None, years=years, language="en_US"
    )
    return {day: DEEPER.get(name, HOLIDAY) for day, name in found.items()}


def pay_day_log_lift(city: City, days: Sequence[date]) -> Float[np.ndarray, " time"]:
    """More orders on pay day and, fading, on the three days after."""
    lift_t = np.zeros(len(days))
    for year, month in {(day.year, day.month) for day in _with_reach(days)}:
        paid_on = pay_day(city, year, month)
        for offset, lift in enumerate(PAY_DAY):
            step = (paid_on - days[0]).days + offset
            if 0 <= step < len(days):
                lift_t[step] += lift
    return lift_t


def _with_reach(days: Sequence[date]) -> list[date]:
    return [days[0] - timedelta(days=len(PAY_DAY)), *days]


def pay_day(city: City, year: int, month: int) -> date:
    """A month's pay day: the working day on the city's day of the month, or before it."""
    last = calendar.monthrange(year, month)[1]
    paid_on = date(year, month, city.pay_day or last)
    return paid_on - timedelta(days=max(paid_on.isoweekday() - 5, 0))


def black_friday(year: int) -> date:
    """The day after the fourth Thursday of November."""
    first = date(year, 11, 1)
    return first + timedelta(days=(3 - first.weekday()) % 7 + 22)


def black_friday_log_lift(days: Sequence[date]) -> Float[np.ndarray, " time"]:
    """More orders from Black Friday to the Monday after."""
    offset_t = np.array([(day - black_friday(day.year)).days for day in days])
    during_t = (offset_t >= 0) & (offset_t < len(BLACK_FRIDAY))
    return np.where(during_t, np.array(BLACK_FRIDAY)[offset_t * during_t], 0.0)


def year_log_lift(days: Sequence[date]) -> Float[np.ndarray, " time"]:
    """A quiet summer, and a rush that grows for four weeks and ends before Christmas."""
    turn_t = np.array([day.timetuple().tm_yday / 365.25 for day in days])
    wave_t = SUMMER_LOW * np.cos(2 * np.pi * (turn_t - 0.03))
    left_t = np.array([(date(day.year, 12, 23) - day).days for day in days])
    rush_t = np.where(left_t > 0, (1 - left_t / RUSH_DAYS).clip(0), 0)
    return wave_t + CHRISTMAS_RUSH * rush_t
