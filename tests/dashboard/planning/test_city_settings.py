"""Settings of cities: estimated until somebody has saved some."""

from dataclasses import replace

import pandas as pd
import pytest

from dashboard import queries
from dashboard.planning import city_settings, van_plan
from forecaster.errors import BadInputError
from pipelines.planning import shift_times
from pipelines.planning.city_settings import DEFAULT_CAPACITY, CitySettings, estimate
from pipelines.planning.vans import quantile_orders
from tests.dashboard.planning import changing
from tests.dashboard.planning.test_van_plan import DAYS, fleet

WEEK = fleet(
    ("A", "Poplar", DAYS[0], 100.0, "model"), ("B", "Wapping", DAYS[0], 100.0, "model")
)
LONDON = CitySettings("London", 12, 25.0, 0.8, 1.5)


def busy(orders):
    return pd.DataFrame({"city": ["London"], "orders": [orders]})


def current():
    return city_settings.by_city(queries.freshness())


def test_the_estimate_lets_the_vans_suffice_on_a_busy_day():
    """Six vans, of which one is lost to half-full last vans of two depots."""
    estimated = estimate(WEEK, busy(300.0))["London"]
    margin = quantile_orders(*(pd.Series([x]) for x in (80.0, 100.0, 120.0)), 0.9)[0]
    assert margin == pytest.approx(120, rel=0.01)
    assert (estimated.vans, estimated.orders_per_van) == (6, 72)  # 300 * 1.2 / 5
    assert estimated.is_estimated


@pytest.mark.parametrize(
    ("week", "days"),
    [
        pytest.param(WEEK.assign(vans=float("nan")), busy(300.0), id="no vans"),
        pytest.param(
            WEEK.assign(
                vans=WEEK["vans"].where(WEEK["depot_id"] == WEEK["depot_id"][0])
            ),
            busy(300.0),
            id="vans of one depot only",
        ),
        pytest.param(WEEK, busy(300.0)[:0], id="no orders yet"),
        pytest.param(WEEK.assign(vans=0.0), busy(300.0), id="not one van"),
    ],
)
def test_what_cannot_be_estimated_has_a_default(week, days):
    estimated = estimate(week, days)["London"]
    assert estimated.orders_per_van == DEFAULT_CAPACITY


def test_a_city_is_not_short_because_some_depots_have_no_number():
    some = WEEK["vans"].where(WEEK["depot_id"] == WEEK["depot_id"][0])
    estimated = estimate(WEEK.assign(vans=some), busy(300.0))["London"]
    assert estimated.vans is None


def test_all_that_is_wrong_is_told_at_once():
    wrong = CitySettings("London", None, 0.0, 0.2, 9.0)
    with pytest.raises(BadInputError) as refused:
        city_settings.save(wrong, " ")
    assert str(refused.value) == (
        "Vans: enter 0 or more. "
        "Orders per van: enter 1 or more, not 0. "
        "Service level in %: enter 50 or more, not 20. "
        "Drivers per van: enter 5 or less, not 9. "
        "Your name is missing. Enter it; it is saved with the change."
    )


@pytest.mark.db
def test_every_city_is_estimated_until_somebody_saves_settings(seeded):
    before = current()
    assert {city: each.is_estimated for city, each in before.items()} == {
        "London": True,
        "Rotterdam": True,
    }
    city_settings.save(replace(LONDON, settings_id=None), "Anna")
    after = current()
    saved = after["London"]
    assert replace(saved, made_by=None, made_at=None, settings_id=None) == LONDON
    assert (saved.made_by, saved.is_estimated) == ("Anna", False)
    assert saved.made_at.tzinfo is not None
    assert after["Rotterdam"] == before["Rotterdam"]


@pytest.mark.db
def test_settings_of_one_city_change_no_other_citys_plan(seeded):
    def days_of(city):
        days = van_plan.fleet_plan(queries.freshness()).cities
        return days[days["city"] == city]

    before = days_of("Rotterdam")
    city_settings.save(replace(LONDON, orders_per_van=5.0), "Anna")
    pd.testing.assert_frame_equal(days_of("Rotterdam"), before)
    assert not current()["London"].is_estimated
    assert (days_of("London")["short"] > 0).all()


@pytest.mark.db
def test_the_second_of_two_planners_is_told_of_the_first(seeded):
    seen = current()["London"]
    city_settings.save(replace(seen, vans=20), "Anna")
    with pytest.raises(BadInputError, match=r"settings of London were saved by Anna"):
        city_settings.save(replace(seen, vans=30), "Ben")
    city_settings.save(replace(current()["London"], vans=30), "Ben")
    assert (current()["London"].vans, current()["London"].made_by) == (30, "Ben")


@pytest.mark.db
def test_an_undo_brings_back_the_settings_before_and_a_second_one_those_it_took_back(
    seeded,
):
    before = current()["London"]

    def undo():
        changing.undo_one("settings", current()["London"].settings_id, "Ben")
        return current()["London"]

    city_settings.save(replace(before, vans=20, shifts="06-14, 14-22"), "Anna")
    assert (undo().is_estimated, current()["London"].vans) == (True, before.vans)
    assert current()["London"].are_taken_back
    again = undo()
    assert (again.vans, again.shifts, again.made_by) == (20, "06-14, 14-22", "Ben")
    city_settings.save(replace(again, vans=30), "Anna")
    assert (undo().vans, current()["London"].shifts) == (20, "06-14, 14-22")


@pytest.mark.db
def test_an_unknown_city_has_no_settings(seeded):
    with pytest.raises(BadInputError, match="No depot is in the city Atlantis"):
        city_settings.save(replace(LONDON, city="Atlantis"), "Anna")


def test_a_mistake_in_shifts_is_told_with_the_rule():
    wrong = CitySettings("London", 9, 50.0, shifts="six to two")
    (told,) = city_settings.entry_problems(wrong)
    assert told == f"Shifts are “six to two”. {shift_times.RULE}"
    assert city_settings.entry_problems(replace(wrong, shifts="06-14")) == []


def test_shifts_too_long_for_the_table_are_refused(seeded):
    with pytest.raises(BadInputError):
        changing.set_city("Rotterdam", shifts="06-14" + ", " * 60 + "14-22")
