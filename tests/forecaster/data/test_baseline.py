"""Smoothing agrees with loops over the days, and is robust to gaps and odd series."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecaster.data import baseline
from forecaster.data.baseline import BaselineResiduals
from tests.make import make_panel, make_residuals


def smoothed(log_dt, regular_dt=None, level_dt=None, spread=0.2):
    """Profile and smoothed level of some days, by default around their mean level."""
    log_dt = np.asarray(log_dt, np.float32)
    if regular_dt is None:
        regular_dt = np.ones(log_dt.shape, bool)
    if level_dt is None:
        level_dt = np.broadcast_to(log_dt.mean(axis=1, keepdims=True), log_dt.shape)
    zero_dt = np.zeros_like(log_dt)
    residuals = BaselineResiduals(
        log_dt=log_dt,
        observed_dt=regular_dt,
        regular_dt=regular_dt,
        level_dt=level_dt.astype(np.float32),
        residual_dt=zero_dt,
        has_baseline_dt=regular_dt,
        spread_dt=np.full_like(log_dt, spread),
    )
    weekday_profile_dt = baseline.weekday_profile(residuals)
    return weekday_profile_dt, baseline.smoothed_level(residuals, weekday_profile_dt, 0)


@given(
    st.integers(1, 100), st.floats(0.01, 0.9), st.integers(0, 2**31), st.integers(1, 3)
)
@settings(max_examples=30)
def test_an_exponentially_weighted_sum_agrees_with_a_loop(
    n_steps, rate, seed, n_depots
):
    value = np.random.default_rng(seed).normal(size=(n_depots, n_steps))
    value = value.astype(np.float32)
    result = baseline.exponentially_weighted_sum(value, rate, 0)
    kept = np.zeros(n_depots)
    for step in range(n_steps):
        kept = (1 - rate) * kept + value[:, step]
        np.testing.assert_allclose(result[:, step], kept, rtol=1e-4, atol=1e-4)


def test_a_weekly_pattern_is_fully_smoothed_into_the_profile():
    wave = np.tile([0.3, 0.1, 0.0, -0.1, 0.2, -0.2, -0.3], 20)[None]
    season, level = smoothed(5 + wave)
    np.testing.assert_allclose(season, wave, atol=1e-4)
    np.testing.assert_allclose(level[:, 7:], 5, atol=0.05)
    np.testing.assert_allclose(level[:, -1], 5, atol=1e-3)


def test_one_extreme_day_counts_as_three_spreads():
    strange = np.full((1, 80), 5.0)
    strange[0, 60] = 0.0
    _, level = smoothed(strange, level_dt=np.full((1, 80), 5.0))
    most = 3 * 0.2 * np.mean(baseline.LEVEL_RATES)
    assert 5 - 1.3 * most < level[0, 60] < 5


@given(
    st.integers(20, 170), st.floats(0.0, 0.4), st.integers(0, 2**31), st.integers(0, 60)
)
@settings(max_examples=20)
def test_rates_are_weighted_as_a_loop_weights_them(n_steps, missing, seed, first_step):
    """Each rate has a level, and a weight that falls with its errors of the last 112 days."""
    rng = np.random.default_rng(seed)
    regular = rng.random(n_steps) >= missing
    regular[0] = True
    value = np.where(regular, rng.normal(5, 0.3, n_steps), 0.0).astype(np.float32)
    first_step = min(first_step, n_steps - 1)
    result = baseline._hedged_level(value[None], regular[None], first_step)[0]
    levels = {rate: [] for rate in baseline.LEVEL_RATES}
    misses = {rate: [] for rate in baseline.LEVEL_RATES}
    for rate, known in levels.items():
        total = weight = 0.0
        for step in range(n_steps):
            total = (1 - rate) * total + value[step]
            weight = (1 - rate) * weight + regular[step]
            known.append(total / weight)
            expected = known[step - 4] if step >= 4 else 0.0
            misses[rate].append(abs(value[step] - expected) if regular[step] else 0.0)
    for step in range(n_steps):
        since = max(0, step - 111)
        missed = {rate: sum(days[since : step + 1]) for rate, days in misses.items()}
        days = regular[since : step + 1].sum()
        mean = sum(missed.values()) / len(missed)
        weights = {
            rate: np.exp(-30 * days / (days + 56) * each / mean)
            for rate, each in missed.items()
        }
        expected = sum(weights[rate] * levels[rate][step] for rate in weights)
        if step >= first_step and (regular[step] or step == first_step):
            assert result[step - first_step] == pytest.approx(
                expected / sum(weights.values()), rel=2e-3
            )


def residuals_of(counts):
    """Residuals of depots with these counts, without holidays or events."""
    panel = make_panel(*counts.shape)
    return make_residuals(replace(panel, demand_dt=counts.astype(np.float32)))


def last_week_share(counts):
    return baseline.last_week_share(residuals_of(counts), 0)[:, : counts.shape[1]]


def test_the_last_week_is_what_a_depot_with_a_timetable_is_forecast_by():
    """Counts repeat each week, and change to another timetable every four weeks."""
    rng = np.random.default_rng(0)
    timetables = rng.integers(20, 60, (3, 6, 1, 7))
    counts = np.tile(timetables, (1, 1, 4, 1)).reshape(3, -1)
    assert last_week_share(counts)[:, -1].min() > 0.9


def test_the_last_week_hardly_enters_where_days_scatter():
    counts = np.random.default_rng(1).poisson(40, (20, 168))
    share = last_week_share(counts)
    assert share[:, :35].max() < 0.1
    assert share[:, -1].max() < baseline.LAST_WEEK_SHARE


@given(st.integers(0, 2**31), st.floats(0.0, 0.3))
@settings(max_examples=10)
def test_the_share_of_the_last_week_is_what_a_loop_gives(seed, missing):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(30, (1, 150)).astype(float)
    counts[rng.random(counts.shape) < missing] = np.nan
    residuals = residuals_of(counts)
    share = baseline.last_week_share(residuals, 140)[0]
    log, regular = residuals.log_dt[0], residuals.regular_dt[0]
    for step in range(140, 150):
        days = [
            day
            for day in range(max(step - 111, 7), step + 1)
            if regular[day] and regular[day - 7]
        ]
        repeated = sum(abs(log[day] - log[day - 7]) for day in days)
        trimmed = sum(abs(residuals.residual_dt[0, day]) for day in days)
        better = (trimmed - repeated) / ((trimmed + repeated) / 2)
        odds = 0.02 / 0.98 * np.exp(20 * len(days) / (len(days) + 56) * better)
        assert share[step - 140] == pytest.approx(odds / (1 + odds), rel=1e-3)


def test_changing_weekdays_are_followed_and_steady_ones_averaged():
    rng = np.random.default_rng(4)
    weeks = np.cumsum(rng.normal(0, 0.05, (20, 60, 7)), axis=1)
    changing = 5 + weeks.reshape(20, -1)
    season, _ = smoothed(changing)
    slow, quick = _profiles(changing)
    missed = [_missed_a_week_later(changing, each) for each in (season, slow, quick)]
    assert missed[0] < 1.02 * missed[2] < 0.9 * missed[1]
    steady = 5 + rng.normal(0, 0.1, changing.shape)
    season, _ = smoothed(steady)
    slow, quick = _profiles(steady)
    late = slice(200, None)
    assert season[:, late].std() < 1.1 * slow[:, late].std() < quick[:, late].std()


def _profiles(log_dt):
    """The weekday profile of each rate by itself."""
    profiles = []
    for rate in baseline.PROFILE_RATES:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(baseline, "PROFILE_RATES", (rate,))
            profiles.append(smoothed(log_dt)[0])
    return profiles


def _missed_a_week_later(log_dt, profile_dt):
    deviation_dt = log_dt - log_dt.mean(axis=1, keepdims=True)
    return np.abs(deviation_dt[:, 7:] - profile_dt[:, :-7]).mean()


def test_a_weekday_without_orders_is_a_profile_and_not_a_strange_day():
    week = np.array([5.0, 5, 5, 5, 5, 5, 0])
    log = np.tile(week, 20)[None]
    season, level = smoothed(log)
    np.testing.assert_allclose(level[0, -7:] + season[0, -7:], week, atol=0.1)


@pytest.mark.parametrize("gap", [7, 40, 400])
def test_days_that_are_not_regular_change_nothing(gap):
    """Not even after a gap so long that the smoothing sums have decayed to 0."""
    rng = np.random.default_rng(1)
    log = rng.normal(5, 0.1, (1, 100 + gap))
    regular = np.ones(log.shape, bool)
    regular[:, 60 : 60 + gap] = False
    log[:, 60 : 60 + gap] = 0
    season, level = smoothed(log, regular, np.full(log.shape, 5.0))
    # Without recent days to score the rates by, their weights are equal.
    np.testing.assert_allclose(level[0, 60 : 60 + gap], level[0, 59], atol=0.03)
    assert np.isfinite(season).all()
    np.testing.assert_allclose(level[0, 60 + gap :], 5, atol=0.5)


def test_before_the_first_regular_day_the_level_is_the_depots():
    regular = np.zeros((1, 60), bool)
    regular[0, 50:] = True
    level_dt = np.full((1, 60), 3.0)
    _, level = smoothed(np.full((1, 60), 4.0), regular, level_dt)
    assert (level[0, :50] == 3).all()
    assert (level[0, 50:] > 3).all()


@pytest.mark.parametrize(
    ("weekdays", "regular", "expected"),
    [
        pytest.param([1, 2, 30, 3], [1, 1, 1, 1], 2.5, id="median of four"),
        pytest.param([1, 2, 30, 3], [1, 0, 1, 1], 3.0, id="median of three"),
        pytest.param([1, 2, 30, 3], [1, 1, 0, 0], 1.5, id="mean of two"),
        pytest.param([1, 2, 30, 3], [0, 0, 1, 0], 30.0, id="the only one"),
        pytest.param([1, 2, 30, 3], [0, 0, 0, 0], 9.0, id="none: the level"),
    ],
)
def test_the_trimmed_mean_is_the_middle_of_the_regular_days(
    weekdays, regular, expected
):
    result = baseline.trimmed_mean(
        np,
        [np.array([value], float) for value in weekdays],
        [np.array([value], float) for value in regular],
        np.array([9.0]),
    )
    assert result.item() == pytest.approx(expected)
