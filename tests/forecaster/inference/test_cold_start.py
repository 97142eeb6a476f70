"""New depots get the history of their city, scaled to their own level."""

from dataclasses import replace

import numpy as np
import pytest

from forecaster.inference.cold_start import (
    MATURE,
    _Medians,
    impute_from_peers,
    own_days,
)
from tests.make import make_panel

N_DAYS = 60


@pytest.fixture
def panel():
    """Six depots of one city, the last at twice the orders of the others."""
    panel = replace(make_panel(n_depots=6, n_days=N_DAYS), cities=("Ghent",) * 6)
    week_t = np.tile([50.0, 60, 55, 70, 90, 30, 20], 9)[:N_DAYS]
    demand_dt = np.tile(week_t, (6, 1)).astype(np.float32)
    demand_dt[5] *= 2
    return replace(panel, demand_dt=demand_dt)


def with_days(panel, days):
    """The panel with only the newest days of its last depot."""
    demand_dt = panel.demand_dt.copy()
    demand_dt[5, : N_DAYS - days] = np.nan
    return replace(panel, demand_dt=demand_dt)


def filled(panel):
    own_d = own_days(panel, N_DAYS)
    demand_dt = panel.demand_dt.copy()
    demand_dt[own_d != MATURE] = impute_from_peers(panel, own_d)
    return demand_dt


@pytest.mark.parametrize("days", [3, 10, 27])
def test_a_young_depot_has_the_week_of_its_city_at_its_own_level(panel, days):
    result = filled(with_days(panel, days))[5]
    np.testing.assert_allclose(result, panel.demand_dt[5], rtol=0.03)
    np.testing.assert_array_equal(result[-days:], panel.demand_dt[5, -days:])


def test_a_young_depot_alone_in_its_city_has_the_week_of_other_young_ones(panel):
    demand_dt = panel.demand_dt.copy()
    demand_dt[:, : N_DAYS - 20] = np.nan
    demand_dt[5, : N_DAYS - 10] = np.nan
    cities = ("Ghent",) * 5 + ("Lille",)
    alone = replace(panel, cities=cities, demand_dt=demand_dt)
    own = slice(N_DAYS - 20, None)
    np.testing.assert_allclose(
        filled(alone)[5, own], panel.demand_dt[5, own], rtol=0.03
    )


def test_a_depot_without_days_has_its_citys_median(panel):
    np.testing.assert_allclose(filled(with_days(panel, 0))[5], panel.demand_dt[0])


def test_after_four_weeks_a_depot_stands_alone(panel):
    assert np.isnan(filled(with_days(panel, 28))[5, : N_DAYS - 28]).all()


def test_only_the_first_week_decides_the_level(panel):
    """Later days must not influence forecasts from earlier origins."""
    young = with_days(panel, 14)
    other = young.demand_dt.copy()
    other[5, -7:] *= 3
    before = slice(0, N_DAYS - 14)
    np.testing.assert_array_equal(
        filled(young)[5, before],
        filled(replace(young, demand_dt=other))[5, before],
    )


@pytest.mark.filterwarnings("ignore:All-NaN slice encountered")
def test_young_depots_without_mature_ones_have_the_median_of_the_others(panel):
    rng = np.random.default_rng(0)
    demand_dt = np.full(panel.demand_dt.shape, np.nan, np.float32)
    demand_dt[:, -20:] = rng.integers(0, 4, (6, 20))  # with ties
    demand_dt[rng.random(demand_dt.shape) < 0.3] = np.nan
    for depot in range(6):
        others_dt = np.delete(demand_dt, depot, axis=0)
        median_t = _Medians(demand_dt).without(demand_dt[depot])
        np.testing.assert_array_equal(median_t, np.nanmedian(others_dt, axis=0))


def test_a_citys_median_is_computed_once_for_all_its_new_depots(panel, monkeypatch):
    demand_dt = panel.demand_dt.copy()
    demand_dt[2:, : N_DAYS - 5] = np.nan
    sorted_rows = []
    sort = np.sort
    monkeypatch.setattr(
        np, "sort", lambda rows, axis: sorted_rows.append(rows) or sort(rows, axis)
    )
    filled(replace(panel, demand_dt=demand_dt))
    assert [len(rows) for rows in sorted_rows] == [2]


def test_a_fleet_of_young_depots_stays_as_it_is(panel):
    short = replace(panel, demand_dt=with_days(panel, 6).demand_dt)
    short.demand_dt[:, : N_DAYS - 6] = np.nan
    np.testing.assert_array_equal(filled(short), short.demand_dt)


def test_own_days_count_up_to_a_week_and_then_stay():
    panel = make_panel(n_depots=1, n_days=N_DAYS)
    demand_dt = panel.demand_dt.copy()
    demand_dt[0, :20] = np.nan
    panel = replace(panel, demand_dt=demand_dt)
    ends = (19, 20, 25, 26, 46, 47)
    own = [int(own_days(panel.as_of(panel.day(end)), N_DAYS)[0]) for end in ends]
    assert own == [0, 1, 6, 7, 7, MATURE]
