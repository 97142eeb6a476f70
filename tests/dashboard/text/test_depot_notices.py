"""Notices about one depot, over literal days."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from dashboard.queries.depot import DepotStatus
from dashboard.text import depot_notices

DAYS = pd.date_range("2025-11-20", periods=3).as_unit("s")  # Thursday to Saturday
FRIDAY, SATURDAY = date(2025, 11, 21), date(2025, 11, 22)


@pytest.mark.parametrize(
    ("after", "before", "before_on", "expected"),
    [
        (
            110.0,
            100.0,
            "2025-11-19",
            "rose by 10 to 110 overnight, over the 1 day that",
        ),
        (110.0, 120.4, "2025-11-17", "fell by 10 to 110 since Mon 17 Nov, over"),
        (110.0, 110.4, "2025-11-19", ""),
        (110.0, np.nan, None, ""),
    ],
)
def test_the_change_is_over_the_days_that_both_forecasts_cover(
    after, before, before_on, expected
):
    days = pd.DataFrame(
        {
            "day_on": DAYS,
            "point": [np.nan, 999.0, 120.0],
            "model_point": [np.nan, after, 120.0],
            "point_before": [193.0, before, np.nan],
            "before_on": pd.Timestamp(before_on),
        }
    )
    change = depot_notices.forecast_change(days)
    assert (expected in change, bool(change)) == (True, bool(expected))


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
    status = DepotStatus(last_on, due_on, is_late)
    warning = depot_notices.feed_warning(status)
    if expected is None:
        assert warning is None
    else:
        assert expected in warning
        assert "`harbor ingest PATH`" in warning
