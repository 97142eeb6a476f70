"""A model is exported only if NumPy and Flax agree on its forecasts."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from forecaster.config import ModelConfig, TaskConfig
from forecaster.data import inputs
from forecaster.data.features import build_features, embedding_rows
from forecaster.errors import ArtefactError
from forecaster.model import export
from forecaster.model.model import DepotForecaster, init_params
from tests.make import make_artefact, make_panel


def trained_looking(panel, horizon, context):
    """An artefact, its Flax parameters with no layer at zero, and windows."""
    model = ModelConfig(units=5, head_units=6)
    features = build_features(panel, (), 7, embedding_rows(panel.depot_ids))
    task = TaskConfig(horizon, context)
    depots = np.arange(panel.n_depots)
    windows = inputs.cut_windows(
        features, task, depots, np.full(len(depots), panel.n_steps - 1)
    )
    one = jax.tree.map(lambda value: np.asarray(value[0], np.float32), windows)
    module = DepotForecaster(horizon, model, panel.n_depots + 1)
    rng = np.random.default_rng(9)
    members = [init_params(module, one, seed) for seed in range(2)]
    params = jax.tree.map(
        lambda *values: np.float32(
            np.stack(values) + 0.2 * rng.normal(size=(2, *values[0].shape))
        ),
        *members,
    )
    artefact = replace(
        make_artefact(panel, horizon, context, model=model),
        weights=export.flat_weights(params),
    )
    return artefact, params, windows


@pytest.fixture(scope="module")
def trained():
    return trained_looking(make_panel(n_depots=3, n_days=100), 7, 28)


@pytest.mark.parametrize(("horizon", "context"), [(1, 14), (10, 60), (28, 128)])
def test_numpy_equals_flax_for_several_lengths(horizon, context):
    panel = make_panel(n_depots=5, n_days=150, ahead=horizon)
    artefact, params, windows = trained_looking(panel, horizon, context)
    np.testing.assert_allclose(
        np.add(*artefact.network.forward(windows)),
        export.flax_forecast(artefact, params, windows),
        atol=1e-5,
    )


def test_a_calendar_is_computed_once_for_its_depots_or_for_each():
    """`group_b` is None, the panel's groups of equal calendars, or three groups."""
    panel = make_panel(n_depots=24, n_days=100)
    artefact, params, windows = trained_looking(panel, 7, 28)
    assert windows.calendar.shape[2] < panel.n_depots
    expected = export.flax_forecast(artefact, params, windows)
    for group_b in (None, panel.calendar.group_d, np.arange(24) % 3):
        result = np.add(*artefact.network.forward(windows, group_b))
        np.testing.assert_allclose(result, expected, atol=1e-5)


def test_the_builder_of_the_tests_makes_the_weights_flax_makes(trained):
    artefact, params, _ = trained
    shapes = {name: value.shape for name, value in export.flat_weights(params).items()}
    made = make_artefact(make_panel(n_depots=3, n_days=100), model=artefact.model)
    assert {name: value.shape for name, value in made.weights.items()} == shapes


def test_a_weight_that_differs_is_refused(trained):
    artefact, *inputs = trained
    other = {"gru_2/hn/bias": artefact.weights["gru_2/hn/bias"] + 0.1}
    differs = replace(artefact, weights=artefact.weights | other)
    with pytest.raises(ArtefactError, match="NumPy and Flax differ by"):
        export.measure_parity(differs, *inputs)
