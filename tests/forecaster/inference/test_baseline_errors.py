"""The errors of a year equal those of a forecast from each of its origins."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from forecaster.data.effects import fit_effects
from forecaster.inference import baseline_errors as module
from forecaster.inference import predict
from forecaster.inference.baseline_errors import baseline_errors
from tests.make import make_artefact, make_panel

HORIZON = 7


def whole(panel, effects):
    parts = list(baseline_errors(panel, effects, HORIZON))
    return module.BaselineErrors(*map(np.concatenate, zip(*parts, strict=True)))


@pytest.fixture(scope="module")
def panel():
    return make_panel(n_depots=3, n_days=200)


@pytest.fixture(scope="module")
def errors(panel):
    return whole(panel, fit_effects(panel, HORIZON))


def test_an_origins_baseline_is_the_one_that_serving_makes(panel, errors):
    # An artefact without effects, which are fitted separately for the year.
    artefact = make_artefact(panel)
    n_origins = errors.error_doh.shape[1]
    for days_ago in (1, 20, 90):
        seen = panel.as_of(panel.origin - timedelta(days=days_ago))
        raw = predict.predict(artefact, seen)
        position = n_origins - days_ago
        np.testing.assert_allclose(
            errors.baseline_doh[:, position], raw.baseline_dh, atol=2e-3
        )
        np.testing.assert_allclose(
            errors.spread_do[:, position], raw.spread_d, atol=2e-3
        )


def test_an_error_is_the_actual_less_the_baseline_and_unknown_past_the_panels_end(
    panel, errors
):
    log_dt = np.log1p(panel.demand_dt)
    # The last origin is the last day but one, so that only its first day ahead is known.
    np.testing.assert_allclose(
        errors.error_doh[:, -1, 0],
        log_dt[:, -1] - errors.baseline_doh[:, -1, 0],
        atol=1e-5,
    )
    assert np.isnan(errors.error_doh[:, -1, 1:]).all()
    np.testing.assert_allclose(
        errors.error_doh[:, -10, 3],
        log_dt[:, -7] - errors.baseline_doh[:, -10, 3],
        atol=1e-5,
    )


def test_errors_see_no_later_day(panel, errors):
    later = panel.demand_dt.copy()
    later[:, 150:] *= 5
    other = whole(replace(panel, demand_dt=later), fit_effects(panel, HORIZON))
    until = errors.error_doh.shape[1] - (200 - 150)
    np.testing.assert_allclose(
        other.baseline_doh[:, :until], errors.baseline_doh[:, :until], atol=1e-5
    )


def test_a_depots_first_month_does_not_count():
    panel = make_panel(n_depots=2, n_days=100)
    demand_dt = panel.demand_dt.copy()
    demand_dt[0, :40] = np.nan
    panel = replace(panel, demand_dt=demand_dt)
    errors = whole(panel, fit_effects(panel, HORIZON))
    known_do = np.isfinite(errors.error_doh[..., 0])
    # Origins begin with step 0; the depot's first day is step 40.
    assert known_do[0].argmax() == 40 + module.SETTLED_DAYS
    assert known_do[1].argmax() == module.SETTLED_DAYS


def test_depots_in_chunks_have_the_same_errors(monkeypatch):
    panel = make_panel(n_depots=4, n_days=120)
    effects = fit_effects(panel, HORIZON)
    together = whole(panel, effects)
    monkeypatch.setattr(module, "DEPOTS_PER_CHUNK", 3)
    for one, other in zip(whole(panel, effects), together, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
