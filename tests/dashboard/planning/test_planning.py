"""The plan over literal forecasts."""

import numpy as np
import pandas as pd
import pytest

from dashboard.planning import planning
from dashboard.planning.city_settings import CitySettings
from dashboard.planning.transfers import POOL, Transfer
from dashboard.tables import tables
from tests.dashboard.no_override import as_forecast

DAYS = pd.to_datetime(["2025-11-21", "2025-11-22"]).as_unit("s")
NO_BANDS = pd.DataFrame(columns=["city", "target_on", "p10", "p90"])


def fleet(*rows, city="London", vans=3.0):
    columns = ["depot_id", "name", "target_on", "point", "basis"]
    table = pd.DataFrame(rows, columns=columns).assign(city=city, vans=vans)
    point = table["point"]
    table = table.assign(p10=0.8 * point, p50=point, p90=1.2 * point)
    return as_forecast(table)


def london(vans, level=0.5, drivers=1.0):
    return {"London": CitySettings("London", vans, 50, level, drivers)}


@pytest.fixture
def week():
    return fleet(
        ("A", "Poplar", DAYS[0], 100.0, "model"),
        ("A", "Poplar", DAYS[1], 200.0, "model"),
        ("B", "Wapping", DAYS[0], 0.0, "closed"),
        ("B", "Wapping", DAYS[1], 149.0, "model"),
    )


def test_every_depot_gets_the_vans_it_needs_where_there_are_enough(week):
    plan = planning.make_plan(week, london(10))
    assert plan["needed"].tolist() == plan["allocated"].tolist() == [2, 4, 0, 3]
    days = planning.by_city(plan, london(10), NO_BANDS)
    assert days["spare"].tolist() == [8, 3]


def test_too_few_vans_are_all_allocated(week):
    plan = planning.make_plan(week, london(5))
    # The third van of each is full in most cases, and the fourth of A carries more than
    # that: 200 orders fill it, 149 do not quite fill the third of B.
    assert plan["allocated"].tolist() == [2, 3, 0, 2]
    days = planning.by_city(plan, london(5), NO_BANDS)
    assert days["allocated"].tolist() == [2, 5]
    assert days["short"].tolist() == [0, days["needed_pooled"].iloc[1] - 5]
    assert days["short"].iloc[1] >= 1


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("vans", range(2, 11))
def test_a_city_is_short_exactly_where_its_chance_is_below_its_service_level(
    week, vans, level
):
    settings = london(vans, level)
    days = planning.by_city(planning.make_plan(week, settings), settings, NO_BANDS)
    assert ((days["short"] > 0) == (days["delivery_probability"] < level)).all()


def test_the_citys_own_band_makes_its_chance_surer(week):
    """Two depots that do not move together seldom have their worst day at once."""
    bands = pd.DataFrame(
        {
            "city": "London",
            "target_on": DAYS,
            "p10": [80.0, 320.0],
            "p90": [120.0, 378.0],
        }
    )
    plan = planning.make_plan(week, london(8))
    alone = planning.by_city(plan, london(8), NO_BANDS)["delivery_probability"].iloc[1]
    banded = planning.by_city(plan, london(8), bands)["delivery_probability"].iloc[1]
    assert banded > alone


def test_without_known_vans_nothing_is_short_and_no_chance_is_known(week):
    plan = planning.make_plan(week, london(None))
    assert plan["allocated"].tolist() == plan["needed"].tolist()
    days = planning.by_city(plan, london(None), NO_BANDS)
    assert days["short"].tolist() == [0, 0]
    assert days[["vans", "spare", "delivery_probability"]].isna().all(axis=None)


def test_drivers_are_whole_and_follow_the_allocated_vans(week):
    plan = planning.make_plan(week, london(5, drivers=1.5))
    assert plan["drivers"].tolist() == [3, 5, 0, 3]


def test_each_city_is_planned_with_its_own_settings(week):
    rotterdam = fleet(("R", "Waalhaven", DAYS[0], 100.0, "model"), city="Rotterdam")
    settings = london(10) | {"Rotterdam": CitySettings("Rotterdam", 10, 10, 0.5)}
    plan = planning.make_plan(pd.concat([week, rotterdam]), settings)
    assert plan.set_index("depot_id").loc["R", "needed"] == 10
    assert plan[plan["city"] == "London"]["needed"].tolist() == [2, 4, 0, 3]


def test_vans_that_move_are_named_by_day(week):
    plan = planning.make_plan(week, london(10))
    moves = planning.transfers_by_day(plan)
    assert moves == {DAYS[0]: [], DAYS[1]: [Transfer(1, POOL, "Poplar")]}
    richer = plan.assign(vans=[3.0, 3.0, 4.0, 4.0])
    assert planning.transfers_by_day(richer)[DAYS[1]] == [
        Transfer(1, "Wapping", "Poplar")
    ]


def test_vans_move_between_two_depots_of_one_name(week):
    """Names need not be unique in a city."""
    plan = planning.make_plan(week.assign(name="Central"), london(10))
    moves = planning.transfers_by_day(plan.assign(vans=[3.0, 3.0, 4.0, 4.0]))
    assert moves[DAYS[1]] == [Transfer(1, "Central", "Central")]


def test_a_closed_day_that_is_set_gets_vans(week):
    moved = planning.with_changes(week, {("B", DAYS[0]): 60.0})
    row = planning.make_plan(moved, london(10)).iloc[2]
    assert (row["p10"], row["p50"], row["p90"], row["needed"]) == (60, 60, 60, 2)
    assert row["point"] == 60


@pytest.mark.parametrize("vans", [None, 5])
def test_vans_are_planned_from_the_quantiles_whatever_the_point(week, vans):
    lower = {name: 0.9 * week[name] for name in ("point", "model_point")}
    plan, same = (
        planning.make_plan(each, london(vans)) for each in (week, week.assign(**lower))
    )
    planned = ["needed", "allocated", "drivers", "undelivered", "delivery_probability"]
    pd.testing.assert_frame_equal(plan[planned], same[planned])
    bands = pd.DataFrame(
        {
            "city": "London",
            "target_on": DAYS,
            "p10": [85.0, 300.0],
            "p90": [115.0, 400.0],
        }
    )
    days, same_days = (
        planning.by_city(each, london(vans), bands) for each in (plan, same)
    )
    columns = ["needed_pooled", "short", "delivery_probability"]
    pd.testing.assert_frame_equal(days[columns], same_days[columns])
    np.testing.assert_allclose(same_days["point"], days["point"])


@pytest.mark.parametrize(
    ("number", "total"),
    [
        pytest.param(180.0, 180.0 + 149 * 1.05, id="a planner's number as it is"),
        pytest.param(200.0, 349 * 1.05, id="the model's own"),
    ],
)
def test_a_preview_has_the_total_that_the_saved_change_will_have(week, number, total):
    parts = dict.fromkeys(("part", "model_part"), 1.05 * week["point"])
    moved = planning.with_changes(week.assign(**parts), {("A", DAYS[1]): number})
    days = planning.by_city(planning.make_plan(moved, london(5)), london(5), NO_BANDS)
    assert days["point"].iloc[1] == pytest.approx(total)
    assert days["model_point"].iloc[1] == pytest.approx(349 * 1.05)


@pytest.mark.parametrize(
    ("number", "quantiles"), [(180.0, [144, 180, 216]), (90.0, [80, 100, 120])]
)
def test_a_planners_number_is_the_median_unless_it_is_the_models_own(
    week, number, quantiles
):
    lower = week.assign(model_point=0.9 * week["model_point"])
    row = planning.with_changes(lower, {("A", DAYS[0]): number}).iloc[0]
    assert row["point"] == number
    assert [row["p10"], row["p50"], row["p90"]] == pytest.approx(quantiles)


def test_the_plans_table_names_who_changed_what(week):
    first_row = np.array([True, False, False, False])
    changed = week.assign(
        point=[150.0, 200.0, 0.0, 149.0],
        is_set=first_row,
        made_by=["Anna", None, None, None],
        override_reason=["A strike", None, None, None],
    )
    plan = planning.make_plan(changed, london(5))
    first, second, *_ = tables.plan(plan).to_dict("records")
    assert (first["Planned"], first["Model"]) == (150, 100)
    assert (first["Reason"], first["Changed by"]) == ("A strike", "Anna")
    assert (second["Vans assigned"], second["Vans needed"]) == (3, 4)
    assert pd.isna(second["Reason"])
