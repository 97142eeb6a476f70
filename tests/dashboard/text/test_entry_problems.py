"""What keeps a change from being saved: locked days, and days that changed since."""

from dataclasses import replace
from datetime import date, timedelta

import pandas as pd
import pytest

from dashboard.planning import edits
from dashboard.planning.edits import Entry
from dashboard.planning.overrides import LOCK, SET, WITHDRAW, Cell
from dashboard.text import entry_problems

FRIDAY = date(2026, 11, 27)
NAMES = {"P": "Poplar", "W": "Wapping"}


def row(depot="P", day=FRIDAY, **values):
    """A depot's day with 100 orders of the model's."""
    return {
        "depot_id": depot, "name": NAMES[depot], "target_on": pd.Timestamp(day),
        "point": 100.0, "model_point": 100.0, "basis": "model", "override_id": None,
        "is_set": False, "is_locked": False, "made_by": None, "overruled_by": None,
    } | values  # fmt: skip


LOCKED = row(override_id=1, is_locked=True, made_by="Anna")
LOCKED_THEN_CLOSED = LOCKED | {
    "made_by": None, "overruled_by": "Mara", "basis": "closed", "point": 0.0,
}  # fmt: skip


def told(action, *rows, number="120"):
    chosen = pd.DataFrame(rows)
    entry = Entry(action, chosen, number, False, False, "Weather", "Bob")
    made = edits.changes_of_entry(entry, edits.cells(chosen))
    return entry_problems.before_saving(entry, made)


def test_a_locked_day_names_who_locked_it():
    assert told(SET, LOCKED) == [
        "Fri 27 Nov at Poplar is locked by Anna. Unlock it first."
    ]


def test_a_locked_day_that_was_closed_later_names_who_locked_it():
    assert told(SET, LOCKED_THEN_CLOSED) == [
        "Fri 27 Nov at Poplar is locked by Mara. Unlock it first."
    ]


@pytest.mark.parametrize("locked", [LOCKED, LOCKED_THEN_CLOSED])
def test_a_day_that_is_locked_already_keeps_no_others_from_being_locked(locked):
    assert told(LOCK, locked, row("W")) == []


def test_a_locked_day_keeps_others_from_being_set_only_where_it_would_be_set():
    assert told(SET, LOCKED_THEN_CLOSED, row("W")) == []
    assert len(told(SET, LOCKED, row("W"))) == 1


def test_a_locked_day_of_the_models_number_is_named_where_it_is_to_go_back():
    [sentence] = told(WITHDRAW, LOCKED, number="")
    assert "Tick “Unlock and go back to the model”" in sentence


def history(*rows):
    columns = ["override_id", "action", "orders", "made_by"]
    return pd.DataFrame(rows, columns=columns)


def test_what_planners_did_since_is_told_with_their_names():
    shown = [Cell("P", FRIDAY, 100.0, 100.0), Cell("W", FRIDAY, 100.0, 100.0)]
    now = [replace(cell, override_id=n) for n, cell in enumerate(shown, start=1)]
    done = history((2, LOCK, 100.0, "Ben"), (1, SET, 1340.0, "Mara"))
    assert entry_problems.changed_since(shown, now, NAMES, done) == (
        "Fri 27 Nov at Poplar was set to 1340 by Mara after you had opened it. Look at it "
        "again, then save. Fri 27 Nov at Wapping was locked by Ben after you had opened "
        "it. Look at it again, then save."
    )


def test_a_new_forecast_of_many_days_names_five():
    days = [FRIDAY + timedelta(days=n) for n in range(7)]
    shown = [Cell("P", day, 100.0, 100.0) for day in days]
    now = [replace(cell, orders=90.0, model_orders=90.0) for cell in shown]
    assert entry_problems.changed_since(shown, now, NAMES, history()) == (
        "A new forecast of Fri 27 Nov at Poplar, Sat 28 Nov at Poplar, Sun 29 Nov at "
        "Poplar, Mon 30 Nov at Poplar, Tue 1 Dec at Poplar and 2 more arrived after you "
        "opened the form. Check the numbers, then save."
    )
