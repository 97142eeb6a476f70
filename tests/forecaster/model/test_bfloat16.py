"""Products in bfloat16 are an option of training; the exported weights stay float32."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from forecaster.model.export import PARITY_LIMIT
from forecaster.model.two_stage_fit import Recipe, train_model
from tests.forecaster.model.test_two_stage_fit import RECIPE
from tests.make import make_panel


@pytest.fixture(scope="module")
def trained_models():
    """By the default, and in bfloat16."""
    panel = make_panel(n_depots=4, n_days=150)
    half = replace(RECIPE, train=replace(RECIPE.train, bfloat16=True))
    return train_model(panel, RECIPE), train_model(panel, half)


def test_it_is_off_by_default():
    assert not Recipe().train.bfloat16


def test_bfloat16_trains_about_as_well_but_not_the_same(trained_models):
    full, half = (each.evaluation_fit for each in trained_models)
    assert half.validation_mape == pytest.approx(full.validation_mape, rel=0.1)
    rounded = [
        np.abs(one - other).max()
        for one, other in zip(
            jax.tree.leaves(full.params), jax.tree.leaves(half.params), strict=True
        )
    ]
    assert max(rounded) > 0


def test_weights_stay_float32_and_numpy_agrees(trained_models):
    production = trained_models[1].production
    assert {value.dtype for value in production.weights.values()} == {
        np.dtype("float32")
    }
    assert production.parity_error <= PARITY_LIMIT
