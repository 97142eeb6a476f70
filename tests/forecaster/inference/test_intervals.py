"""Intervals hold their share, and keep quantiles in order."""

import numpy as np
import pytest

from forecaster.errors import NoDataError
from forecaster.inference import intervals

DEPOTS = ("D0",)


def calibrated(residual_rh, valid_rh=None):
    """The table of one depot whose targets all fall on one weekday."""
    valid = np.ones(residual_rh.shape, bool) if valid_rh is None else valid_rh
    weekday = np.zeros(residual_rh.shape, int)
    return intervals.calibrate(residual_rh[:, None], valid[:, None], weekday, DEPOTS)


def test_the_interval_holds_eighty_percent_of_fresh_residuals(rng):
    scale = np.array([0.1, 0.2, 0.4])
    seen, fresh = rng.normal(0, scale, (2, 4000, 3))
    table = calibrated(seen)
    inside = (table.low_h <= fresh) & (fresh <= table.high_h)
    np.testing.assert_allclose(inside.mean(axis=0), 0.8, atol=0.02)


def test_each_horizon_day_has_its_own_width(rng):
    residual = rng.normal(0, [0.1, 0.5], (2000, 2))
    table = calibrated(residual)
    assert table.high_h[1] > 3 * table.high_h[0]


def test_an_extreme_day_among_short_horizons_only_widens_no_interval(rng):
    residual = rng.normal(0, 0.1, (28, 3))
    wild = residual.copy()
    wild[0, 0] = wild[0, 1] = wild[1, 0] = 9.0
    calm, same = calibrated(residual), calibrated(wild)
    np.testing.assert_array_equal(same.high_h, calm.high_h)
    assert same.weekday_w[0] == calm.weekday_w[0]


def test_unknown_days_do_not_count():
    residual = np.array([[0.0], [1.0], [-1.0], [99.0]])
    valid = np.array([[1], [1], [1], [0]], bool)
    assert calibrated(residual, valid).high_h[0] < intervals.PRIOR_HIGH
    assert calibrated(residual, valid | True).high_h[0] > intervals.PRIOR_HIGH


def test_few_days_of_one_sign_still_give_an_interval_on_both_sides():
    table = calibrated(np.full((7, 3), 0.4), np.ones((7, 3), bool))
    assert table.low_h[0] == pytest.approx(intervals.PRIOR_LOW / 2, abs=1e-5)
    assert table.high_h[0] == pytest.approx((0.4 + intervals.PRIOR_HIGH) / 2, abs=1e-6)


def test_quantiles_never_cross_even_when_all_misses_lie_on_one_side():
    residual = np.full((10, 1), 0.3)
    table = calibrated(residual)
    low, high = intervals.bounds(
        table, np.zeros((2, 1)), np.ones((2, 1)), np.zeros(1, int), ("D0", "D1")
    )
    assert (low <= 0).all()
    assert (high >= 0).all()


def test_a_horizon_day_without_actuals_says_what_is_missing():
    with pytest.raises(NoDataError, match="one known actual for each horizon day"):
        calibrated(np.zeros((3, 2)), np.array([[1, 0]] * 3, bool))


def test_intervals_of_calm_weeks_are_widened_to_usual_ones(rng):
    residual_dt = np.abs(rng.normal(0, 1, (20, 364)))
    residual_dt[:, -28:] *= 0.6
    calm = intervals.relative_difficulty(
        residual_dt, np.ones(residual_dt.shape, bool), 28
    )
    assert calm == pytest.approx(0.6, abs=0.05)
    narrow = intervals.uniform_table(-np.array([0.3]), np.array([0.6]))
    usual = intervals.scale_to_typical_days(narrow, calm)
    assert usual.high_h == pytest.approx(0.6 / calm)
    assert usual.low_h == pytest.approx(-0.3 / calm)


def test_intervals_of_wild_weeks_stay_wide(rng):
    residual_dt = np.abs(rng.normal(0, 1, (20, 364)))
    residual_dt[:, -28:] *= 3
    assert (
        intervals.relative_difficulty(residual_dt, np.ones(residual_dt.shape, bool), 28)
        == 1.0
    )


@pytest.mark.parametrize(("now", "usual"), [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0)])
def test_days_without_a_miss_at_most_double_the_intervals(now, usual):
    residual_dt = np.full((3, 400), usual)
    residual_dt[:, -28:] = now
    calm = intervals.relative_difficulty(
        residual_dt, np.ones(residual_dt.shape, bool), 28
    )
    assert 0.5 <= calm <= 1.0


def test_no_known_days_leave_the_intervals_alone():
    nothing = np.zeros((3, 400), bool)
    assert intervals.relative_difficulty(np.ones((3, 400)), nothing, 28) == 1.0


def test_no_bound_is_further_than_twenty_times_the_median():
    table = intervals.uniform_table(np.array([-1.8]), np.array([1.6]))
    # The second depot reopened after unannounced zeros.
    median_dh, spread_dh = np.full((2, 1), np.log(4000)), np.array([[0.2], [4.0]])
    low_dh, high_dh = intervals.bounds(
        table, median_dh, spread_dh, np.array([0]), ("A", "B")
    )
    np.testing.assert_allclose(
        np.exp(high_dh - median_dh)[:, 0], [np.exp(0.32), 20.09], rtol=1e-3
    )
    np.testing.assert_allclose(
        np.exp(median_dh - low_dh)[:, 0], [np.exp(0.36), 20.09], rtol=1e-3
    )
