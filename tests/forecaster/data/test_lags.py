"""Windows never reach past their origin, and lags land on the right weekday."""

import numpy as np
import pytest
from jaxtyping import TypeCheckError

from forecaster.data import lags


@pytest.mark.parametrize("horizon", [1, 7, 8, 14, 63])
def test_same_weekdays_agree_with_a_plain_loop(horizon):
    context = 5
    reach = lags.LOOKBACK_DAYS
    value = np.arange(reach + context + horizon, dtype=float)
    first_week = lags.same_weekdays(value, context, horizon)
    result = lags.of_every_week(first_week, horizon)
    for origin in range(context):
        now = reach + origin
        for step in range(1, horizon + 1):
            past = [day for day in range(now + 1) if (now + step - day) % 7 == 0]
            newest_first = past[::-1][: lags.REPEATS]
            assert result[origin, step - 1].tolist() == newest_first


def test_days_ahead_start_with_tomorrow():
    value = np.arange(9.0)[:, None]
    ahead = lags.days_ahead(value, context=6, horizon=3)[..., 0]
    assert ahead[0].tolist() == [1, 2, 3]
    assert ahead[5].tolist() == [6, 7, 8]


def test_windows_of_some_origins_are_those_of_all():
    value = np.random.default_rng(0).normal(size=lags.LOOKBACK_DAYS + 20)
    some = slice(1, None, 4)
    for horizon in (5, 9):
        cut = (20 - horizon, horizon)
        np.testing.assert_array_equal(
            lags.same_weekdays(value, *cut, some),
            lags.same_weekdays(value, *cut)[some],
        )
        near = value[lags.LOOKBACK_DAYS :, None]
        np.testing.assert_array_equal(
            lags.days_ahead(near, *cut, some), lags.days_ahead(near, *cut)[some]
        )


def test_the_shape_checker_guards_the_cut_between_past_and_future():
    with pytest.raises(TypeCheckError):
        lags.days_ahead(np.ones((9, 2), bool), context=2, horizon=7)
    with pytest.raises(TypeCheckError):
        lags.same_weekdays([1.0] * 60, context=2, horizon=7)
    with pytest.raises(TypeCheckError):
        lags.days_ahead(np.ones((14, 2)), context=6, horizon=7)
