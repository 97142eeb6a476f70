"""Joint scenarios of depots, against closed forms and plain loops."""

import math

import numpy as np
import pytest

from dashboard.planning import depot_vans, scenarios

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
    assert scenarios.correlation(width_r, band(total_width)) == pytest.approx(expected)


def test_depots_keep_their_quantiles_and_the_total_its_band():
    case_rs = scenarios.sample_orders(FIVE - 20, FIVE, FIVE + 20, band(120.0))
    low, middle, high = np.quantile(case_rs, [0.1, 0.5, 0.9], axis=1)
    np.testing.assert_allclose(low, 180, atol=4)
    np.testing.assert_allclose(middle, 200, atol=4)
    np.testing.assert_allclose(high, 220, atol=4)
    low, high = np.quantile(case_rs.sum(axis=0), [0.1, 0.9])
    assert high - low == pytest.approx(120.0, rel=0.1)


def test_the_same_forecast_always_has_the_same_chance():
    first, second = (
        scenarios.sample_orders(FIVE - 20, FIVE, FIVE + 20, None) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_the_chance_counts_the_scenarios_that_the_vans_carry():
    case_rs = np.array([[10.0, 20.0, 30.0, 31.0], [10.0, 10.0, 10.0, 10.0]])
    # Vans of ten orders: 2, 3, 4 and 5 are needed, because a van serves one depot.
    for vans, expected in ((1, 0.0), (2, 0.25), (4, 0.75), (5, 1.0)):
        assert scenarios.delivery_probability(case_rs, 10.0, vans) == expected


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.99])
def test_the_vans_needed_are_the_fewest_that_reach_the_level(rng, level):
    p50 = rng.uniform(30, 300, 6)
    case_rs = scenarios.sample_orders(0.8 * p50, p50, 1.3 * p50, None)
    vans = scenarios.vans_needed(case_rs, 25.0, level)
    assert scenarios.delivery_probability(case_rs, 25.0, vans) >= level
    assert scenarios.delivery_probability(case_rs, 25.0, vans - 1) < level


def test_a_closed_city_needs_no_vans():
    nothing = np.zeros(2)
    case_rs = scenarios.sample_orders(nothing, nothing, nothing, (0.0, 0.0))
    assert scenarios.vans_needed(case_rs, 25.0, 0.99) == 0
    assert depot_vans.vans_for(case_rs, 25.0).sum() == 0
