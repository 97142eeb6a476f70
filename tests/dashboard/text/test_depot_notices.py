"""Notices about one depot, over literal days."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from dashboard.queries.depot import DepotStatus, PreviousForecast
from dashboard.text import depot_notices
from tests.dashboard.components.test_banner import FRESH

DAYS = pd.date_range("2025-11-20", periods=3).as_unit("s")  # Thursday to Saturday
SAME = PreviousForecast(date(2025, 11, 18), str(FRESH.model), 0, ())
FRIDAY, SATURDAY = date(2025, 11, 21), date(2025, 11, 22)


@pytest.fixture
def days():
    return pd.DataFrame(
        {
            "day_on": DAYS,
            "actual": [205.0, np.nan, np.nan],
            "point": [np.nan, 999.0, 120.0],
            "model_point": [np.nan, 110.0, 120.0],
            "point_before": [193.0, 100.0, np.nan],
        }
    )


def test_the_change_is_over_the_days_that_both_forecasts_cover(days):
    change, actual = depot_notices.forecast_changes(days, SAME, FRESH)
    assert change == (
        "The model's forecast rose by 10 to 110 overnight, over the 1 day that both forecasts "
        "cover."
    )
    assert actual == "Thu 20 Nov: 205 orders, 193 forecast (12 too low)."


@pytest.mark.parametrize(
    ("before", "after", "actual", "changed", "error"),
    [
        (120.4, 110.0, 190.0, "fell by 10 to 110", "3 too high"),
        (110.4, 110.0, 193.3, "stayed at 110", "exact"),
    ],
)
def test_changes_and_errors_are_put_in_words(
    days, before, after, actual, changed, error
):
    moved = days.assign(
        model_point=[np.nan, after, after],
        point_before=[193.0, before, np.nan],
        actual=[actual, np.nan, np.nan],
    )
    change, told = depot_notices.forecast_changes(moved, SAME, FRESH)
    assert change.startswith(f"The model's forecast {changed} overnight, ")
    assert told.endswith(f"193 forecast ({error}).")


def test_each_cause_is_named(days):
    other = PreviousForecast(SAME.origin_on, "20251118-a", 3, ("pay_day", "game"))
    assert depot_notices.forecast_changes(days, other, FRESH)[2:] == [
        "New model overnight: ab instead of a.",
        "3 earlier daily counts corrected.",
        "New or changed events: Pay Day, Game.",
    ]


def test_without_a_previous_forecast_there_is_no_change(days):
    assert depot_notices.forecast_changes(days, None, FRESH) == []
    disjoint = days.assign(point_before=np.nan)
    assert depot_notices.forecast_changes(disjoint, SAME, FRESH) == []


@pytest.mark.parametrize(
    ("last_on", "due_on", "is_late", "expected"),
    [
        (FRIDAY, SATURDAY, True,
         "newest orders are from Fri 21 Nov, but those of Sat 22 Nov are due"),
        (None, SATURDAY, True,
         "This depot has no data, although it was open on Sat 22 Nov"),
        (SATURDAY, SATURDAY, False, None),
        (FRIDAY, None, False, None),
    ],
)  # fmt: skip
def test_a_depot_with_missing_data_has_a_warning(last_on, due_on, is_late, expected):
    status = DepotStatus(last_on, due_on, is_late, previous=None)
    warning = depot_notices.feed_warning(status)
    if expected is None:
        assert warning is None
    else:
        assert expected in warning
        assert "`harbor ingest PATH`" in warning
