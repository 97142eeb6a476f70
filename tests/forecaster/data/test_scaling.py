"""Level and spread come from the past only, and hold through gaps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from forecaster.data import scaling


def test_the_level_agrees_with_a_plain_loop_also_through_a_gap_of_forty_days(rng):
    value = rng.normal(5, 1, (3, 90))
    regular = rng.random((3, 90)) > 0.4
    regular[1, :5] = regular[1, 20:60] = False
    result = scaling.trailing_level(value, regular)
    for depot in range(3):
        last = np.nan
        for step in range(90):
            days = [t for t in range(max(0, step - 27), step + 1) if regular[depot, t]]
            last = np.mean(value[depot, days]) if days else last
            np.testing.assert_allclose(result[depot, step], last, rtol=1e-5)


def test_a_spread_is_never_zero_and_has_a_default():
    invalid = np.zeros((1, 10), bool)
    assert scaling.trailing_spread(np.zeros((1, 10)), invalid)[0, -1] == pytest.approx(
        scaling.DEFAULT_SPREAD
    )
    valid = np.ones((1, 10), bool)
    assert scaling.trailing_spread(np.zeros((1, 10)), valid)[0, -1] == pytest.approx(
        scaling.MIN_SPREAD
    )


@given(
    arrays(bool, (2, 40)),
    st.integers(1, 50),
    st.integers(0, 39),
)
def test_sums_of_a_window_agree_with_a_plain_loop(flag_dt, days, first_step):
    value_dt = np.where(flag_dt, np.arange(40, dtype=np.float32), np.float32(0.5))
    for number_dt in (flag_dt, value_dt):
        result_dt = scaling.trailing_sum(number_dt, days, first_step)
        expected = [
            number_dt[:, max(0, step + 1 - days) : step + 1].sum(axis=1)
            for step in range(first_step, 40)
        ]
        np.testing.assert_array_equal(result_dt, np.stack(expected, axis=1))
