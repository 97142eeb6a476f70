"""Gross faults of a forecast fail a check; differences of good models do not."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from forecaster.inference import forecast_checks, infer
from forecaster.model.export import PARITY_LIMIT
from tests.make import START, make_artefact, make_demand, make_events, make_panel


@pytest.fixture(scope="module")
def panel():
    return make_panel(n_depots=20)


@pytest.fixture(scope="module")
def forecast(panel):
    return infer.forecast(make_artefact(panel), panel)


def failed_checks(forecast, champion, panel, parity_error=0.0):
    checks = forecast_checks.run_checks(forecast, champion, panel, parity_error)
    return [check for check in checks if not check.passed]


def failed(*given):
    return [check.name for check in failed_checks(*given)]


def scaled(forecast, times, depots=slice(None)):
    """The same forecast with the numbers of some depots multiplied by `times`."""
    by_d = np.ones(len(forecast.p50_dh))
    by_d[depots] = times
    quantiles = {
        name: getattr(forecast, name) * by_d[:, None]
        for name in ("p10_dh", "p50_dh", "p90_dh")
    }
    return replace(forecast, **quantiles)


def changed(forecast, name, value):
    quantile_dh = getattr(forecast, name).copy()
    quantile_dh[3, 2] = value
    return replace(forecast, **{name: quantile_dh})


def test_a_usual_forecast_passes_every_check(forecast, panel):
    names = [
        check.name
        for check in forecast_checks.run_checks(forecast, forecast, panel, 1e-6)
    ]
    assert names == ["finite", "parity", "range", "fleet", "champion"]
    assert failed(forecast, forecast, panel, 1e-6) == []
    assert failed(forecast, None, panel) == []


@pytest.mark.parametrize("times", [0.4, 0.6, 1.5, 2.5])
def test_differences_of_good_models_pass(forecast, panel, times):
    assert failed(scaled(forecast, times), forecast, panel) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("p50_dh", np.nan),
        ("p90_dh", np.inf),
        ("p10_dh", np.nan),
        ("p10_dh", -1.0),
        ("p90_dh", 0.0),
        ("p10_dh", 1e9),
    ],
)
def test_one_number_that_is_missing_or_out_of_order_fails(forecast, panel, name, value):
    assert failed(changed(forecast, name, value), forecast, panel) == ["finite"]


def test_a_total_that_is_not_finite_fails(forecast, panel):
    none = forecast.totals[0]._replace(
        p50_h=np.full_like(forecast.totals[0].p50_h, np.nan)
    )
    bad = replace(forecast, totals=(none, *forecast.totals[1:]))
    [check] = failed_checks(bad, forecast, panel)
    assert check.says.startswith("7 numbers are not finite")


def test_a_depot_far_above_its_largest_day_fails_by_name(forecast, panel):
    [check] = failed_checks(scaled(forecast, 20, slice(4, 5)), forecast, panel)
    assert check.name == "range"
    assert "1 depots" in check.says
    assert "such as D4" in check.says


def test_a_young_depot_is_not_compared_with_its_largest_day(forecast, panel):
    young = panel.demand_dt.copy()
    young[4, :-5] = np.nan
    new = replace(panel, demand_dt=young)
    assert failed(scaled(forecast, 20, slice(4, 5)), None, new) == []


@pytest.mark.parametrize("times", [0.05, 8])
def test_a_fleet_that_shrinks_or_grows_beyond_the_limit_fails(forecast, panel, times):
    assert failed(scaled(forecast, times), None, panel) == ["fleet"]


def test_closed_days_ahead_are_left_out_of_the_fleet_check(forecast, panel):
    closed = scaled(forecast, 0.0, slice(1, None))
    basis = closed.basis_dh.copy()
    basis[1:] = infer.CLOSED
    shut = replace(closed, basis_dh=basis)
    assert failed(shut, None, panel) == []


@pytest.mark.parametrize(("depots", "names"), [(2, []), (3, ["champion"])])
def test_a_tenth_of_the_depots_may_differ_from_the_champion(
    forecast, panel, depots, names
):
    assert failed(scaled(forecast, 3.6, slice(0, depots)), forecast, panel) == names


def test_small_counts_may_differ_many_times_over(forecast, panel):
    tiny = scaled(forecast, 1e-3)
    assert (
        failed(scaled(tiny, 5), tiny, panel) == failed(tiny, None, panel) == ["fleet"]
    )


@pytest.mark.parametrize("error", [2 * PARITY_LIMIT, np.nan])
def test_a_parity_error_above_the_limit_fails(forecast, panel, error):
    assert failed(forecast, forecast, panel, error) == ["parity"]


def failed_on(panel):
    made = infer.forecast(make_artefact(panel), panel)
    return failed_checks(made, made, panel)


def two_large_depots(n_days):
    """Demand of eight depots, and a mask of its rows of two that are thirty times as large."""
    demand = make_demand(8, n_days)
    is_large = demand["depot_id"].isin(["D6", "D7"])
    demand.loc[is_large, "orders"] *= 30
    return demand, is_large


def test_large_depots_that_close_for_a_week_are_no_gross_change():
    demand, _ = two_large_depots(120)
    first, last = START + timedelta(days=120), START + timedelta(days=126)
    events = make_events(
        *(("closed", first, last, None, depot, None) for depot in ("D6", "D7"))
    )
    assert failed_on(make_panel(8, 120, 21, demand=demand, events=events)) == []


def test_a_large_depots_feed_that_is_back_after_weeks_is_no_gross_change():
    demand, is_large = two_large_depots(120)
    step = demand.groupby("depot_id").cumcount()
    lost = is_large & (step >= 93) & (step < 119)
    assert failed_on(make_panel(8, 120, 21, demand=demand[~lost])) == []
