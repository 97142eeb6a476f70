"""What changed since the forecast before, over literal days."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from dashboard.queries.types import Before
from dashboard.text import forecast_changes
from tests.dashboard.components.test_banner import FRESH

DAYS = pd.date_range("2025-11-20", periods=3).as_unit("s")  # Thursday to Saturday
SAME = Before(date(2025, 11, 18), str(FRESH.model), 0, ())


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
        "Up 10 from 100 overnight, over the 1 day that both forecasts cover."
    )
    assert arrived == "Thu 20 Nov: 205 orders, 193 forecast (+12)."


def test_each_cause_is_named(days):
    other = Before(SAME.origin_on, "20251118-a", 3, ("pay_day", "game"))
    assert forecast_changes.sentences(days, other, FRESH)[2:] == [
        "New model overnight: ab instead of a.",
        "3 earlier daily counts corrected.",
        "New or changed events: Pay day, Game.",
    ]


def test_without_a_forecast_before_nothing_is_told(days):
    assert forecast_changes.sentences(days, None, FRESH) == []
    apart = days.assign(p50_before=np.nan)
    assert forecast_changes.sentences(apart, SAME, FRESH) == []
