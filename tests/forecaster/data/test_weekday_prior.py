"""Weekday profiles are shrunk towards the fleet's pattern by as much as they are noise."""

from dataclasses import replace

import numpy as np
import pytest

from forecaster.data.baseline import weekday_profile
from forecaster.data.dates import weekdays
from forecaster.data.weekday_prior import (
    NO_WEEKDAY_PRIOR,
    fit_weekday_prior,
    profile_noise,
)
from tests.make import make_panel, make_residuals

PATTERN = np.array([0.2, 0.1, 0.0, 0.1, 0.3, -0.2, -0.5])


def fleet(pattern_dw, weeks, mean=8.0, seed=0):
    """A panel whose depots have Poisson counts around patterns of their own, and its residuals."""
    mean_dt = mean * np.exp(np.tile(pattern_dw, (1, weeks)))
    counts = np.random.default_rng(seed).poisson(mean_dt).astype(np.float32)
    panel = make_panel(*counts.shape)
    shift = panel.start_on.weekday()
    panel = replace(panel, demand_dt=np.roll(counts, -shift, axis=1))
    return panel, make_residuals(panel)


def shrunk(panel, residuals):
    """The last week's profiles, own and shrunk, Monday first, and the prior."""
    effect_dt = np.zeros_like(residuals.log_dt)
    prior = fit_weekday_prior(panel, effect_dt)
    own_dt = weekday_profile(residuals)
    first = panel.start_on.weekday()
    step_w = panel.n_steps - 7 + (np.arange(7) - first - panel.n_steps) % 7
    drawn_dt = prior.shrink(own_dt, residuals, weekdays(panel.days()))
    return own_dt[:, step_w], drawn_dt[:, step_w], prior


def error(profile_dw, pattern_dw):
    centred_dw = pattern_dw - pattern_dw.mean(axis=1, keepdims=True)
    return np.sqrt(((profile_dw - centred_dw) ** 2).mean())


def test_small_depots_of_eight_weeks_borrow_the_pattern_of_the_fleet():
    panel, residuals = fleet(np.tile(PATTERN, (40, 1)), weeks=8)
    own, drawn, prior = shrunk(panel, residuals)
    truth = np.tile(PATTERN, (40, 1))
    assert error(drawn, truth) < 0.6 * error(own, truth)
    assert prior.pattern_w == pytest.approx(PATTERN - PATTERN.mean(), abs=0.1)
    assert prior.sd < 0.1


def test_depots_that_differ_keep_patterns_of_their_own():
    pattern_dw = np.random.default_rng(3).normal(0, 0.4, (40, 7))
    own, drawn, prior = shrunk(*fleet(pattern_dw, weeks=30, mean=100))
    assert prior.sd == pytest.approx(0.4, rel=0.3)
    np.testing.assert_allclose(drawn, own, atol=0.03)


def test_one_depot_that_differs_from_its_fleet_keeps_its_own():
    pattern_dw = np.tile(PATTERN, (40, 1))
    pattern_dw[0] = -2 * PATTERN
    own, drawn, _ = shrunk(*fleet(pattern_dw, weeks=12, mean=60))
    np.testing.assert_allclose(drawn[0], own[0], atol=0.03)


def test_three_depots_are_no_fleet():
    panel, residuals = fleet(np.tile(PATTERN, (3, 1)), weeks=8)
    own, drawn, prior = shrunk(panel, residuals)
    assert prior is NO_WEEKDAY_PRIOR
    np.testing.assert_allclose(drawn, own, atol=1e-5)


def test_the_noise_of_a_profile_is_its_variance_over_equal_depots():
    """Levels that jump from week to week hardly raise the noise of the weekday profile."""
    panel, residuals = fleet(np.tile(PATTERN, (400, 1)), weeks=16, mean=20)
    last = panel.n_steps - 1
    variance = weekday_profile(residuals)[:, last - 6 : last + 1].var(axis=0).mean()
    noise = profile_noise(residuals)[:, last].mean()
    assert 0.5 < noise / variance < 2.0
    rng = np.random.default_rng(0)
    level_dt = np.repeat(np.exp(rng.normal(0, 0.5, (400, 16))), 7, axis=1)
    jumping = replace(panel, demand_dt=(panel.demand_dt * level_dt).astype(np.float32))
    residuals = make_residuals(jumping)
    assert profile_noise(residuals)[:, last].mean() < 4 * noise


def test_a_depot_that_is_closed_on_sundays_keeps_the_mean_of_its_open_days():
    panel, _ = fleet(np.tile(PATTERN, (40, 1)), weeks=8)
    weekday_t = (panel.start_on.weekday() + np.arange(panel.n_steps)) % 7
    demand_dt = panel.demand_dt.copy()
    demand_dt[:, weekday_t == 6] = np.nan
    panel = replace(panel, demand_dt=demand_dt)
    own, drawn, _ = shrunk(panel, make_residuals(panel))
    assert abs((drawn - own)[:, :6].mean()) < 0.02
    assert error(drawn[:, :6], np.tile(PATTERN[:6], (40, 1))) < 0.7 * error(
        own[:, :6], np.tile(PATTERN[:6], (40, 1))
    )


def test_the_profile_of_a_day_reads_no_later_day():
    panel, residuals = fleet(np.tile(PATTERN, (10, 1)), weeks=20)
    prior = fit_weekday_prior(panel, np.zeros_like(residuals.log_dt))
    whole = prior.shrink(weekday_profile(residuals), residuals, weekdays(panel.days()))
    before = panel.as_of(panel.day(99))
    known = make_residuals(before)
    part = prior.shrink(weekday_profile(known), known, weekdays(before.days()))
    np.testing.assert_allclose(part[:, :100], whole[:, :100], rtol=1e-5, atol=1e-6)
