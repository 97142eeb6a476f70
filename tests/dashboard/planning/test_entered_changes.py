"""From what a planner types to changes, and what they would do."""

from datetime import date

import pytest

from dashboard.planning import entered_changes
from dashboard.planning.entered_changes import Adjustment
from dashboard.planning.overrides import Cell, Change
from pipelines.planning.van_plan import make_plan
from tests.dashboard.planning.test_van_plan import DAYS, NO_BANDS, fleet, london

FRIDAY = date(2025, 11, 21)
OPEN = Cell("A", FRIDAY, 341.0, 341.0)
SET_ALREADY = Cell("B", FRIDAY, 420.0, 341.0, 7, is_set=True)
CLOSED = Cell("D", FRIDAY, 0.0, 0.0, is_closed=True)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("420", Adjustment(orders=420)),
        (" 1,240 ", Adjustment(orders=1240)),
        ("12 400", Adjustment(orders=12400)),
        ("0", Adjustment(orders=0)),
        ("+10 %", Adjustment(factor=1.1)),
        ("+10%", Adjustment(factor=1.1)),
        ("-5%", Adjustment(factor=0.95)),
        ("−2.5 %", Adjustment(factor=0.975)),
        ("-100 %", Adjustment(factor=0.0)),
        ("+30", Adjustment(more=30)),
        ("− 1,240", Adjustment(more=-1240)),
    ],
)
def test_a_number_and_a_percentage_are_understood(typed, expected):
    assert entered_changes.parse(typed) == expected
    assert entered_changes.problem(typed) == ""


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", "The new number is missing. Write"),
        (
            "lots",
            "“lots” is not a number of orders. Write a number of orders such as 420",
        ),
        ("1e9", "is not a number of orders"),
        ("42o", "is not a number of orders"),
        ("٤٢٠x", "is not a number of orders"),
        ("10%", "“10%” has no sign. Do you mean +10 % or −10 %?"),
        ("2.5 %", "Do you mean +2.5 % or −2.5 %?"),
        ("+1.5", "“+1.5” is not a whole number of orders. Write whole orders"),
        ("1.234", "“1.234” is not a whole number of orders. Write whole orders"),
        ("1,24", "is not a whole number of orders"),
        ("-150 %", "“-150 %” is less than −100 %"),
        ("+10,000 %", "“+10,000 %” has too many decimals, or is too large"),
    ],
)
def test_what_is_not_understood_is_told_the_rule_it_breaks(typed, expected):
    assert entered_changes.parse(typed) is None
    assert expected in entered_changes.problem(typed)


@pytest.mark.parametrize(
    ("orders", "model", "is_far"),
    [
        (966, 322, False),
        (967, 322, True),
        (108, 322, False),
        (107, 322, True),
        (0, 322, True),
        (25, 5, False),
        (26, 5, True),
        (50, 0, True),
        (0, 20, False),
        (None, 322, False),
    ],
)
def test_a_number_far_from_the_models_is_to_be_confirmed(orders, model, is_far):
    change = Change(Cell("A", FRIDAY, 900.0, model), orders)
    assert entered_changes.far_from_model([change]) == ([change] if is_far else [])


def test_a_percentage_is_of_the_planned_number_in_whole_orders():
    assert Adjustment(factor=1.1).apply(341) == 375
    assert Adjustment(factor=1.1).apply(260.49) == 286, "of the number on the page"


def test_only_a_planners_number_goes_back_to_the_model():
    [made] = entered_changes.changes([OPEN, SET_ALREADY, CLOSED], None)
    assert (made.cell, made.orders) == (SET_ALREADY, None)
    assert list(entered_changes.new_orders([made]).values()) == [341]


def test_closed_wins_over_a_number_for_several_depots_but_not_for_one():
    new = Adjustment(orders=50)
    made = entered_changes.changes([OPEN, CLOSED], new)
    assert [each.cell for each in made] == [OPEN]
    [made] = entered_changes.changes([CLOSED], new)
    assert made.orders == 50


@pytest.mark.parametrize(
    ("cell", "orders", "n_changes"),
    [
        pytest.param(SET_ALREADY, 420, 0, id="a planner's number"),
        pytest.param(OPEN, 341, 1, id="the model's number of today"),
    ],
)
def test_the_same_number_again_changes_only_who_it_is_from(cell, orders, n_changes):
    made = entered_changes.changes([cell], Adjustment(orders=orders))
    assert len(made) == n_changes


def test_the_preview_has_orders_need_and_shortage_before_and_after():
    """Of the changed day alone, whatever other days are short."""
    week = fleet(
        ("A", "Poplar", DAYS[0], 100.0, "model"),
        ("A", "Poplar", DAYS[1], 200.0, "model"),
        ("B", "Wapping", DAYS[0], 50.0, "model"),
        ("B", "Wapping", DAYS[1], 50.0, "model"),
    )
    numbers = {("A", DAYS[0]): 220.0}
    changed = entered_changes.preview(
        week, numbers, lambda rows: make_plan(rows, london(4), NO_BANDS)
    )
    [row] = changed.to_dict("records")
    assert row["target_on"] == DAYS[0]
    assert (row["orders_before"], row["orders_after"]) == (100, 220)
    assert (row["need_before"], row["need_after"]) == (3, 6)
    assert (row["short_before"], row["short_after"]) == (0, 2)
    # Wapping's 50 orders take one van, also where Poplar's 220 take the city's other vans.
    assert (row["others_before"], row["others_after"]) == (1, 1)


def test_a_percentage_of_several_depots_holds_for_their_sum():
    cells = [Cell(f"D{n}", date(2025, 11, 21), 4.4, 4.4) for n in range(24)]
    changes = entered_changes.changes(cells, entered_changes.parse("+10 %"))
    assert sum(each.orders for each in changes) == pytest.approx(24 * 4.4 * 1.1, abs=1)
