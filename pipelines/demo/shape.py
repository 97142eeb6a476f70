"""The orders to expect per depot and day, and the chance that makes counts of them."""

from collections.abc import Sequence
from datetime import date

import numpy as np
from jaxtyping import Bool, Float, Int

from pipelines.demo import calendar
from pipelines.demo.events import Event, days_of
from pipelines.demo.places import CITIES, Depot, Stream, random_numbers

ORDERS_PER_DEPOT_DAY = 152
"""On average over the fleet: two million for 24 depots and 548 days."""
# Monday to Sunday, as a share of the average day.
BUSINESS_WEEK = np.array([1.16, 1.18, 1.14, 1.16, 1.20, 0.68, 0.48])
HOME_WEEK = np.array([0.96, 0.90, 0.92, 0.98, 1.12, 1.14, 0.98])
WEEK_SPREAD = 0.05
RAMP_DAYS = 60
RAMP_FROM = 0.4

# Chance, as standard deviations of log demand: a day's own, beside the counting, and two
# levels that drift, of the city (weather, competitors) and of the depot.
DAY_NOISE = 0.025
CITY_LEVEL, CITY_MEMORY = 0.02, 0.80
DEPOT_LEVEL, DEPOT_MEMORY = 0.045, 0.93


def open_days(
    depots: Sequence[Depot], events: Sequence[Event], days: Sequence[date]
) -> Bool[np.ndarray, "depot time"]:
    """Whether each depot takes orders on each day."""
    open_dt = np.ones((len(depots), len(days)), bool)
    for row, depot in enumerate(depots):
        for step, day in enumerate(days):
            unborn = depot.opened_on is not None and day < depot.opened_on
            if unborn or day.isoweekday() in depot.closed_weekdays:
                open_dt[row, step] = False
    row_of = {depot.depot_id: row for row, depot in enumerate(depots)}
    for event in events:
        if event.kind == "closed" and event.depot_id is not None:
            open_dt[row_of[event.depot_id]] &= ~days_of(event, days)
    return open_dt


def expected_orders(
    seed: int,
    depots: Sequence[Depot],
    events: Sequence[Event],
    days: Sequence[date],
) -> Float[np.ndarray, "depot time"]:
    """Orders per day before the day's own chance; closed days are 0.

    Everything that moves demand multiplies, so it is added up in logs.
    """
    log_dt = (
        _week(seed, depots, days)
        + _growth(depots, days)
        + _dates(depots, days)
        + _promotions(depots, events, days)
        + _drift(seed, depots, len(days))
    )
    orders_dt = np.exp(log_dt) * open_days(depots, events, days)
    wanted = ORDERS_PER_DEPOT_DAY * orders_dt.size
    return orders_dt * (wanted / max(orders_dt.sum(), 1e-9))


def draw_counts(
    seed: int, expected_dt: Float[np.ndarray, "depot time"]
) -> Int[np.ndarray, "depot time"]:
    """Counts around what is expected, spread wider than Poisson (negative binomial)."""
    rng = random_numbers(seed, Stream.COUNTS)
    shape = 1 / DAY_NOISE**2
    return rng.poisson(expected_dt * rng.gamma(shape, 1 / shape, expected_dt.shape))


def _week(
    seed: int, depots: Sequence[Depot], days: Sequence[date]
) -> Float[np.ndarray, "depot time"]:
    rng = random_numbers(seed, Stream.LEVELS, len(CITIES))
    residential_d = np.array([depot.residential for depot in depots])[:, None]
    week_dw = residential_d * HOME_WEEK + (1 - residential_d) * BUSINESS_WEEK
    week_dw = np.log(week_dw) + rng.normal(0, WEEK_SPREAD, week_dw.shape)
    size_d = np.array([depot.size for depot in depots])[:, None]
    weekday_t = [day.weekday() for day in days]
    return np.log(size_d) + week_dw[:, weekday_t]


def _growth(
    depots: Sequence[Depot], days: Sequence[date]
) -> Float[np.ndarray, "depot time"]:
    """Steady growth, and the first weeks of a depot that has just opened."""
    year_t = np.arange(len(days)) / 365.25
    growth_d = np.log1p([depot.growth for depot in depots])[:, None]
    log_dt = growth_d * year_t
    for row, depot in enumerate(depots):
        if depot.opened_on is not None:
            age_t = np.array([(day - depot.opened_on).days for day in days])
            ramp_t = (age_t / RAMP_DAYS).clip(0, 1)
            log_dt[row] += np.log(RAMP_FROM + (1 - RAMP_FROM) * ramp_t)
    return log_dt


def _dates(
    depots: Sequence[Depot], days: Sequence[date]
) -> Float[np.ndarray, "depot time"]:
    """Businesses rest on holidays; homes buy on pay days."""
    everywhere_t = calendar.year_log_lift(days) + calendar.black_friday_log_lift(days)
    holiday_ct = np.stack([calendar.holiday_log_lift(city, days) for city in CITIES])
    pay_ct = np.stack([calendar.pay_day_log_lift(city, days) for city in CITIES])
    city_d = [depot.city.number for depot in depots]
    residential_d = np.array([depot.residential for depot in depots])[:, None]
    return (
        everywhere_t
        + holiday_ct[city_d] * (1.3 - 0.6 * residential_d)
        + pay_ct[city_d] * (0.6 + 0.8 * residential_d)
    )


def _promotions(
    depots: Sequence[Depot], events: Sequence[Event], days: Sequence[date]
) -> Float[np.ndarray, "depot time"]:
    """A discount of a tenth brings a tenth more orders, or what the depot makes of it."""
    log_dt = np.zeros((len(depots), len(days)))
    for event in events:
        if event.kind == "promotion" and event.value is not None:
            during_t = days_of(event, days)
            for row, depot in enumerate(depots):
                if depot.city.name == event.city:
                    log_dt[row] += np.log1p(event.value * depot.eagerness) * during_t
    return log_dt


def _drift(
    seed: int, depots: Sequence[Depot], n_days: int
) -> Float[np.ndarray, "depot time"]:
    """Levels that wander and return, of each city and of each depot in it."""
    shock_ct = random_numbers(seed, Stream.LEVELS, 0).normal(size=(len(CITIES), n_days))
    shock_dt = random_numbers(seed, Stream.LEVELS, 1).normal(size=(len(depots), n_days))
    city_d = [depot.city.number for depot in depots]
    city_ct = CITY_LEVEL * _remembered(shock_ct, CITY_MEMORY)
    return city_ct[city_d] + DEPOT_LEVEL * _remembered(shock_dt, DEPOT_MEMORY)


def _remembered(
    shock_dt: Float[np.ndarray, "series time"], memory: float
) -> Float[np.ndarray, "series time"]:
    """First-order autoregression with a standard deviation of 1."""
    level_dt = shock_dt.copy()
    for step in range(1, shock_dt.shape[1]):
        fresh = np.sqrt(1 - memory**2) * shock_dt[:, step]
        level_dt[:, step] = memory * level_dt[:, step - 1] + fresh
    return level_dt
