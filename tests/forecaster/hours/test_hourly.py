"""Orders of each hour: means that add up, quantiles that hold, hours of the clock."""

from datetime import date
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from forecaster.hours.hourly import (
    forecast_parts,
    hours_of,
    shares_of_hours,
    shares_on_clock,
)


@pytest.mark.parametrize(
    ("orders", "concentration"), [(2.0, 50.0), (40.0, 300.0), (900.0, 5000.0)]
)
def test_quantiles_are_those_of_days_that_are_drawn(orders, concentration):
    """The oracle draws days, then shares of the day, then orders: a hundred thousand times."""
    rng = np.random.default_rng(0)
    share = np.array([0.02, 0.1, 0.38, 0.5])
    low, high = orders * 0.7, orders * 1.3
    sigma = (high - low) / 2 / 1.2815516
    day = np.rint(rng.gamma((orders / sigma) ** 2, sigma**2 / orders, 100_000))
    drawn = rng.dirichlet(concentration * share, 100_000)
    counts = np.stack([rng.binomial(day.astype(int), drawn[:, k]) for k in range(4)], 1)
    day_parts = forecast_parts(
        *np.array([[orders], [low], [high]]), share[None], concentration
    )
    np.testing.assert_allclose(day_parts.mean[0], orders * share)
    for name, level in (("p10", 0.1), ("p50", 0.5), ("p90", 0.9)):
        quantile = getattr(day_parts, name)[0]
        below = (counts < quantile).mean(axis=0)
        through = (counts <= quantile).mean(axis=0)
        assert (below <= level + 0.03).all(), name
        assert (through >= level - 0.03).all(), name


def test_quantiles_are_whole_orders_in_order_and_zero_where_nothing_comes():
    day = np.array([0.0, 3.0, 500.0])
    made = forecast_parts(
        day, day * 0.8, day * 1.2, np.tile([0.0, 0.25, 0.75], (3, 1)), 100.0
    )
    for part in (made.p10, made.p50, made.p90):
        np.testing.assert_array_equal(part, np.rint(part))
        assert (part[0] == 0).all()
        assert (part[:, 0] == 0).all()
    assert (made.p10 <= made.p50).all()
    assert (made.p50 <= made.p90).all()
    np.testing.assert_allclose(made.mean.sum(axis=-1), day)


@pytest.mark.parametrize(
    ("zone", "day", "clock"),
    [
        ("Europe/Amsterdam", date(2026, 3, 29), [0, 1, *range(3, 24)]),
        ("Europe/Amsterdam", date(2026, 10, 25), [0, 1, 2, *range(2, 24)]),
        ("Europe/Amsterdam", date(2026, 11, 25), list(range(24))),
        ("Africa/Cairo", date(2024, 4, 26), list(range(1, 24))),
        ("Asia/Kathmandu", date(2026, 11, 25), list(range(24))),
        # Clocks change by half an hour: 02:00 is 02:30, then 02:00 is 01:30.
        ("Australia/Lord_Howe", date(2024, 10, 6), list(range(24))),
        ("Australia/Lord_Howe", date(2024, 4, 7), list(range(24))),
    ],
)
def test_a_day_has_the_hours_of_its_clock(zone, day, clock):
    hours = hours_of(day, ZoneInfo(zone))
    assert [hour.hour for hour in hours] == clock
    share = shares_of_hours(shares_on_clock(np.full(24, 1 / 24), hours), hours)
    np.testing.assert_allclose(share, 1 / len(clock))
    assert len({hour.timestamp() for hour in hours}) == len(clock)
