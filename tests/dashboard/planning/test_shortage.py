"""Vans short by city and day."""

import pytest

from dashboard import queries
from dashboard.planning import shortage
from tests.dashboard.planning.changing import change

pytestmark = pytest.mark.db


def test_every_city_has_its_days_with_the_vans_of_its_depots(freshness):
    days = shortage.city_days(freshness)
    assert [day.city for day in days] == ["London"] * 7 + ["Rotterdam"] * 7
    assert [day.day_on for day in days[:7]] == sorted({day.day_on for day in days})
    assert {day.vans_available for day in days[7:]} == {6 + 4 + 3}
    for day in days[7:]:
        assert day.short == max(day.vans_needed - day.vans_available, 0)
        assert (day.short > 0) == (day.delivery_probability < 0.9)
    assert all(day.orders > 0 and day.is_estimated for day in days)


def test_a_city_with_a_depot_whose_vans_are_not_known_is_not_short(freshness):
    london = shortage.city_days(freshness)[:7]
    assert {(day.vans_available, day.delivery_probability) for day in london} == {
        (None, None)
    }
    assert not any(day.short for day in london)


def test_a_planners_number_is_in_the_shortage(freshness, tomorrow):
    before = shortage.city_days(freshness)[7]
    change(orders=9000, depot="RTM-01", day=tomorrow)
    after = shortage.city_days(queries.freshness())[7]
    assert after.orders > before.orders + 7000
    assert after.vans_needed > before.vans_needed
    assert after.short > 0
    assert after.delivery_probability < 0.01
