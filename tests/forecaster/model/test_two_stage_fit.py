"""Two fits: one for evaluation, one for production, neither peeking."""

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest

from forecaster.config import ModelConfig, TaskConfig, TrainConfig
from forecaster.errors import NoDataError
from forecaster.model.two_stage_fit import (
    Recipe,
    fit_to_history,
    train_model,
    watermark,
)
from tests.make import make_panel

RECIPE = Recipe(
    TaskConfig(horizon=7, context=28),
    ModelConfig(units=6, head_units=8),
    TrainConfig(epochs=3, batch_size=8, members=2, validation_days=14),
)


@pytest.fixture(scope="module")
def panel():
    return make_panel(n_depots=4, n_days=150)


@pytest.fixture(scope="module")
def trained_models(panel):
    return train_model(panel, RECIPE)


def test_the_evaluation_fit_ends_before_its_validation_days(panel, trained_models):
    assert trained_models.production.trained_through == panel.origin
    assert trained_models.evaluation.trained_through == panel.origin - timedelta(
        days=14
    )
    assert 1 <= trained_models.evaluation.epochs <= 3
    assert trained_models.production.epochs == 1


def test_the_evaluation_fit_does_not_see_later_days(panel, trained_models):
    """Its weights stay, though those days say more, as long as they choose its epoch."""
    demand = panel.demand_dt.copy()
    demand[:, -14:] *= 1.01
    other = train_model(replace(panel, demand_dt=demand), RECIPE)
    assert other.evaluation.epochs == trained_models.evaluation.epochs
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


def test_intervals_are_calibrated_on_unseen_days(trained_models):
    assert (trained_models.evaluation.intervals.low_h < 0).all()
    assert (trained_models.evaluation.intervals.high_h > 0).all()


def test_a_short_history_shortens_context_and_validation():
    fitted = fit_to_history(make_panel(n_days=50), Recipe())
    assert fitted.train.validation_days == 10
    assert fitted.task.context == 32


def test_the_sizes_of_a_young_fleet_change_every_fortnight_only():
    recipes = [
        fit_to_history(make_panel(n_days=days), Recipe()) for days in range(42, 170)
    ]
    changed = [a != b for a, b in pairwise(recipes)]
    assert sum(changed) == 9
    assert recipes[-1].task.context == Recipe().task.context


@pytest.mark.parametrize(("n_days", "enough"), [(153, False), (154, True)])
def test_a_long_horizon_needs_a_longer_history(n_days, enough):
    recipe = replace(Recipe(), task=TaskConfig(horizon=35))
    with nullcontext() if enough else pytest.raises(NoDataError, match="needs 154"):
        fit_to_history(make_panel(n_days=n_days), recipe)


def test_a_long_horizon_is_validated_on_more_days_than_it_has():
    recipe = replace(Recipe(), task=TaskConfig(horizon=35))
    fitted = fit_to_history(make_panel(n_days=400), recipe)
    assert fitted.train.validation_days == 42
    with pytest.raises(
        NoDataError, match=r"has 100 days.*horizon of 35 days needs 154"
    ):
        fit_to_history(make_panel(n_days=100), recipe)


def test_six_weeks_are_the_least():
    with pytest.raises(NoDataError, match=r"has 41 days.*needs 42"):
        train_model(make_panel(n_days=41), RECIPE)


def test_the_watermark_names_the_data(panel):
    changed = panel.demand_dt.copy()
    changed[0, 0] += 1
    assert watermark(panel) == watermark(make_panel(n_depots=4, n_days=150))
    assert watermark(replace(panel, demand_dt=changed)) != watermark(panel)
