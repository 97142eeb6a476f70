"""Scores against numbers worked by hand, and against plain loops."""

import numpy as np
import pytest

from forecaster import metrics

CASES = [
    pytest.param([10, 20], [10, 20], [1, 1], 0.0, 0.0, 0.0, 2, id="perfect"),
    pytest.param([10, 20], [9, 18], [1, 1], 0.1, 0.1, -0.1, 2, id="ten percent low"),
    pytest.param(
        [10, 40], [12, 40], [1, 1], 0.1, 0.04, 0.04, 2, id="small depots weigh more"
    ),
    pytest.param(
        [10, np.nan], [12, 99], [1, 0], 0.2, 0.2, 0.2, 1, id="a gap has no weight"
    ),
    pytest.param([0, 10], [5, 10], [1, 1], 0.0, 0.5, 0.5, 1, id="a zero has no MAPE"),
    pytest.param(
        [[10, 40], [50, 0]],
        [[12, 30], [50, 1]],
        [[1, 1], [0, 1]],
        0.225,
        13 / 50,
        -7 / 50,
        2,
        id="of several depots",
    ),
    pytest.param([0, 0], [0, 3], [1, 1], np.nan, np.nan, np.nan, 0, id="nothing sold"),
    pytest.param(
        [1, 2], [1, 2], [0, 0], np.nan, np.nan, np.nan, 0, id="nothing observed"
    ),
]


@pytest.mark.parametrize(
    ("actual", "forecast", "observed", "mape", "wape", "bias", "days"), CASES
)
def test_scores_by_hand(actual, forecast, observed, mape, wape, bias, days):
    arrays = (
        np.array(actual, float),
        np.array(forecast, float),
        np.array(observed, bool),
    )
    np.testing.assert_allclose(metrics.mape(*arrays), mape)
    np.testing.assert_allclose(metrics.wape(*arrays), wape)
    np.testing.assert_allclose(metrics.bias(*arrays), bias)
    assert metrics.mape_days(arrays[0], arrays[2]) == days


def test_mase_divides_by_each_depots_own_scale():
    actual, forecast = np.array([10.0, 10.0, 10.0]), np.array([12.0, 14.0, 99.0])
    scale = np.array([2.0, 8.0, 0.0])
    score = metrics.mase(actual, forecast, np.ones(3, bool), scale)
    assert score == pytest.approx((1.0 + 0.5) / 2)


def test_coverage_counts_both_bounds_as_inside():
    actual = np.array([1.0, 2.0, 3.0, 4.0])
    low, high = np.full(4, 2.0), np.full(4, 3.0)
    assert metrics.coverage(actual, low, high, np.ones(4, bool)) == pytest.approx(0.5)
