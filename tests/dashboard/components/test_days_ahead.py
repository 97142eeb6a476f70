"""Which depots come first."""

import numpy as np
import pandas as pd

from dashboard.components import days_ahead

DAYS = pd.date_range("2025-11-21", periods=2).as_unit("s")
FLEET = {
    # depot: city, is_late
    "calm": ("London", False),
    "late": ("London", True),
    "moved": ("London", False),
    "other": ("Amsterdam", False),
}


def test_depots_are_sorted_within_their_city_with_their_days_together():
    rows = [
        {
            "depot_id": depot.upper(), "name": depot, "city": city, "is_late": late,
            "is_silent": False, "target_on": day,
        }
        for depot, (city, late) in FLEET.items()
        for day in DAYS
    ]  # fmt: skip
    ranked = days_ahead.rank(pd.DataFrame(rows))
    names = ["other", "late", "calm", "moved"]
    assert ranked["name"].tolist() == np.repeat(names, 2).tolist()
    assert ranked["target_on"].tolist() == list(DAYS) * 4


def test_last_week_is_named_by_its_days_in_order_and_once():
    monday = pd.Timestamp("2026-11-30")
    names = {
        monday - pd.Timedelta(days=8): "Long ago",
        monday - pd.Timedelta(days=3): "Black Friday",
        monday - pd.Timedelta(days=2): "Black Friday",
        monday - pd.Timedelta(days=7): "Promotion",
        monday: "To come",
    }
    told = days_ahead.last_week_note(names, monday)
    assert told == "The last 7 days had Promotion and Black Friday."
    assert days_ahead.last_week_note({}, monday) == ""
