"""Serving reads as many context days as influence the forecast."""

from dataclasses import replace

import numpy as np
import pytest

from forecaster.data import inputs
from forecaster.data.features import build_features, embedding_rows
from forecaster.inference import predict
from forecaster.model import export
from tests.make import make_artefact, make_panel

CONTEXT = 96
# Factor on the network's correction, so that a kept state shows in the forecast.
LOUD = 3_000


@pytest.fixture(scope="module")
def panel():
    return make_panel(n_depots=12, n_days=200)


@pytest.fixture(scope="module")
def artefact(panel):
    return make_artefact(panel, context=CONTEXT)


def newest(artefact, panel):
    features = build_features(
        panel, artefact.kinds, 7, embedding_rows(artefact.depot_ids)
    )
    last = np.full(panel.n_depots, panel.n_steps - 1)
    return inputs.cut_windows(features, artefact.task, np.arange(panel.n_depots), last)


def remembering(artefact, bias):
    """The update gate's bias: the higher, the longer a state is kept."""
    weights = {
        name: value + bias if name.endswith("iz/bias") else value
        for name, value in artefact.weights.items()
    }
    reported = weights["correction/kernel"] * LOUD
    return replace(artefact, weights=weights | {"correction/kernel": reported})


def test_one_that_forgets_needs_few_days_and_one_that_remembers_needs_all(
    artefact, panel
):
    windows = newest(artefact, panel)
    forgetful = export.measure_effective_context(remembering(artefact, -6.0), windows)
    thorough = export.measure_effective_context(remembering(artefact, 5.0), windows)
    assert forgetful == 2 * export.STEP_DAYS
    assert thorough == CONTEXT


def test_fewer_days_give_the_forecast_of_the_whole_context(artefact, panel):
    windows = newest(artefact, panel)
    days = export.measure_effective_context(artefact, windows)
    assert days < CONTEXT
    plain, correction = artefact.network.forward(windows)
    output = predict.predict(replace(artefact, effective_context_days=days), panel)
    gap = np.abs(output.baseline_dh + output.correction_dh - (plain + correction)[:, 0])
    assert np.quantile(gap, 0.99) <= export.CONTEXT_TOLERANCE
    assert gap.max() > 0
