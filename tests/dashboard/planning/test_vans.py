"""Vans from forecasts, against plain loops and against every possible split."""

import math
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from dashboard.planning import vans

CAPACITY = 30.0


@pytest.fixture
def forecasts(rng):
    p50 = rng.uniform(5, 200, 4)
    return p50 * rng.uniform(0.5, 0.95, 4), p50, p50 * rng.uniform(1.05, 1.8, 4)


def needed_by_level(quantiles, capacity, level):
    orders = vans.quantile_orders(*quantiles, level)
    return vans.vans_for(orders, capacity)


def undelivered(cases, n_vans):
    """Expected undelivered orders, one case after another."""
    left = [max(orders - CAPACITY * n_vans, 0.0) for orders in cases]
    return sum(left) / len(left)


@pytest.mark.parametrize(("share", "which"), [(0.1, 0), (0.5, 1), (0.9, 2)])
def test_the_distribution_holds_the_three_quantiles(forecasts, share, which):
    np.testing.assert_allclose(
        vans.quantile_orders(*forecasts, share), forecasts[which]
    )


def test_cases_are_equally_likely_draws_of_the_distribution(forecasts):
    drawn = vans.cases(*forecasts)
    for share in (0.1, 0.25, 0.5, 0.9):
        below = (drawn <= vans.quantile_orders(*forecasts, share)[:, None]).mean(axis=1)
        np.testing.assert_allclose(below, share, atol=0.5 / vans.N_CASES + 1e-9)


def test_a_closed_day_needs_no_vans():
    nothing = np.zeros(2)
    assert needed_by_level([nothing] * 3, 30, 0.99).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("p50", "level", "expected"),
    [
        pytest.param(60.0, 0.5, 2, id="exactly two full vans"),
        pytest.param(60.5, 0.5, 3, id="a little more"),
        pytest.param(60.0, 0.9, 3, id="nine days in ten"),
        pytest.param(0.4, 0.5, 1, id="hardly any order"),
    ],
)
def test_a_service_level_needs_the_fewest_vans_that_reach_it(p50, level, expected):
    rows = [np.array([p50 * factor]) for factor in (0.8, 1.0, 1.2)]
    assert needed_by_level(rows, CAPACITY, level).tolist() == [expected]


@pytest.mark.parametrize("seed", range(8))
def test_no_allocation_delivers_more_orders(seed):
    """Of the first vans of the order, whatever their number."""
    rng = np.random.default_rng(seed)
    p50 = rng.uniform(0, 120, 3)
    drawn = vans.cases(p50 * 0.7, p50, p50 * rng.uniform(1.1, 2.0, 3))
    order = vans.allocation_order(drawn, CAPACITY)
    most = vans.vans_for(drawn[:, -1], CAPACITY)
    assert np.bincount(order, minlength=3).tolist() == most.tolist()
    for n_vans in range(min(len(order), 12) + 1):
        allocated = np.bincount(order[:n_vans], minlength=3)
        mine = sum(undelivered(drawn[row], allocated[row]) for row in range(3))
        best = min(
            sum(undelivered(drawn[row], each[row]) for row in range(3))
            for each in product(range(n_vans + 1), repeat=3)
            if sum(each) == n_vans
        )
        assert mine == pytest.approx(best)


def test_equal_depots_get_equal_vans():
    rows = [np.full(3, value) for value in (80.0, 100.0, 120.0)]
    order = vans.allocation_order(vans.cases(*rows), CAPACITY)
    assert sorted(np.bincount(order[:7]).tolist()) == [2, 2, 3]


def test_the_delivery_probability_is_that_of_enough_vans():
    rows = [np.array([90.0]), np.array([100.0]), np.array([111.0])]
    drawn = vans.cases(*rows)
    chance = vans.delivery_probability(drawn, 111.0, np.array([1]))
    assert chance[0] == pytest.approx(0.9, abs=0.01)
    log = np.log1p([100.0, 111.0])
    sigma = (log[1] - log[0]) / NormalDist().inv_cdf(0.9)
    expected = NormalDist(log[0], sigma).cdf(np.log1p(105.0))
    some = vans.delivery_probability(drawn, 105.0, np.array([1]))
    assert some[0] == pytest.approx(expected, abs=0.01)
    assert vans.undelivered(drawn, 1000.0, np.array([1])).tolist() == [0.0]


FIVE = np.full(5, 200.0)


def band(width):
    total = FIVE.sum()
    return total - width / 2, total + width / 2


@pytest.mark.parametrize(
    ("total_width", "expected"),
    [
        pytest.param(40 * math.sqrt(5), 0.0, id="depots that have nothing in common"),
        pytest.param(40 * 5, 1.0, id="depots that move together"),
        pytest.param(10.0, 0.0, id="narrower than chance allows"),
        pytest.param(900.0, 1.0, id="wider than the depots' bands"),
        pytest.param(40 * math.sqrt(5 + 20 * 0.25), 0.25, id="in between"),
    ],
)
def test_the_correlation_gives_the_total_its_band(total_width, expected):
    width_r = np.full(5, 40.0)
    assert vans.correlation(width_r, band(total_width)) == pytest.approx(expected)


def test_depots_keep_their_quantiles_and_the_total_its_band():
    case_rs = vans.sample_orders(FIVE - 20, FIVE, FIVE + 20, band(120.0))
    low, middle, high = np.quantile(case_rs, [0.1, 0.5, 0.9], axis=1)
    np.testing.assert_allclose(low, 180, atol=4)
    np.testing.assert_allclose(middle, 200, atol=4)
    np.testing.assert_allclose(high, 220, atol=4)
    low, high = np.quantile(case_rs.sum(axis=0), [0.1, 0.9])
    assert high - low == pytest.approx(120.0, rel=0.1)


def test_the_same_forecast_always_has_the_same_chance():
    first, second = (
        vans.sample_orders(FIVE - 20, FIVE, FIVE + 20, None) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_the_chance_counts_the_scenarios_that_the_vans_carry():
    case_rs = np.array([[10.0, 20.0, 30.0, 31.0], [10.0, 10.0, 10.0, 10.0]])
    # Vans of ten orders: 2, 3, 4 and 5 are needed, because a van serves one depot.
    for n_vans, expected in ((1, 0.0), (2, 0.25), (4, 0.75), (5, 1.0)):
        assert vans.city_delivery_probability(case_rs, 10.0, n_vans) == expected


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.99])
def test_the_vans_needed_are_the_fewest_that_reach_the_level(rng, level):
    p50 = rng.uniform(30, 300, 6)
    case_rs = vans.sample_orders(0.8 * p50, p50, 1.3 * p50, None)
    needed = vans.vans_needed(case_rs, 25.0, level)
    assert vans.city_delivery_probability(case_rs, 25.0, needed) >= level
    assert vans.city_delivery_probability(case_rs, 25.0, needed - 1) < level


def test_a_closed_city_needs_no_vans():
    nothing = np.zeros(2)
    case_rs = vans.sample_orders(nothing, nothing, nothing, (0.0, 0.0))
    assert vans.vans_needed(case_rs, 25.0, 0.99) == 0
    assert vans.vans_for(case_rs, 25.0).sum() == 0
