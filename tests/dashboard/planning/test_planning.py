"""The plan of a city over literal forecasts."""

import numpy as np
import pandas as pd
import pytest

from dashboard.planning import planning
from dashboard.planning.planning import Assumptions
from dashboard.tables import plan_tables
from tests.dashboard.cells import Cells

DAYS = pd.to_datetime(["2025-11-21", "2025-11-22"]).as_unit("s")
NOTHING = pd.DataFrame(
    columns=["depot_id", "target_on", "action", "orders", "reason", "made_by"]
).astype({"target_on": "datetime64[s]", "orders": float})
MEDIAN = Assumptions(capacity=50, vans=5, level=0.5, drivers_per_van=1.5)


def fleet(*rows):
    columns = ["depot_id", "name", "target_on", "p50", "basis"]
    table = pd.DataFrame(rows, columns=columns).assign(city="London", vans=3.0)
    return table.assign(p10=table["p50"] * 0.8, p90=table["p50"] * 1.2)


@pytest.fixture
def week():
    return fleet(
        ("A", "Poplar", DAYS[0], 100.0, "model"),
        ("A", "Poplar", DAYS[1], 200.0, "model"),
        ("B", "Wapping", DAYS[0], 0.0, "closed"),
        ("B", "Wapping", DAYS[1], 149.0, "model"),
    )


def touch(*rows):
    return pd.DataFrame(rows, columns=NOTHING.columns).astype(NOTHING.dtypes.to_dict())


def test_vans_are_those_needed_where_there_are_enough(week):
    plan = planning.make(week, NOTHING, Assumptions(50, 10, 0.5))
    assert plan["needed"].tolist() == plan["given"].tolist() == [2, 4, 0, 3]
    days = planning.by_day(plan, Assumptions(50, 10, 0.5))
    assert days["spare"].tolist() == [8, 3]


def test_where_there_are_too_few_the_split_leaves_none_unused(week):
    plan = planning.make(week, NOTHING, MEDIAN)
    days = planning.by_day(plan, MEDIAN)
    assert days["needed"].tolist() == [2, 7]
    assert days["given"].tolist() == [2, 5]
    assert days["spare"].tolist() == [3, 0]
    # The third van of each is full in most cases, and the fourth of A carries more than
    # that: 200 orders fill it, 149 do not quite fill the third of B.
    assert plan["given"].tolist() == [2, 3, 0, 2]


def test_drivers_are_whole_and_follow_the_vans_given(week):
    plan = planning.make(week, NOTHING, MEDIAN)
    assert plan["drivers"].tolist() == [3, 5, 0, 3]


def test_by_costs_a_dearer_order_needs_more_vans(week):
    cheap, dear = (
        planning.make(week, NOTHING, Assumptions(50, 99, None, per_order, 100))
        for per_order in (1.0, 50.0)
    )
    assert (dear["needed"] >= cheap["needed"]).all()
    assert dear["needed"].sum() > cheap["needed"].sum()


def test_an_override_moves_the_band_with_its_number(week):
    touched = touch(("A", DAYS[0], "set", 150.0, "A strike", "Anna"))
    first = planning.make(week, touched, MEDIAN).iloc[0]
    assert (first["p10"], first["p50"], first["p90"]) == pytest.approx((120, 150, 180))
    assert (first["forecast"], first["is_set"], first["is_locked"]) == (
        100,
        True,
        False,
    )
    assert first["needed"] == 3


def test_a_closed_day_that_is_set_to_a_number_has_vans(week):
    touched = touch(("B", DAYS[0], "lock", 60.0, "Open after all", "Anna"))
    row = planning.make(week, touched, MEDIAN).iloc[2]
    assert (row["p10"], row["p50"], row["p90"], row["needed"]) == (60, 60, 60, 2)
    assert row["is_locked"]


def test_what_was_taken_back_is_the_forecast_again(week):
    touched = touch(("A", DAYS[0], "withdraw", np.nan, "A mistake", "Anna"))
    row = planning.make(week, touched, MEDIAN).iloc[0]
    assert (row["p50"], row["is_set"]) == (100, False)


def test_a_planner_begins_where_the_vans_suffice_on_the_busiest_day(week):
    assert planning.own_vans(week) == 6
    assert planning.usual_capacity(week) == 70  # (200 + 149) * 1.2 / 6
    without = week.assign(vans=np.nan)
    assert planning.own_vans(without) is None
    assert planning.usual_capacity(without) == planning.UNKNOWN_CAPACITY


def test_the_grid_shows_vans_what_is_missing_and_what_was_set(week):
    touched = touch(
        ("A", DAYS[0], "set", 150.0, "<b>strike", "Anna"),
        ("B", DAYS[1], "lock", 149.0, "Roster", "Ben"),
    )
    plan = planning.make(week, touched, MEDIAN)
    html = plan_tables.grid(plan, planning.by_day(plan, MEDIAN))
    assert Cells(html).text == [
        ["Depot", "Fri 21 Nov", "Sat 22 Nov"],
        ["Poplar", "3 set 150", "3 −1 200"],
        ["Wapping", "closed", "2 −1 locked 149"],
        ["Vans", "3", "5"],
        ["Vans needed", "3", "7"],
        ["Vans to spare", "2", "0"],
        ["Drivers", "5", "8"],
        ["Undelivered orders", *Cells(html).text[-1][1:]],
    ]
    assert "<b>strike" not in html


def test_the_plan_is_told_in_figures_and_a_sentence(week):
    plan = planning.make(week, NOTHING, MEDIAN)
    days = planning.by_day(plan, MEDIAN)
    told = plan_tables.figures(days, MEDIAN)
    assert told["Peak vans needed"] == ("7", "on Sat 22 Nov, of 5")
    assert told["Van-days short"] == ("2", "The next 2 days")
    assert plan_tables.sentence(days, "London").startswith(
        "Vans short on Sat 22 Nov (2). They are allocated"
    )
    many = Assumptions(50, 12, 0.5)
    rich = planning.by_day(planning.make(week, NOTHING, many), many)
    assert plan_tables.sentence(rich, "London") == (
        "London has enough vans every day, with at least 5 vans to spare."
    )


@pytest.mark.parametrize(
    ("assumed", "expected"),
    [
        (MEDIAN, "service level 50 %."),
        (
            Assumptions(50, 5, None, 4, 120.5),
            "at 4 per undelivered order and 120.5 per idle van.",
        ),
    ],
)
def test_what_a_plan_rests_on_is_said_in_words(assumed, expected):
    said = plan_tables.assumptions("London", assumed)
    assert said.startswith("London: 5 vans per day, 50 orders per van, ")
    assert said.endswith(expected)


def test_the_file_of_a_plan_says_who_changed_what(week):
    touched = touch(("A", DAYS[0], "set", 150.0, "A strike", "Anna"))
    first, second, *_ = plan_tables.table(planning.make(week, touched, MEDIAN)).to_dict(
        "records"
    )
    assert (first["Planned orders"], first["Forecast"]) == (150, 100)
    assert (first["Reason"], first["Changed by"], first["Locked"]) == (
        "A strike",
        "Anna",
        "",
    )
    assert (second["Vans"], second["Vans needed"]) == (3, 4)
    assert pd.isna(second["Reason"])
