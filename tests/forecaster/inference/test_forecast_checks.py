"""What is grossly wrong with a forecast is found; what good models differ by is not."""

from dataclasses import replace

import numpy as np
import pytest

from forecaster.inference import forecast_checks, infer
from forecaster.model.export import PARITY_LIMIT
from tests.make import make_artefact, make_panel


@pytest.fixture(scope="module")
def panel():
    return make_panel(n_depots=20)


@pytest.fixture(scope="module")
def said(panel):
    return infer.forecast(make_artefact(panel), panel)


def wrong(said, shown, panel, parity_error=0.0):
    found = forecast_checks.run_checks(said, shown, panel, parity_error)
    return [check.name for check in found if not check.passed]


def scaled(said, times, depots=slice(None)):
    """The same forecast with some depots' numbers so many times larger."""
    by_d = np.ones(len(said.p50_dh))
    by_d[depots] = times
    bands = {
        name: getattr(said, name) * by_d[:, None]
        for name in ("p10_dh", "p50_dh", "p90_dh")
    }
    return replace(said, **bands)


def changed(said, name, value):
    band = getattr(said, name).copy()
    band[3, 2] = value
    return replace(said, **{name: band})


def test_a_usual_forecast_passes_every_check(said, panel):
    names = [
        check.name for check in forecast_checks.run_checks(said, said, panel, 1e-6)
    ]
    assert names == ["finite", "parity", "range", "fleet", "champion"]
    assert wrong(said, said, panel, 1e-6) == []
    assert wrong(said, None, panel) == []


@pytest.mark.parametrize("times", [0.4, 0.6, 1.5, 2.5])
def test_good_models_may_differ_so_much(said, panel, times):
    assert wrong(scaled(said, times), said, panel) == []


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
def test_one_number_that_is_none_or_out_of_order_is_found(said, panel, name, value):
    assert wrong(changed(said, name, value), said, panel) == ["finite"]


def test_a_total_that_is_no_number_is_found(said, panel):
    none = said.totals[0]._replace(p50_h=np.full_like(said.totals[0].p50_h, np.nan))
    bad = replace(said, totals=(none, *said.totals[1:]))
    [check] = [
        each
        for each in forecast_checks.run_checks(bad, said, panel, 0)
        if not each.passed
    ]
    assert check.says.startswith("7 numbers are not finite")


def test_one_depot_far_above_its_largest_day_is_found_by_name(said, panel):
    found = forecast_checks.run_checks(scaled(said, 20, slice(4, 5)), said, panel, 0)
    [check] = [each for each in found if not each.passed]
    assert check.name == "range"
    assert "1 depots" in check.says
    assert "such as D4" in check.says


def test_a_depot_that_is_hardly_known_is_not_held_against_its_largest_day(said, panel):
    young = panel.demand_dt.copy()
    young[4, :-5] = np.nan
    new = replace(panel, demand_dt=young)
    assert wrong(scaled(said, 20, slice(4, 5)), None, new) == []


@pytest.mark.parametrize("times", [0.05, 8])
def test_a_fleet_that_shrinks_or_grows_out_of_all_measure_is_found(said, panel, times):
    assert wrong(scaled(said, times), None, panel) == ["fleet"]


def test_closed_days_ahead_make_a_fleet_no_smaller(said, panel):
    closed = scaled(said, 0.0, slice(1, None))
    basis = closed.basis_dh.copy()
    basis[1:] = infer.CLOSED
    shut = replace(closed, basis_dh=basis)
    assert wrong(shut, None, panel) == []


@pytest.mark.parametrize(("depots", "found"), [(2, []), (3, ["champion"])])
def test_a_tenth_of_the_depots_may_be_apart_from_the_champion(
    said, panel, depots, found
):
    assert wrong(scaled(said, 3.6, slice(0, depots)), said, panel) == found


def test_few_orders_may_be_many_times_fewer(said, panel):
    tiny = scaled(said, 1e-3)
    assert wrong(scaled(tiny, 5), tiny, panel) == wrong(tiny, None, panel) == ["fleet"]


@pytest.mark.parametrize("error", [2 * PARITY_LIMIT, np.nan])
def test_a_parity_out_of_bounds_is_found(said, panel, error):
    assert wrong(said, said, panel, error) == ["parity"]
