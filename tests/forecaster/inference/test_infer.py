"""Forecasts are never negative or NaN, are 0 when closed, and use no later actuals."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from forecaster.data.panel import Panel
from forecaster.errors import NoDataError
from forecaster.inference import infer, predict
from tests.make import make_artefact, make_panel


def with_demand(panel: Panel, change) -> Panel:
    demand = panel.demand_dt.copy()
    change(demand)
    return replace(panel, demand_dt=demand)


@pytest.fixture(scope="module")
def panel():
    return make_panel(n_depots=4, n_days=200)


@pytest.fixture(scope="module")
def artefact(panel):
    return make_artefact(panel)


def no_history(demand):
    demand[0] = np.nan


def test_a_depot_without_history_is_forecast_from_its_city_and_widely(artefact, panel):
    # A depot that was never seen is not among the artefact's depots either.
    named = replace(artefact, depot_ids=panel.depot_ids[3:])
    result = infer.forecast(named, with_demand(panel, no_history))
    assert result.basis_dh[0].tolist() == ["cold_start"] * 7
    # D2 is the only other depot in D0's city.
    np.testing.assert_allclose(result.p50_dh[0], result.p50_dh[2], rtol=1e-5)
    assert (result.p90_dh[0] > result.p90_dh[2]).all()
    assert (result.p10_dh[0] < result.p10_dh[2]).all()


def test_a_city_without_history_is_forecast_from_the_fleet(artefact, panel):
    def silence(demand):
        demand[[0, 2]] = np.nan

    result = infer.forecast(artefact, with_demand(panel, silence))
    assert (result.basis_dh[[0, 2]] == "cold_start").all()
    small_h, new_h, large_h = result.p50_dh[[1, 0, 3]]
    assert ((small_h < new_h) & (new_h < large_h)).all()


def test_a_fleet_in_chunks_equals_the_whole_fleet(artefact, panel, monkeypatch):
    whole = infer.forecast(artefact, panel)
    # Neither chunk has all the depots of a city.
    monkeypatch.setattr(predict, "DEPOTS_PER_CHUNK", 3)
    np.testing.assert_allclose(
        infer.forecast(artefact, panel).p50_dh, whole.p50_dh, rtol=1e-5
    )


def test_a_calendar_too_short_for_the_horizon_says_so(artefact):
    with pytest.raises(NoDataError, match=r"reaches 3 days.*forecasts 7.*ahead=7"):
        infer.forecast(artefact, make_panel(ahead=3))


def test_a_forecast_starts_the_day_after_the_origin(panel):
    """A weekly wave without noise is forecast in phase, with a network that adds nothing."""
    artefact = make_artefact(panel)
    silent = {**artefact.weights}
    silent["correction/kernel"] = np.zeros_like(silent["correction/kernel"])
    silent["correction/bias"] = np.zeros_like(silent["correction/bias"])
    artefact = replace(artefact, weights=silent)

    def wave(demand):
        demand[:] = 100 * (1 + np.arange(demand.shape[1]) % 7)

    for days_ago in range(7):
        origin = panel.origin - timedelta(days=days_ago)
        seen = with_demand(panel, wave).as_of(origin)
        expected = 100 * (1 + (seen.n_steps + np.arange(7)) % 7)
        np.testing.assert_allclose(
            infer.forecast(artefact, seen).p50_dh[0], expected, rtol=0.05
        )


def test_a_depot_that_is_not_known_by_name_has_nothing_of_its_own(artefact, panel):
    nameless = artefact.weights | {
        "depots/embedding": np.zeros_like(artefact.weights["depots/embedding"])
    }
    nobody = infer.forecast(replace(artefact, weights=nameless), panel)
    named = infer.forecast(artefact, panel)
    strangers = replace(artefact, depot_ids=("elsewhere",))
    stranger = infer.forecast(strangers, panel)
    np.testing.assert_array_equal(stranger.p50_dh[0], nobody.p50_dh[0])
    assert (named.p50_dh[0] != nobody.p50_dh[0]).all()
