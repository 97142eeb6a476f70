"""Naive forecasts look back by whole weeks, past gaps, and never ahead."""

import numpy as np
import pytest

from forecaster.errors import CutoffError
from forecaster.naive_forecasts import (
    NAIVE_FORECASTS,
    median4,
    seasonal_naive,
    seasonal_naive_scale,
)


@pytest.mark.parametrize("horizon", [1, 7, 8, 21])
@pytest.mark.parametrize("name", ["seasonal_naive", "median4"])
def test_a_perfect_week_repeats_itself(name, horizon):
    demand = np.tile(np.arange(7.0), (2, 10))
    result = NAIVE_FORECASTS[name](demand, 63, horizon)
    np.testing.assert_array_equal(result, np.tile(np.arange(horizon) % 7, (2, 1)))


def test_median4_agrees_with_a_plain_loop(rng):
    demand = rng.poisson(20, (3, 60)).astype(float)
    result = median4(demand, 50, 9)
    for step in range(9):
        weekday = (50 + step) % 7
        past = [t for t in range(50) if t % 7 == weekday][-4:]
        np.testing.assert_allclose(result[:, step], np.median(demand[:, past], axis=1))


def test_a_gap_is_looked_past():
    demand = np.tile(np.arange(1.0, 8.0), (1, 6))
    demand[0, -7] = np.nan
    assert seasonal_naive(demand, 42, 7)[0, 0] == 1.0
    assert median4(demand, 42, 7)[0, 0] == 1.0


def test_a_depot_never_observed_is_unknown_not_zero():
    assert np.isnan(seasonal_naive(np.full((1, 30), np.nan), 30, 7)).all()
    assert np.isnan(median4(np.full((1, 30), np.nan), 30, 7)).all()


@pytest.mark.parametrize("name", ["seasonal_naive", "median4"])
def test_nothing_after_the_cutoff_is_seen(name, rng):
    demand = rng.gamma(2, 5, (4, 60))
    tampered = demand.copy()
    tampered[:, 40:] = 1e9
    one, other = (NAIVE_FORECASTS[name](each, 40, 14) for each in (demand, tampered))
    np.testing.assert_array_equal(one, other)


def test_a_cutoff_past_the_end_says_what_to_change():
    with pytest.raises(CutoffError, match=r"cutoff is 31.*number of steps \(30\)"):
        seasonal_naive(np.ones((1, 30)), cutoff=31, horizon=1)


def test_the_scale_of_mase_is_the_mean_weekly_change():
    demand = np.array([[1.0] * 7 + [3.0] * 7, [5.0] * 7 + [np.nan] * 7])
    np.testing.assert_array_equal(seasonal_naive_scale(demand), [2.0, np.nan])
