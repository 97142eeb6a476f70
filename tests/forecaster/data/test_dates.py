"""Weekdays, months and years of arrays of days equal those of `date`."""

from calendar import monthrange
from datetime import date

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forecaster.data.dates import month_days, month_phases, weekdays, year_phases

DAYS = st.lists(
    st.dates() | st.sampled_from([date(2023, 12, 31), date(2024, 12, 31)]),
    min_size=1,
    max_size=20,
)


def as_array(days: list[date]) -> np.ndarray:
    return np.array(days, "datetime64[D]")


@given(DAYS)
def test_weekdays_and_month_days_are_those_of_the_calendar(days: list[date]) -> None:
    day_t = as_array(days)
    assert weekdays(day_t).tolist() == [day.weekday() for day in days]
    assert month_days(day_t).tolist() == [int(f"{day:%m%d}") for day in days]


@given(DAYS)
def test_phases_are_shares_of_the_month_and_of_a_mean_year(days: list[date]) -> None:
    day_t = as_array(days)
    of_month = [(day.day - 1) / monthrange(day.year, day.month)[1] for day in days]
    of_year = [day.timetuple().tm_yday / 365.25 for day in days]
    assert month_phases(day_t).tolist() == of_month
    assert year_phases(day_t).tolist() == of_year
