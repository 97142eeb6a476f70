"""From what a planner types to changes, and what they would do."""

from datetime import date

import pandas as pd
import pytest

from dashboard.planning import edits
from dashboard.planning.city_settings import CitySettings
from dashboard.planning.edits import Adjustment
from dashboard.planning.overrides import Cell, Change
from tests.dashboard.planning.test_planning import DAYS, NO_BANDS, fleet

FRIDAY = date(2025, 11, 21)
OPEN = Cell("A", FRIDAY, 341.0, 341.0)
SET_ALREADY = Cell("B", FRIDAY, 420.0, 341.0, 7, is_set=True)
CLOSED = Cell("D", FRIDAY, 0.0, 0.0, is_closed=True)


@pytest.mark.parametrize(
    ("orders", "model", "is_far"),
    [
        (3220, 322, True),
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
    assert edits.far_from_model([change]) == ([change] if is_far else [])


def test_a_percentage_is_of_the_planned_number_in_whole_orders():
    assert Adjustment(factor=1.1).apply(341) == 375


def test_only_a_planners_number_goes_back_to_the_model():
    [made] = edits.changes([OPEN, SET_ALREADY, CLOSED], None)
    assert (made.cell, made.orders) == (SET_ALREADY, None)
    assert list(edits.new_orders([made]).values()) == [341]


def test_closed_wins_over_a_number_for_several_depots_but_not_for_one():
    new = Adjustment(orders=50)
    made = edits.changes([OPEN, CLOSED], new)
    assert [each.cell for each in made] == [OPEN]
    [made] = edits.changes([CLOSED], new)
    assert made.orders == 50


@pytest.mark.parametrize(
    ("cell", "orders", "n_changes"),
    [
        pytest.param(SET_ALREADY, 420, 0, id="a planner's number"),
        pytest.param(OPEN, 341, 1, id="the model's number of today"),
    ],
)
def test_the_same_number_again_changes_only_who_it_is_from(cell, orders, n_changes):
    assert len(edits.changes([cell], Adjustment(orders=orders))) == n_changes


def test_the_preview_has_orders_and_vans_before_and_after():
    week = fleet(
        ("A", "Poplar", DAYS[0], 100.0, "model"),
        ("A", "Poplar", DAYS[1], 200.0, "model"),
        ("B", "Wapping", DAYS[0], 50.0, "model"),
        ("B", "Wapping", DAYS[1], 50.0, "model"),
    )
    settings = {"London": CitySettings("London", 4, 50, 0.5)}
    numbers = {("A", DAYS[0]): 220.0}
    [row] = edits.preview(week, settings, NO_BANDS, numbers).to_dict("records")
    assert row["target_on"] == DAYS[0]
    assert (row["orders_before"], row["orders_after"]) == (100, 220)
    assert (row["vans_before"], row["vans_after"]) == (2, 5)
    assert row["short_before"] == 0
    assert row["short_after"] >= 1


def test_the_preview_counts_the_vans_that_are_left():
    week = fleet(("A", "Poplar", DAYS[0], 100.0, "model"))
    now = {"London": CitySettings("London", 4, 50, 0.5)}
    left = {"London": CitySettings("London", 1, 50, 0.5)}
    numbers = {("A", DAYS[0]): 100.0}
    [row] = edits.preview(week, now, NO_BANDS, numbers, left).to_dict("records")
    assert (row["vans_before"], row["vans_after"]) == (2, 2)
    assert (row["short_before"], row["short_after"]) == (0, 1)


def test_the_rows_of_the_week_become_cells():
    week = fleet(("A", "Poplar", DAYS[0], 100.0, "closed")).assign(override_id=[7.0])
    assert edits.cells(week) == [Cell("A", FRIDAY, 100.0, 100.0, 7, is_closed=True)]
    assert edits.cells(week.assign(override_id=float("nan")))[0].override_id is None


def test_a_number_after_a_planners_zero_has_the_models_band_again():
    week = fleet(("A", "Poplar", DAYS[0], 100.0, "model")).assign(
        p10=0.0, p50=0.0, p90=0.0, point=0.0
    )
    [row] = edits.planning.with_changes(
        week, {("A", pd.Timestamp(DAYS[0])): 150.0}
    ).to_dict("records")
    assert (row["p10"], row["p50"], row["p90"]) == pytest.approx((120, 150, 180))


def test_numbers_that_change_move_the_band_with_them():
    week = fleet(("A", "Poplar", DAYS[0], 100.0, "model"))
    [row] = edits.planning.with_changes(
        week, {("A", pd.Timestamp(DAYS[0])): 150.0}
    ).to_dict("records")
    assert (row["p10"], row["p50"], row["p90"]) == pytest.approx((120, 150, 180))
