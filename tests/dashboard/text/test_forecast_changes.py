"""What changed since the forecast before, over literal days."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from dashboard.queries.types import Before
from dashboard.text import forecast_changes
from tests.dashboard.components.test_banner import FRESH

DAYS = pd.date_range("2025-11-20", periods=3).as_unit("s")  # Thursday to Saturday
SAME = Before(date(2025, 11, 19), str(FRESH.model), 0, ())


@pytest.fixture
def days():
    return pd.DataFrame(
        {
            "day_on": DAYS,
            "actual": [205.0, np.nan, np.nan],
            "p50": [np.nan, 110.0, 120.0],
            "p50_before": [193.0, 100.0, np.nan],
        }
    )


def test_the_change_is_told_over_the_days_both_are_of(days):
    change, arrived = forecast_changes.sentences(days, SAME, FRESH)
    assert change == (
        "The forecast of Wed 19 Nov said 100 orders for the 1 day that both cover; this "
        "one says 110 (+10)."
    )
    assert arrived == "Thu 20 Nov brought 205 orders; 193 were forecast (+12)."


def test_each_cause_is_named(days):
    other = Before(SAME.origin_on, "20251118-a", 3, ("pay_day", "game"))
    assert forecast_changes.sentences(days, other, FRESH)[2:] == [
        "Another model made it: ab instead of a.",
        "3 earlier counts were corrected.",
        "New or changed on the days ahead: Pay day, Game.",
    ]


def test_without_a_forecast_before_nothing_is_told(days):
    assert forecast_changes.sentences(days, None, FRESH) == []
    apart = days.assign(p50_before=np.nan)
    assert forecast_changes.sentences(apart, SAME, FRESH) == []
