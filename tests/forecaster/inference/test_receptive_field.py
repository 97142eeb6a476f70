"""A network reads as many days as it remembers, and no fewer."""

from dataclasses import replace

import numpy as np
import pytest

from forecaster.data import inputs
from forecaster.data.features import build_features, embedding_rows
from forecaster.inference import numpy_model, predict, receptive_field
from tests.make import make_artefact, make_panel

CONTEXT = 96
# What the network adds, so many times: a state that is kept must be heard.
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
    return inputs.cut(features, artefact.task, np.arange(panel.n_depots), last)


def remembering(artefact, bias):
    """The update gate's bias: the higher, the longer a state is kept."""
    weights = {
        name: value + bias if name.endswith("iz/bias") else value
        for name, value in artefact.weights.items()
    }
    told = weights["correction/kernel"] * LOUD
    return replace(artefact, weights=weights | {"correction/kernel": told})


def test_one_that_forgets_reads_little_and_one_that_remembers_reads_all(
    artefact, panel
):
    slices = newest(artefact, panel)
    forgetful = receptive_field.effective_context_days(
        remembering(artefact, -6.0), slices
    )
    thorough = receptive_field.effective_context_days(
        remembering(artefact, 5.0), slices
    )
    assert forgetful == 2 * receptive_field.STEP_DAYS
    assert thorough == CONTEXT


def test_what_it_forecasts_is_what_the_whole_context_would_give(artefact, panel):
    slices = newest(artefact, panel)
    days = receptive_field.effective_context_days(artefact, slices)
    assert days < CONTEXT
    plain, correction = numpy_model.Network(artefact).forward(slices)
    said = predict.predict(replace(artefact, reading_days=days), panel)
    gap = np.abs(said.baseline_dh + said.correction_dh - (plain + correction)[:, 0])
    assert np.quantile(gap, 0.99) <= receptive_field.MAX_DIFFERENCE
    assert gap.max() > 0
