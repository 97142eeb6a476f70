"""Sentences on changes of a plan."""

from dataclasses import replace
from datetime import date, timedelta

import pandas as pd
import pytest

from dashboard.planning.overrides import Cell, Change
from dashboard.text import change_summaries
from pipelines.planning.city_settings import CitySettings

FRIDAY = date(2026, 11, 27)
NAMES = {"P": "Poplar", "W": "Wapping"}
DAYS = pd.to_datetime(["2025-11-27", "2025-11-28"]).as_unit("s")


def preview(orders, need, short=(0, 0), day=DAYS[0], late=(0, 0), others=(9, 9)):
    names = ("orders", "need", "short", "late", "others")
    numbers = dict(zip(names, (orders, need, short, late, others), strict=True))
    row = {
        f"{name}_{when}": number
        for name, both in numbers.items()
        for when, number in zip(("before", "after"), both, strict=True)
    }
    return pd.DataFrame([row]).assign(target_on=day)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (
            preview((341, 420), (33, 35), (0, 2), late=(0.4, 17.6)),
            "Poplar, Fri 27 Nov: 341 → 420 orders. London needs 33 → 35 vans, short 0 → 2, about 0 → 18 late.",
        ),
        (
            preview((341, 345), (1, 1)),
            "Poplar, Fri 27 Nov: 341 → 345 orders. London still needs 1 van.",
        ),
        (
            preview((341, 380), (9, 9), others=(5, 4)),
            "Poplar, Fri 27 Nov: 341 → 380 orders. London still needs 9 vans, other depots' vans 5 → 4.",
        ),
    ],
)  # fmt: skip
def test_a_preview_says_what_a_change_does(shown, expected):
    change = Change(Cell("P", FRIDAY, 341.0, 341.0), 420)
    text = change_summaries.preview_sentence(shown, [change], NAMES, "London")
    assert text == expected


@pytest.mark.parametrize(
    ("vans", "short", "expected"),
    [
        (30, (0, 0), "It has enough vans then."),
        (30, (1, 3), "Short on Thu 27 Nov: 3 (1 without the scenario)."),
        (None, (0, 0), "The number of its vans is not known."),
    ],
)
def test_a_scenario_says_what_it_means_for_the_vans(vans, short, expected):
    shown = preview((341, 420), (7, 9), short)
    city = CitySettings("London", vans, 50)
    text = change_summaries.scenario_sentence(shown, city)
    assert text == f"London needs 7 → 9 vans on Thu 27 Nov. {expected}"


def test_a_scenario_of_several_days_counts_van_days():
    both = pd.concat(
        [
            preview((341, 420), (7, 9), (1, 3)),
            preview((341, 420), (7, 9), (0, 2), DAYS[1]),
        ]
    )
    text = change_summaries.scenario_sentence(both, CitySettings("London", 30, 50))
    assert text == (
        "London needs 14 → 18 van-days on Thu 27 – Fri 28 Nov. Short on Thu 27 Nov: 3 "
        "(1 without the scenario); Fri 28 Nov: 2 (0 without the scenario)."
    )


@pytest.mark.parametrize(
    ("orders", "days", "depots", "expected"),
    [
        (420, [27], "A", "Barking, Thu 27 Nov: 341 → 420 orders."),
        (420, [27, 28], "A", "Barking, Thu 27 – Fri 28 Nov: 341 → 420 orders."),
        (
            None, [27], "AB",
            "2 depots, Thu 27 Nov: back to the model, 341 → 420 orders.",
        ),
    ],
)  # fmt: skip
def test_what_changes_is_told_in_a_sentence(orders, days, depots, expected):
    changes = [
        Change(Cell(depot, date(2025, 11, day), 341.0, 341.0), orders)
        for depot in depots
        for day in days
    ]
    names = {"A": "Barking", "B": "Poplar"}
    shown = preview((341, 420), (7, 9))
    assert change_summaries.change_sentence(changes, names, shown) == expected


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
    ("rows", "expected", "undone"),
    [
        (
            [("Barking", 1420, None)],
            "Barking, Thu 27 Nov: 1,420 orders.",
            "Undone: Barking, Thu 27 Nov.",
        ),
        (
            [("Barking", None, None)],
            "Barking, Thu 27 Nov: the model's orders.",
            "Undone: Barking, Thu 27 Nov.",
        ),
        (
            [("Barking", 341, 7)],
            "Barking, Thu 27 Nov: undone.",
            "Set again: Barking, Thu 27 Nov.",
        ),
        (
            [("Barking", 400, None), ("Poplar", 20, None)],
            "2 depots, Thu 27 Nov: 420 orders.",
            "Undone: 2 depots, Thu 27 Nov.",
        ),
    ],
)
def test_what_a_planner_changed_last_is_told_and_that_it_is_undone(
    rows, expected, undone
):
    newest = pd.DataFrame(rows, columns=["name", "orders", "undoes"])
    saved = [{"orders": orders, "point": 341.0} for _, orders, _ in rows]
    newest = newest.assign(depot_id=newest["name"], target_on=DAYS[0], saved=saved)
    newest = newest.assign(what="orders")
    text = change_summaries.newest_change_sentence(newest, "Thu 27 Nov, 06:31")
    assert text == f"Your last change, Thu 27 Nov, 06:31: {expected}"
    assert change_summaries.undone_sentence(newest) == undone


@pytest.mark.parametrize(
    ("row", "expected", "undone"),
    [
        (
            {"what": "vans", "saved": {"kind": "hire", "extra": 23, "off_road": 0}},
            "London, Thu 27 Nov: 23 vans hired.",
            "Undone: London, Thu 27 Nov.",
        ),
        (
            {"what": "vans", "saved": {}, "undoes": 7},
            "London, Thu 27 Nov: undone.",
            "Set again: London, Thu 27 Nov.",
        ),
        (
            {"what": "settings", "saved": {}},
            "the settings of London.",
            "Undone: the settings of London.",
        ),
        (
            {"what": "settings", "saved": {}, "undoes": 7},
            "the settings of London: undone.",
            "Set again: the settings of London.",
        ),
    ],
)
def test_a_decision_and_settings_are_told_as_changes_are(row, expected, undone):
    same = {"name": "London", "depot_id": None, "target_on": DAYS[0], "undoes": None}
    newest = pd.DataFrame([{**same, **row}])
    text = change_summaries.newest_change_sentence(newest, "Thu 27 Nov, 06:31")
    assert text == f"Your last change, Thu 27 Nov, 06:31: {expected}"
    assert change_summaries.undone_sentence(newest) == undone


def history(*rows):
    done = pd.DataFrame(rows, columns=["change_id", "orders", "made_by"])
    saved = [{"orders": orders} for _, orders, _ in rows]
    return done.assign(what="orders", saved=saved)


def test_what_planners_did_since_is_told_with_their_names():
    opened = [Cell("P", FRIDAY, 100.0, 100.0), Cell("W", FRIDAY, 100.0, 100.0)]
    now = [replace(cell, override_id=n) for n, cell in enumerate(opened, start=1)]
    done = history((2, None, "Ben"), (1, 1340.0, "Mara"))
    assert change_summaries.changed_since(opened, now, NAMES, done) == (
        "Fri 27 Nov at Poplar was set to 1340 by Mara after you had opened it. Look at it "
        "again, then save. Fri 27 Nov at Wapping was given back to the model by Ben after you "
        "had opened it. Look at it again, then save."
    )


def test_changes_of_many_days_name_five():
    days = [FRIDAY + timedelta(days=n) for n in range(7)]
    opened = [Cell("P", day, 100.0, 100.0) for day in days]
    now = [replace(cell, orders=90.0, model_orders=90.0) for cell in opened]
    assert change_summaries.changed_since(opened, now, NAMES, history()) == (
        "A new forecast of Fri 27 Nov at Poplar, Sat 28 Nov at Poplar, Sun 29 Nov at "
        "Poplar, Mon 30 Nov at Poplar, Tue 1 Dec at Poplar and 2 more arrived after you "
        "opened the form. Check the numbers, then save."
    )
    changed = [replace(cell, override_id=7) for cell in opened]
    text = change_summaries.changed_since(opened, changed, NAMES, history())
    assert text.count("was changed by somebody else") == 5
    assert text.endswith("The same holds for 2 more days.")


def test_numbers_far_from_the_models_are_named():
    far = [Change(Cell("P", FRIDAY, 300.0, 322.0), 3220.0)]
    assert change_summaries.far_sentence(far, NAMES) == (
        "More than three times the model's number: Fri 27 Nov at Poplar (3,220, model 322)."
    )
    far += [Change(Cell("P", FRIDAY, 300.0, 322.0), 30.0)]
    assert change_summaries.far_sentence(far, NAMES).endswith(
        ". Less than a third of the model's number: Fri 27 Nov at Poplar (30, model 322)."
    )
    assert change_summaries.far_sentence([], NAMES) == ""
