"""Which depots come first, and what stands below their names."""

import numpy as np
import pandas as pd
import pytest

from dashboard.components import days_ahead

DAYS = pd.date_range("2025-11-21", periods=2).as_unit("s")
FLEET = {
    # depot: city, is_late, revised, change
    "calm": ("London", False, 0.001, -0.50),
    "late": ("London", True, 0.02, 0.03),
    "moved": ("London", False, -0.30, 0.10),
    "wide": ("London", False, np.nan, np.nan),
    "other": ("Amsterdam", False, 0.05, 0.0),
}


@pytest.fixture
def week():
    rows = [
        {
            "depot_id": depot.upper(), "name": depot, "city": city, "is_late": late,
            "is_silent": False, "target_on": day, "revised": revised, "change": change,
            "before_on": pd.Timestamp("2025-11-19"),
            "origin_on": pd.Timestamp("2025-11-20"),
        }
        for depot, (city, late, revised, change) in FLEET.items()
        for day in DAYS
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_depots_are_sorted_within_their_city_with_their_days_together(week):
    ranked = days_ahead.rank(week)
    names = ["other", "late", "calm", "moved", "wide"]
    assert ranked["name"].tolist() == np.repeat(names, 2).tolist()
    assert ranked["target_on"].tolist() == list(DAYS) * 5
