"""Sentences on changes of a plan."""

from datetime import date

import pandas as pd
import pytest

from dashboard.planning.city_settings import CitySettings
from dashboard.planning.overrides import Cell, Change
from dashboard.text import change_summaries

DAYS = pd.to_datetime(["2025-11-27", "2025-11-28"]).as_unit("s")


def preview(orders, vans, short=(0, 0)):
    names = ("orders_before", "orders_after", "vans_before", "vans_after")
    row = dict(zip(names, (*orders, *vans), strict=True))
    row |= {"short_before": short[0], "short_after": short[1]}
    return pd.DataFrame([row]).assign(target_on=DAYS[0])


def test_a_preview_says_what_a_change_does():
    cell = Cell("A", date(2025, 11, 27), 341.0, 341.0)
    text = change_summaries.preview_sentence(
        preview((341, 420), (7, 9), (0, 2)), [Change(cell, 420)]
    )
    assert text == "1 number: 341 → 420 orders, 7 → 9 vans, van-days short 0 → 2."


@pytest.mark.parametrize(
    ("vans", "short", "expected"),
    [
        (30, (0, 0), "London has enough vans then."),
        (30, (1, 3), "Vans short in London on Thu 27 Nov: 3 (1 without the scenario)."),
        (None, (0, 0), "The number of vans in London is not known."),
    ],
)
def test_a_scenario_says_what_it_means_for_the_vans(vans, short, expected):
    shown = preview((341, 420), (7, 9), short)
    text = change_summaries.consequence_sentence(
        shown, CitySettings("London", vans, 50)
    )
    assert text == f"Vans needed here on Thu 27 Nov: 7 → 9. {expected}"


def test_a_scenario_of_several_days_names_them_and_sums_the_shortage():
    first = preview((341, 420), (7, 9), (1, 3))
    second = preview((341, 420), (7, 9), (0, 2)).assign(target_on=DAYS[1])
    text = change_summaries.consequence_sentence(
        pd.concat([first, second]), CitySettings("London", 30, 50)
    )
    assert text.startswith("Vans needed here on Thu 27 Nov – Fri 28 Nov: 14 → 18. ")
    assert text.endswith("Together 5 van-days (1 without the scenario).")


@pytest.mark.parametrize(
    ("orders", "days", "depots", "expected"),
    [
        (420, [27], "A", "Saved: Barking, Thu 27 Nov: 341 → 420 orders, 7 → 9 vans."),
        (
            420, [27, 28], "A",
            "Saved: Barking, Thu 27 Nov – Fri 28 Nov: 341 → 420 orders, 7 → 9 vans.",
        ),
        (
            None, [27], "AB",
            "Saved: 2 depots, Thu 27 Nov: back to the model, 341 → 420 orders, 7 → 9 vans.",
        ),
    ],
)  # fmt: skip
def test_what_was_saved_is_confirmed_in_a_sentence(orders, days, depots, expected):
    changes = [
        Change(Cell(depot, date(2025, 11, day), 341.0, 341.0), orders)
        for depot in depots
        for day in days
    ]
    names = {"A": "Barking", "B": "Poplar"}
    shown = preview((341, 420), (7, 9))
    assert change_summaries.saved_sentence(changes, names, shown) == expected


def chosen_day(point=341.0, **others):
    day = {
        "target_on": pd.Timestamp(2025, 11, 27), "point": point, "model_point": 341.0, "needed": 7, "is_set": False,
        "override_reason": None, "made_by": None,
    }  # fmt: skip
    return day | others


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        pytest.param(
            [chosen_day()], "Now 341 orders, 7 vans needed.", id="the model's"
        ),
        pytest.param(
            [chosen_day(420.0, is_set=True, made_by="Mara", override_reason="A fair")],
            "Now 420 orders (model 341), 7 vans needed. Set by Mara: “A fair”.",
            id="a planner's",
        ),
        pytest.param(
            [chosen_day(), chosen_day(1420.0, is_set=True, made_by="Mara")],
            "Now 1,761 orders (model 682), 14 vans needed.",
            id="several depots",
        ),
        pytest.param(
            [chosen_day(), chosen_day(target_on=pd.Timestamp(2025, 11, 28))],
            "Now 682 orders, 14 van-days needed.",
            id="several days",
        ),
        pytest.param(
            [chosen_day(1.0, model_point=1.0, needed=1)],
            "Now 1 order, 1 van needed.",
            id="one order",
        ),
    ],
)
def test_the_form_says_what_the_chosen_days_are_planned_with(days, expected):
    assert change_summaries.now_sentence(pd.DataFrame(days)) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("Barking", 1420, None)], "Barking, Thu 27 Nov: 1,420 orders."),
        ([("Barking", None, None)], "Barking, Thu 27 Nov: back to the model."),
        ([("Barking", 341, 7)], "Barking, Thu 27 Nov: undone."),
        (
            [("Barking", 400, None), ("Poplar", 20, None)],
            "2 depots, Thu 27 Nov: 420 orders.",
        ),
    ],
)
def test_what_a_planner_changed_last_is_told(rows, expected):
    newest = pd.DataFrame(rows, columns=["name", "orders", "undoes"])
    newest = newest.assign(depot_id=newest["name"], target_on=DAYS[0])
    text = change_summaries.newest_change_sentence(newest, "Thu 27 Nov, 06:31")
    assert text == f"Your last change, Thu 27 Nov, 06:31: {expected}"
