"""What keeps a change from being saved: days that changed since they were shown."""

from dataclasses import replace
from datetime import date, timedelta

import pandas as pd

from dashboard.planning.overrides import Cell
from dashboard.text import entry_problems

FRIDAY = date(2026, 11, 27)
NAMES = {"P": "Poplar", "W": "Wapping"}


def history(*rows):
    columns = ["override_id", "orders", "made_by"]
    return pd.DataFrame(rows, columns=columns)


def test_what_planners_did_since_is_told_with_their_names():
    shown = [Cell("P", FRIDAY, 100.0, 100.0), Cell("W", FRIDAY, 100.0, 100.0)]
    now = [replace(cell, override_id=n) for n, cell in enumerate(shown, start=1)]
    done = history((2, None, "Ben"), (1, 1340.0, "Mara"))
    assert entry_problems.changed_since(shown, now, NAMES, done) == (
        "Fri 27 Nov at Poplar was set to 1340 by Mara after you had opened it. Look at it "
        "again, then save. Fri 27 Nov at Wapping was given back to the model by Ben after you "
        "had opened it. Look at it again, then save."
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
