"""Shifts: what a planner writes, and the orders, vans and drivers of each."""

import numpy as np
import pandas as pd
import pytest

from pipelines.planning import shift_times, shifts
from pipelines.planning.city_settings import CitySettings

DAY = pd.Timestamp("2026-11-26")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("06-14, 14-22", ["06–14", "14–22"]),
        ("14–22,6 - 14", ["06–14", "14–22"]),
        ("22-06", ["22–06"]),
        ("0-24", ["00–24"]),
        ("", []),
        ("early, late", []),
        ("06-25", []),
        ("24-06", []),
        ("6-14, 06-14", []),
        ("1-2,3-4,5-6,7-8,9-10", []),
    ],
)
def test_a_text_is_read_as_shifts(text, names):
    assert [shift.name for shift in shift_times.parse(text)] == names


def test_a_shift_past_midnight_has_its_hours():
    (night,) = shift_times.parse("22-06")
    assert night.n_hours == 8
    assert [hour for hour in range(24) if night.has(hour)] == [*range(6), 22, 23]


@pytest.mark.parametrize(
    "text", ["06-14, 14-22", "08-12", "22-06, 10-18", "06-16, 12-22"]
)
def test_every_hour_is_served_once(text):
    part = shifts.hours_by_shift(shift_times.parse(text))
    np.testing.assert_allclose(part.sum(axis=0), 1)


def test_hours_outside_go_to_the_next_shift_and_shared_ones_are_halved():
    part = shifts.hours_by_shift(shift_times.parse("06-14, 12-20"))
    assert list(part[0, [3, 5, 22, 23]]) == [1, 1, 1, 1]
    assert list(part[:, 12]) == [0.5, 0.5]


def plan_days(**columns):
    days = pd.DataFrame(
        {
            "city": "London",
            "target_on": [DAY],
            "point": [1000.0],
            "model_point": [1000.0],
            "needed": [22],
            "vans": [25.0],
        }
    )
    return days.assign(**columns)


BANDS = pd.DataFrame(
    {"city": ["London"], "target_on": [DAY], "p10": [900.0], "p90": [1100.0]}
)


def shares(by_hour):
    return pd.DataFrame(
        {
            "city": "London",
            "target_on": DAY,
            "hour": range(24),
            "share": by_hour / by_hour.sum(),
            "concentration": 1e5,
        }
    )


def rows_of(settings, by_hour, days=None, bands=BANDS):
    """The shifts of London's day with their vans."""
    days = plan_days() if days is None else days
    cities = {"London": settings}
    rows = shifts.of_cities(days, bands, shares(by_hour), cities)
    return shifts.with_vans(rows, days, cities)


BUSY_AFTERNOON = np.where(np.arange(24) >= 14, 3.0, 1.0)
BUSY_AFTERNOON[17] = 6


def test_orders_add_up_and_even_hours_need_the_days_vans_in_each_shift():
    settings = CitySettings("London", 25, 50.0, drivers_per_van=2.0)
    rows = rows_of(settings, np.ones(24))
    assert list(rows["shift"]) == ["06–14", "14–22"]
    # 16 of 24 hours fall on the morning shift: its own and the night's before it.
    assert rows["orders"].to_list() == [667, 333]
    even = np.where((np.arange(24) >= 6) & (np.arange(24) < 22), 1.0, 0)
    rows = rows_of(settings, even)
    assert rows["vans"].to_list() == [22, 22]
    assert (rows["drivers"] == rows["vans"]).all()


@pytest.mark.parametrize("point", [0.4, 1.0, 7.3, 100.49, 100.51, 2464.6])
def test_the_orders_of_shifts_are_whole_and_add_up_to_the_days(point):
    three = CitySettings("London", 25, 50.0, shifts="06-10, 10-17, 17-22")
    rows = rows_of(three, np.ones(24), plan_days(point=point))
    assert (rows["orders"] == rows["orders"].round()).all()
    assert rows["orders"].sum() == round(point)


@pytest.mark.parametrize("set_by_planner", ["06-14, 14-22", ""])
def test_the_fullest_shift_needs_the_days_vans_and_the_others_fewer(set_by_planner):
    settings = CitySettings("London", 20, 50.0, shifts=set_by_planner)
    rows = rows_of(settings, BUSY_AFTERNOON, plan_days(vans=20.0))
    morning, afternoon = rows.to_dict("records")
    assert afternoon["vans"] == 22 > morning["vans"]
    assert afternoon["busiest_hour"] == 17
    assert afternoon["busiest_orders"] == pytest.approx(1000 * 6 / BUSY_AFTERNOON.sum())
    if set_by_planner:
        assert rows["short"].to_list() == [max(morning["vans"] - 20, 0), 2]
    else:
        assert rows["short"].isna().all(), "nobody works in shifts that nobody has set"


def test_the_load_of_a_day_is_that_of_its_fullest_shift():
    """8 of 16 hours with three quarters of the orders: a half more than their part."""
    settings = CitySettings("London", 25, 50.0, shifts="06-14, 14-22")
    by_hour = np.where(np.arange(24) < 14, 1 / 14, 3 / 10)
    rows = shifts.by_shift(plan_days(), BANDS, shares(by_hour), settings)
    # The last two hours wait for the next morning.
    in_hours = np.array([14 / 14 + 2 * 0.3, 8 * 0.3])
    part = in_hours / in_hours.sum()
    load = shifts.loads(rows)["London", DAY]
    assert load.orders_s == pytest.approx(tuple(part))
    assert load.length_s == (0.5, 0.5)
    assert load.fullest == pytest.approx(part[1] / 0.5, rel=0.02)
    assert load.fullest > part[1] / 0.5, "a shift is less certain than its day"
    assert shifts.loads(rows.assign(is_set=False)) == {}


def test_a_shift_is_not_short_of_vans_that_are_not_known():
    settings = CitySettings("London", None, 50.0, shifts="06-14, 14-22")
    rows = rows_of(settings, np.ones(24), plan_days(vans=np.nan))
    assert rows["short"].isna().all()


def test_a_planners_number_moves_the_shifts():
    settings = CitySettings("London", 25, 50.0, shifts="00-12, 12-24")
    rows = rows_of(settings, np.ones(24), plan_days(point=2000.0, needed=44))
    assert rows["orders"].to_list() == pytest.approx([1000, 1000])
    assert rows["vans"].to_list() == [44, 44]


def test_a_closed_day_and_one_without_hours_have_no_shifts():
    settings = CitySettings("London", 25, 50.0)
    other = plan_days(target_on=[DAY + pd.Timedelta(days=1)])
    for days in (plan_days(point=0.0), other):
        assert rows_of(settings, np.ones(24), days).empty
