"""Two fits: one for evaluation, one for production, neither of which sees later days.

A second training in the same process compiles nothing, even one day or depot larger.
"""

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import jax
import numpy as np
import pytest

from forecaster.config import ModelConfig, TaskConfig, TrainConfig
from forecaster.errors import NoDataError
from forecaster.inference import infer
from forecaster.model.two_stage_fit import (
    Recipe,
    fit_to_history,
    train_model,
    watermark,
)
from tests.make import START, make_panel

RECIPE = Recipe(
    TaskConfig(horizon=7, context=28),
    ModelConfig(units=6, head_units=8),
    TrainConfig(epochs=3, batch_size=12, members=2, validation_days=14),
)


@pytest.fixture(scope="module")
def panel():
    return make_panel(n_depots=4, n_days=150)


@pytest.fixture(scope="module")
def compilations():
    """A list that gets an event for each compilation by XLA."""
    events = []

    def count(event, *_, **__):
        if event.endswith("backend_compile_duration"):
            events.append(event)

    jax.monitoring.register_event_duration_secs_listener(count)
    jax.jit(lambda value: value + 1)(1)
    assert events, "a function that is new is compiled, and counted"
    return events


@pytest.fixture(scope="module")
def first_night(compilations, panel):
    """A training and its number of compilations.

    Its fits have 16 and 20 windows, for which batches of 8 and of 12 would pad least.
    """
    before = len(compilations)
    trained = train_model(panel, RECIPE)
    return trained, len(compilations) - before


@pytest.fixture(scope="module")
def trained_models(first_night):
    return first_night[0]


def test_a_first_night_compiles_its_steps_once_and_little_else(first_night):
    trained, n_compilations = first_night
    assert n_compilations <= 9
    assert trained.evaluation_fit.batch_size == trained.production_fit.batch_size == 8


def test_the_next_night_compiles_nothing(compilations, first_night):
    """The panel is a day longer and has a depot ten days old, whose window fills no batch."""
    assert first_night is not None
    before = len(compilations)
    panel = make_panel(n_depots=5, n_days=151)
    demand = panel.demand_dt.copy()
    demand[4, :-10] = np.nan
    train_model(replace(panel, demand_dt=demand), RECIPE)
    assert len(compilations) == before


def test_the_evaluation_fit_ends_before_its_validation_days(panel, trained_models):
    assert trained_models.production.trained_through == panel.origin
    assert trained_models.evaluation.trained_through == panel.origin - timedelta(
        days=14
    )
    assert trained_models.evaluation.epochs == 3
    assert trained_models.production.epochs == 1


def test_the_evaluation_fit_does_not_see_later_days(panel, trained_models):
    """Its weights stay the same when the later days are changed."""
    demand = panel.demand_dt.copy()
    demand[:, -14:] *= 1.01
    other = train_model(replace(panel, demand_dt=demand), RECIPE)
    for name, value in trained_models.evaluation.weights.items():
        np.testing.assert_array_equal(value, other.evaluation.weights[name])
    assert other.evaluation.data_watermark == trained_models.evaluation.data_watermark
    assert other.production.data_watermark != trained_models.production.data_watermark


def test_the_same_data_and_seed_give_the_same_version(panel, trained_models):
    again = train_model(panel, RECIPE)
    assert again.production.version == trained_models.production.version
    assert again.evaluation.version == trained_models.evaluation.version


def test_the_production_fit_starts_from_the_evaluation_fit(trained_models):
    for name, value in trained_models.evaluation.weights.items():
        gap = np.abs(value - trained_models.production.weights[name]).max()
        # Three steps of Adam, each of at most a few learning rates.
        assert 0 < gap < 0.05, name


def test_a_short_history_shortens_context_and_validation():
    fitted = fit_to_history(make_panel(n_days=50), Recipe())
    assert fitted.train.validation_days == 14
    assert fitted.task.context == 28


def test_the_sizes_of_a_young_fleet_change_every_fortnight_only():
    panel = make_panel(n_days=169)
    recipes = [
        fit_to_history(panel.as_of(panel.day(step)), Recipe())
        for step in range(13, 169)
    ]
    changed = [a != b for a, b in pairwise(recipes)]
    assert sum(changed) == 7
    assert recipes[-1].task.context == Recipe().task.context


@pytest.mark.parametrize(("n_days", "enough"), [(69, False), (70, True)])
def test_a_long_horizon_needs_a_longer_history(n_days, enough):
    recipe = replace(Recipe(), task=TaskConfig(horizon=35))
    with nullcontext() if enough else pytest.raises(NoDataError, match="needs 70"):
        fit_to_history(make_panel(n_days=n_days), recipe)


def test_a_long_horizon_is_validated_on_more_days_than_it_has():
    recipe = replace(Recipe(), task=TaskConfig(horizon=35))
    fitted = fit_to_history(make_panel(n_days=400), recipe)
    assert fitted.train.validation_days == 42


def test_two_weeks_are_the_least():
    with pytest.raises(NoDataError, match=r"has 13 days.*needs 14"):
        train_model(make_panel(n_days=13), RECIPE)


@pytest.mark.parametrize("n_days", [14, 41])
def test_a_fleet_of_some_weeks_gets_the_baseline_with_intervals(n_days):
    panel = make_panel(n_days=n_days)
    # Batches of the same size, so that one program trains both.
    recipe = replace(RECIPE, train=replace(RECIPE.train, batch_size=4))
    trained = train_model(panel, recipe).production
    assert trained.network_share == 0.0
    forecast = infer.forecast(trained, panel)
    level_d = np.nanmean(panel.demand_dt, axis=1)
    np.testing.assert_allclose(forecast.p50_dh.mean(axis=1), level_d, rtol=0.5)
    is_open_dh = forecast.basis_dh != "closed"
    assert (forecast.p10_dh < forecast.p50_dh)[is_open_dh].all()
    assert (forecast.p50_dh < forecast.p90_dh)[is_open_dh].all()


def test_the_watermark_names_the_data(panel):
    changed = panel.demand_dt.copy()
    changed[0, 0] += 1
    assert watermark(panel) == watermark(make_panel(n_depots=4, n_days=150))
    assert watermark(replace(panel, demand_dt=changed)) != watermark(panel)


def test_with_less_than_a_season_the_time_of_year_says_nothing():
    """A spring in which a fleet grew must not be continued into summer."""
    half_a_year = timedelta(days=26 * 7)
    spring = replace(make_panel(n_days=84), start_on=START + timedelta(days=35))
    growing = spring.demand_dt * np.linspace(1.0, 2.0, 84, dtype=np.float32)
    spring = replace(spring, demand_dt=np.round(growing))
    trained = train_model(spring, RECIPE).production
    whole = replace(trained, network_share=1.0)
    autumn = replace(spring, start_on=spring.start_on + half_a_year)
    forecasts = [infer.forecast(whole, panel).p50_dh for panel in (spring, autumn)]
    np.testing.assert_allclose(*forecasts, rtol=1e-5)
