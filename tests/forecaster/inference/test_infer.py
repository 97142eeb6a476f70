"""Forecasts are never negative or NaN, are 0 when closed, and use no later actuals."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from forecaster.data.panel import Panel
from forecaster.errors import ArtefactError, NoDataError
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


def zeros_for_months(demand):
    demand[0, 60:] = 0


def gap_of_forty_days(demand):
    demand[0, -40:] = np.nan


def three_weeks_of_history(demand):
    demand[0, :-21] = np.nan


def no_history(demand):
    demand[0] = np.nan


def one_order_a_day(demand):
    demand[0] = 1


def a_million_a_day(demand):
    demand[0] = 1_000_000


def doubled_last_week(demand):
    demand[0, -7:] *= 2


@pytest.mark.parametrize(
    "change",
    [
        zeros_for_months, gap_of_forty_days, three_weeks_of_history, no_history,
        one_order_a_day, a_million_a_day, doubled_last_week,
    ],
)  # fmt: skip
def test_a_forecast_is_whole_whatever_the_history(artefact, panel, change):
    result = infer.forecast(artefact, with_demand(panel, change))
    low, middle, high = result.p10_dh, result.p50_dh, result.p90_dh
    assert low.shape == (4, 7)
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()
    assert ((low >= 0) & (low <= middle) & (middle <= high)).all()


def test_a_closed_day_is_exactly_zero(artefact, panel):
    closed = panel.closed_dt.copy()
    closed[2, panel.n_steps + 3] = True
    result = infer.forecast(artefact, replace(panel, closed_dt=closed))
    for orders in (result.p10_dh, result.p50_dh, result.p90_dh):
        assert orders[2, 3] == 0.0
    assert result.basis_dh[2].tolist() == ["model"] * 3 + ["closed"] + ["model"] * 3
    assert (np.delete(result.p50_dh, 2, axis=0) > 0).all()


def test_a_depot_without_history_is_forecast_from_its_city_and_widely(artefact, panel):
    # A depot that was never seen is not known by name either.
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
    assert (result.p50_dh[0] > 0).all()


def test_a_fleet_without_history_is_refused(artefact, panel):
    with pytest.raises(
        NoDataError, match=r"No depot has an observed day.*harbor ingest"
    ):
        infer.forecast(artefact, with_demand(panel, lambda demand: demand.fill(np.nan)))


def test_nothing_after_the_origin_is_seen(artefact, panel):
    origin = panel.day(149)

    def tamper(demand):
        demand[:, 150:] = 1e6

    one, other = (
        infer.forecast(artefact, each.as_of(origin))
        for each in (panel, with_demand(panel, tamper))
    )
    np.testing.assert_array_equal(one.p50_dh, other.p50_dh)


def test_days_too_old_to_matter_change_nothing():
    long = make_panel(n_depots=2, n_days=1300)
    artefact = make_artefact(long)
    short = long.last(predict.receptive_field_days(artefact))
    assert short.n_steps < 1100
    np.testing.assert_allclose(
        infer.forecast(artefact, long).p50_dh, infer.forecast(artefact, short).p50_dh
    )


def test_a_fleet_in_chunks_equals_the_whole_fleet(artefact, panel, monkeypatch):
    whole = infer.forecast(artefact, panel)
    # Neither part has all the depots of a city.
    monkeypatch.setattr(predict, "DEPOTS_PER_CHUNK", 3)
    np.testing.assert_allclose(
        infer.forecast(artefact, panel).p50_dh, whole.p50_dh, rtol=1e-5
    )


def test_a_calendar_too_short_for_the_horizon_says_so(artefact):
    with pytest.raises(NoDataError, match=r"reaches 3 days.*forecasts 7.*ahead=7"):
        infer.forecast(artefact, make_panel(ahead=3))


def test_an_artefact_of_other_features_is_refused(artefact, panel):
    stranger = replace(artefact, feature_names=("weekday",))
    with pytest.raises(ArtefactError, match=r"trained with other inputs: 1 columns"):
        infer.forecast(stranger, panel)


def test_a_forecast_starts_the_day_after_the_origin(panel):
    """A weekly wave without noise comes back in phase from a network that adds nothing."""
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
