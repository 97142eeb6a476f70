"""Axes that charts share."""

import pandas as pd
import pytest

from dashboard.charts.encodings import time_axis


@pytest.mark.parametrize(
    ("n_days", "labelled"), [(2, [18, 19]), (14, list(range(18, 32))), (15, [24, 31])]
)
def test_a_fortnight_has_every_day_labelled_and_more_have_mondays(n_days, labelled):
    table = pd.DataFrame({"day_on": pd.date_range("2026-08-18", periods=n_days)})
    twice = pd.concat([table, table])
    values = time_axis(twice, "day_on").to_dict()["axis"]["values"]
    assert [day["date"] for day in values] == labelled
