"""Weekdays, months and years of many days at once; Python's `date` is a single day."""

import numpy as np
from jaxtyping import Float, Int, Shaped

DAY, MONTH, YEAR = (np.dtype(f"datetime64[{unit}]") for unit in "DMY")
MONDAY = np.datetime64("1970-01-05")
DAYS_PER_YEAR = 365.25


def weekdays(day_t: Shaped[np.ndarray, " time"]) -> Int[np.ndarray, " time"]:
    """Weekday of each day, Monday is 0."""
    return (day_t - MONDAY).astype(int) % 7


def month_days(day_t: Shaped[np.ndarray, " time"]) -> Int[np.ndarray, " time"]:
    """Month and day of the month as one number: 1225 is the 25th of December."""
    month_t = day_t.astype(MONTH)
    month_of_year_t = (month_t - month_t.astype(YEAR)).astype(int) + 1
    return 100 * month_of_year_t + (day_t - month_t).astype(int) + 1


def year_phases(day_t: Shaped[np.ndarray, " time"]) -> Float[np.ndarray, " time"]:
    """Day of the year, from 1, as a share of a mean year."""
    return ((day_t - day_t.astype(YEAR)).astype(int) + 1) / DAYS_PER_YEAR


def month_phases(day_t: Shaped[np.ndarray, " time"]) -> Float[np.ndarray, " time"]:
    """Day of the month, from 0, as a share of that month."""
    month_t = day_t.astype(MONTH)
    first_t = month_t.astype(DAY)
    n_days_t = (month_t + 1).astype(DAY) - first_t
    return (day_t - first_t) / n_days_t
