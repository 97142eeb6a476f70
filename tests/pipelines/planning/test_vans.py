"""Vans from forecasts, against plain loops and against every possible split."""

from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from pipelines.planning import vans

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
@pytest.mark.parametrize("is_known", [True, False], ids=["own vans", "not known"])
def test_no_allocation_costs_less(seed, is_known):
    """Of the first vans of the order, whatever their number: late orders, and moves."""
    rng = np.random.default_rng(seed)
    p50 = rng.uniform(0, 120, 3)
    drawn = vans.cases(p50 * 0.7, p50, p50 * rng.uniform(1.1, 2.0, 3))
    most = vans.vans_for(drawn[:, -1], CAPACITY)
    own = rng.integers(0, 5, 3) if is_known else None
    if is_known:
        most = np.minimum(most, rng.integers(1, 5, 3))
    order = vans.allocation_order(drawn, CAPACITY, own, most if is_known else None)
    assert np.bincount(order, minlength=3).tolist() == most.tolist()

    def cost(split):
        left = sum(undelivered(drawn[row], split[row]) for row in range(3))
        if own is None:
            return left
        moved = sum(max(n - has, 0) for n, has in zip(split, own, strict=True))
        return left + vans.MOVE_COST * CAPACITY * moved

    for n_vans in range(min(len(order), 12) + 1):
        allocated = np.bincount(order[:n_vans], minlength=3)
        every = product(*(range(n + 1) for n in most))
        best = min(cost(each) for each in every if sum(each) == n_vans)
        assert cost(allocated) == pytest.approx(best)


def test_a_van_stays_where_it_carries_nearly_as_much():
    """The third of A takes 20 orders of 30, that of B 22 or 24: a move is for 3 more."""
    own = np.array([3, 2])
    for orders, expected in ((82.0, [3, 2]), (84.0, [2, 3])):
        drawn = np.array([[80.0], [orders]])
        order = vans.allocation_order(drawn, CAPACITY, own)
        assert np.bincount(order[:5]).tolist() == expected


def test_vans_that_move_leave_the_fewest_orders_behind(rng):
    """Against every possible split of each path; none where they suffice."""
    path_sr = rng.uniform(0, 100, (12, 3))
    path_sr[0] = [0.0, 30.0, 60.0]
    needed_s = vans.vans_for(path_sr, CAPACITY).sum(axis=1)
    for n_vans in range(12):
        left_s = vans.left_behind(path_sr, CAPACITY, n_vans)
        best_s = [
            min(
                sum(undelivered([path[row]], each[row]) for row in range(3))
                for each in product(range(n_vans + 1), repeat=3)
                if sum(each) == n_vans
            )
            for path in path_sr
        ]
        np.testing.assert_allclose(left_s, best_s, atol=1e-9)
        assert ((left_s == 0) == (needed_s <= n_vans)).all()


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


def test_the_vans_that_suffice_are_the_fewest_that_reach_the_level():
    vans_s = np.array([2, 3, 4, 5])
    for level, expected in ((0.25, 2), (0.5, 3), (0.51, 4), (0.75, 4), (0.99, 5)):
        assert vans.vans_that_suffice(vans_s, level) == expected
