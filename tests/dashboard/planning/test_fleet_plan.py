"""The plan of the fleet: vans short by city and day."""

import pytest

from dashboard import queries
from dashboard.planning import city_settings, fleet_plan
from tests.dashboard.planning.changing import change

pytestmark = pytest.mark.db


def test_every_city_has_its_days_with_the_vans_of_its_depots(freshness):
    days = fleet_plan.totals(freshness)
    assert list(days["city"]) == ["London"] * 7 + ["Rotterdam"] * 7
    assert list(days["target_on"][:7]) == sorted(set(days["target_on"]))
    rotterdam = days[7:]
    assert set(rotterdam["vans"]) == {6 + 4 + 3}
    assert (rotterdam["short"] == (rotterdam["needed_pooled"] - 13).clip(lower=0)).all()
    is_unlikely = rotterdam["delivery_probability"] < 0.9
    assert ((rotterdam["short"] > 0) == is_unlikely).all()
    assert (days["point"] > 0).all()
    assert all(each.is_estimated for each in city_settings.by_city(freshness).values())


def test_a_city_with_a_depot_whose_vans_are_not_known_is_not_short(freshness):
    london = fleet_plan.totals(freshness)[:7]
    assert london[["vans", "delivery_probability"]].isna().all(axis=None)
    assert not london["short"].any()


def test_a_planners_number_is_in_the_shortage(freshness, tomorrow):
    before = fleet_plan.totals(freshness).iloc[7]
    change(orders=9000, depot="RTM-01", day=tomorrow)
    after = fleet_plan.totals(queries.freshness()).iloc[7]
    assert after["point"] > before["point"] + 7000
    assert after["needed_pooled"] > before["needed_pooled"]
    assert after["short"] > 0
    assert after["delivery_probability"] < 0.01
