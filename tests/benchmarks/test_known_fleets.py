"""Invented fleets show what they say they show."""

import numpy as np
import pytest

from tests.benchmarks.known_fleets import bookings


@pytest.fixture(scope="module")
def fleet():
    return bookings(5)


def deviations(values_dt):
    """Of log values from their depot's usual weekday, over whole weeks, not observed as 0."""
    weeks = np.log1p(values_dt[:, : values_dt.shape[1] // 7 * 7].reshape(50, -1, 7))
    return np.nan_to_num(weeks - np.nanmedian(weeks, axis=1, keepdims=True)).ravel()


def correlation(fleet, name, days):
    known_dt = fleet.signals.named([name]).known_ahead(days)[0, :, : fleet.n_steps]
    pair = deviations(known_dt), deviations(fleet.demand_dt)
    return np.corrcoef(*pair)[0, 1]


def test_bookings_tell_of_the_day_the_more_the_nearer_it_is(fleet):
    one, three, seven = (correlation(fleet, "booked", days) for days in (1, 3, 7))
    assert one > 0.75
    assert one > three > seven > 0.5


def test_wind_tells_nothing(fleet):
    assert abs(correlation(fleet, "wind", 1)) < 0.03


def test_each_is_known_so_many_days_ahead(fleet):
    signals, known = fleet.signals, slice(0, fleet.n_steps)
    assert signals.names == ("booked", "wind")
    for days, booked, wind in ((8, 0, 0), (7, 1, 0), (6, 1, 0), (5, 1, 1), (1, 1, 1)):
        share_s = np.isfinite(signals.known_ahead(days)[:, :, known]).mean(axis=(1, 2))
        np.testing.assert_array_equal(share_s, [booked, wind])
