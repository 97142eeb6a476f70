"""Intervals cover their share of ordinary days and of holidays; quantiles are in order."""

import numpy as np
import pytest

from forecaster.inference import intervals
from forecaster.inference.baseline_errors import (
    MAX_FACTOR,
    MIN_FACTOR,
    NORMAL_HIGH,
    BaselineErrors,
)
from forecaster.inference.intervals import IntervalTable


def errors_of(error_doh, spread=1.0, effect_sd=0.0):
    """A year of errors, of depots with equal spread."""
    error_doh = np.asarray(error_doh, np.float32)
    return BaselineErrors(
        np.full(error_doh.shape, 5, np.float32),
        error_doh,
        np.full(error_doh.shape[:2], spread, np.float32),
        np.broadcast_to(np.float32(effect_sd), error_doh.shape),
    )


def test_the_interval_holds_eighty_percent_of_fresh_errors(rng):
    scale = np.array([0.1, 0.2, 0.4])
    seen, fresh = rng.normal(0, scale, (2, 12, 350, 3))
    table = intervals.calibrate(errors_of(seen, spread=0.2))
    low_h, high_h = 0.2 * table.low_h, 0.2 * table.high_h
    inside = (low_h <= fresh) & (fresh <= high_h)
    np.testing.assert_allclose(inside.mean(axis=(0, 1)), 0.8, atol=0.03)


def test_what_the_network_gained_narrows_the_interval(rng):
    errors = errors_of(rng.normal(0, 1, (4, 350, 2)))
    wide, narrow = intervals.calibrate(errors), intervals.calibrate(errors, 0.9)
    np.testing.assert_allclose(narrow.low_h, 0.9 * wide.low_h, rtol=1e-6)
    assert narrow.effect_factor == wide.effect_factor


def test_unknown_days_do_not_count():
    error = np.zeros((1, 4, 1))
    error[0, :, 0] = [0, 1, -1, 99]
    unknown = error.copy()
    unknown[0, 3] = np.nan
    assert intervals.calibrate(errors_of(unknown)).high_h[0] < intervals.PRIOR_HIGH
    assert intervals.calibrate(errors_of(error)).high_h[0] > intervals.PRIOR_HIGH


def test_few_days_of_one_sign_still_give_an_interval_on_both_sides():
    table = intervals.calibrate(errors_of(np.full((1, 7, 3), 0.4)))
    assert table.low_h[0] == pytest.approx(intervals.PRIOR_LOW / 2, abs=1e-5)
    assert table.high_h[0] == pytest.approx((0.4 + intervals.PRIOR_HIGH) / 2, abs=1e-6)


def test_a_history_without_an_error_gives_the_usual_interval():
    table = intervals.calibrate(errors_of(np.full((2, 14, 7), np.nan)))
    np.testing.assert_allclose(table.low_h, intervals.PRIOR_LOW)
    np.testing.assert_allclose(table.high_h, intervals.PRIOR_HIGH)
    assert table.effect_factor == intervals.PRIOR_EFFECT_FACTOR


def test_holidays_are_held_as_well_as_ordinary_days_and_widen_no_other(rng):
    """One day in ten is a holiday; effects are off by twice their estimated deviation."""
    spread, effect_sd = 0.2, 0.3

    def year():
        error = rng.normal(0, spread, (20, 350, 7))
        is_holiday_o = rng.random(350) < 0.1
        miss_o = rng.normal(0, 2 * effect_sd, 350) * is_holiday_o
        sd = np.where(is_holiday_o[:, None], effect_sd, 0.0)
        return error + miss_o[:, None], sd, is_holiday_o

    error, sd, _ = year()
    table = intervals.calibrate(errors_of(error, spread, sd))
    quiet = intervals.calibrate(errors_of(rng.normal(0, spread, (20, 350, 7)), spread))
    np.testing.assert_allclose(table.high_h, quiet.high_h, rtol=0.05)
    held = []
    for _ in range(20):
        fresh, sd, is_holiday_o = year()
        low, high = intervals.bounds(
            table,
            np.zeros((350, 7)),
            np.full(350, spread),
            np.broadcast_to(sd, (350, 7)),
            np.zeros(350, int),
        )
        inside = (low <= fresh) & (fresh <= high)
        held.append(inside[:, is_holiday_o].mean())
    assert np.mean(held) == pytest.approx(0.85, abs=0.05)


@pytest.mark.parametrize(
    ("miss", "expected"),
    [
        pytest.param(0.0, MIN_FACTOR, id="effects that were right"),
        pytest.param(1e3, MAX_FACTOR, id="effects that meant nothing"),
    ],
)
def test_the_factor_of_effects_has_bounds(miss, expected):
    table = intervals.calibrate(errors_of(np.full((2, 300, 1), miss), effect_sd=1.0))
    assert table.effect_factor == pytest.approx(expected, rel=0.05)


def test_an_effects_deviation_adds_to_the_spread_by_squares():
    table = IntervalTable(
        np.array([-3], np.float32), np.array([3], np.float32), effect_factor=2.0
    )
    low, high = intervals.bounds(
        table,
        np.zeros((1, 1)),
        np.array([0.1]),
        np.array([[0.2 / NORMAL_HIGH]]),
        np.zeros(1, int),
    )
    assert high[0, 0] == pytest.approx(0.5)
    assert low[0, 0] == pytest.approx(-0.5)


def test_no_bound_is_further_than_twenty_times_the_median():
    table = IntervalTable(np.array([-1.8], np.float32), np.array([1.6], np.float32))
    # The second depot reopened after unannounced zeros.
    median_dh, spread_d = np.full((2, 1), np.log(4000)), np.array([0.2, 4.0])
    low_dh, high_dh = intervals.bounds(
        table, median_dh, spread_d, np.zeros((2, 1)), np.zeros(2, int)
    )
    np.testing.assert_allclose(
        np.exp(high_dh - median_dh)[:, 0], [np.exp(0.32), 20.09], rtol=1e-3
    )
    np.testing.assert_allclose(
        np.exp(median_dh - low_dh)[:, 0], [np.exp(0.36), 20.09], rtol=1e-3
    )
