"""Shifts: what a planner writes, and the orders, vans and drivers of each."""

from dataclasses import replace

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


def test_orders_add_up_and_even_hours_need_the_days_vans_in_each_shift():
    settings = CitySettings("London", 25, 50.0, drivers_per_van=2.0)
    rows = shifts.by_shift(plan_days(), BANDS, shares(np.ones(24)), settings)
    assert list(rows["shift"]) == ["06–14", "14–22"]
    assert rows["orders"].sum() == pytest.approx(1000)
    # 16 of 24 hours fall on the morning shift: its own and the night's before it.
    assert rows["orders"].to_list() == pytest.approx([1000 * 16 / 24, 1000 * 8 / 24])
    even = np.where((np.arange(24) >= 6) & (np.arange(24) < 22), 1.0, 0)
    rows = shifts.by_shift(plan_days(), BANDS, shares(even), settings)
    assert rows["vans"].between(21, 24).all()
    assert (rows["drivers"] == rows["vans"]).all()


def test_a_busy_afternoon_needs_more_vans_than_the_day_and_is_its_busiest_hour():
    by_hour = np.where(np.arange(24) >= 14, 3.0, 1.0)
    by_hour[17] = 6
    settings = CitySettings("London", 25, 50.0, shifts="06-14, 14-22")
    rows = shifts.by_shift(plan_days(), BANDS, shares(by_hour), settings)
    morning, afternoon = rows.to_dict("records")
    assert afternoon["vans"] > 22 > morning["vans"]
    assert afternoon["busiest_hour"] == 17
    assert afternoon["busiest_orders"] == pytest.approx(1000 * 6 / by_hour.sum())
    assert list(rows["short"]) == [0, afternoon["vans"] - 25]
    assert list(rows["missing"]) == [morning["vans"] - 25, afternoon["vans"] - 25]
    unset = replace(settings, shifts="")
    rows = shifts.by_shift(plan_days(), BANDS, shares(by_hour), unset)
    assert rows["missing"].isna().all(), "nobody works in shifts that nobody has set"
    assert rows["short"].isna().all()


def test_the_plan_names_the_shift_that_lacks_more_than_its_day():
    """33 vans are hired for a day's need, and its busier shift lacks three more."""
    days = plan_days(needed=85, vans=85.0, extra=33, short=0, lacking=33, drivers=85)
    rows = pd.DataFrame(
        {"city": "London", "target_on": DAY, "shift": ["06–14", "14–22"],
         "vans": [88, 83], "missing": [3.0, -2.0], "drivers": [88, 83]}
    )  # fmt: skip
    [day] = shifts.with_largest(days, rows).to_dict("records")
    assert (day["shift"], day["shift_short"], day["shift_lacking"]) == ("06–14", 3, 36)
    assert day["drivers"] == 88 + 83
    enough = rows.assign(missing=[0.0, -5.0])
    [day] = shifts.with_largest(days.assign(vans=88.0, extra=36), enough).to_dict(
        "records"
    )
    assert (day["shift_short"], day["shift_lacking"]) == (0, 36)
    unset = rows.assign(missing=np.nan)
    [day] = shifts.with_largest(days, unset).to_dict("records")
    assert (day["shift_short"], day["shift_lacking"], day["drivers"]) == (0, 0, 171)
    other = rows.assign(target_on=DAY + pd.Timedelta(days=1))
    for none in (rows[:0], other):
        [day] = shifts.with_largest(days, none).to_dict("records")
        assert (day["shift"], day["shift_short"], day["drivers"]) == ("", 0, 85)


def test_a_shift_is_not_short_of_vans_that_are_not_known():
    settings = CitySettings("London", None, 50.0)
    even = shares(np.ones(24))
    rows = shifts.by_shift(plan_days(vans=np.nan), BANDS, even, settings)
    assert rows["short"].isna().all()


def test_a_planners_number_moves_the_shifts():
    even = shares(np.ones(24))
    settings = CitySettings("London", 25, 50.0, shifts="00-12, 12-24")
    rows = shifts.by_shift(plan_days(point=2000.0, needed=44), BANDS, even, settings)
    assert rows["orders"].to_list() == pytest.approx([1000, 1000])
    assert rows["vans"].between(43, 48).all()


def test_a_closed_day_and_one_without_hours_have_no_shifts():
    settings = CitySettings("London", 25, 50.0)
    even = shares(np.ones(24))
    assert shifts.by_shift(plan_days(point=0.0), BANDS, even, settings).empty
    other = plan_days(target_on=[DAY + pd.Timedelta(days=1)])
    assert shifts.by_shift(other, BANDS, even, settings).empty
