"""Accuracy for people, over literal answers."""

import numpy as np
import pandas as pd
import pytest

from dashboard.tables import accuracy_tables
from tests.dashboard.tables.test_tables import DAYS, rows


def worst(events=(), holidays=(), basis="model", actual=500.0):
    return pd.DataFrame(
        {
            "name": "Wapping",
            "target_on": DAYS[:1],
            "p10": 90.0,
            "p50": 100.0,
            "p90": 110.0,
            "actual": actual,
            "basis": basis,
            "events": [list(events)],
            "holidays": [list(holidays)],
        }
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (worst(["pay_day"], ["Feast"]), "Feast, Pay day"),
        (worst(basis="cold_start"), "No history"),
        (worst(actual=105.0), "Chance: within the 80 % band"),
        (worst(), "No known cause"),
    ],
)
def test_a_bad_day_has_its_probable_cause(found, expected):
    [row] = rows(accuracy_tables.worst_days(found))
    assert row["Likely cause"] == expected
    assert row["Forecast − actual"] == round(100 - found["actual"].iloc[0])


@pytest.mark.parametrize(
    ("override", "verdict"), [(0.05, "better"), (0.2, "worse"), (0.1, "as good")]
)
def test_changes_by_hand_are_judged_in_a_sentence(override, verdict):
    found = pd.DataFrame(
        {
            "reason": [None],
            "counted": [12],
            "naive_mape": [0.15],
            "forecast_mape": [0.1],
            "override_mape": [override],
        }
    )
    said = accuracy_tables.overrides_sentence(found)
    assert said.startswith("Over 12 days with overrides")
    assert said.endswith(f"forecast's 10.0 %: {verdict}.")
    assert accuracy_tables.overrides(found)["Reason"].tolist() == ["All overrides"]


@pytest.mark.parametrize(
    ("grain", "column", "value", "name"),
    [("horizon", "horizon", 2, "2 days"), ("weekday", "weekday", 7, "Sun")],
)
def test_days_ahead_and_weekdays_have_names(grain, column, value, name):
    scores = pd.DataFrame(
        {
            "grain": grain,
            column: value,
            "forecaster": ["forecast", "seasonal naive", "median of 4"],
            "mape": 0.1, "wape": 0.1, "bias": 0.0, "coverage": 0.8, "counted": 3,
        }
    )  # fmt: skip
    assert accuracy_tables.by(scores, grain, "Of")["Of"].tolist() == [name]


def test_accuracy_is_one_row_a_name_with_percentages():
    scores = pd.DataFrame(
        {
            "grain": ["all", "city", "city", "city"],
            "city": [None, "Ghent", "Ghent", "Ghent"],
            "forecaster": ["forecast", "forecast", "seasonal naive", "median of 4"],
            "mape": [0.5, 0.08, 0.12, 0.1],
            "wape": 0.07,
            "bias": -0.01,
            "coverage": [0.8, 0.79, np.nan, np.nan],
            "counted": [9, 6, 6, 6],
        }
    )
    [row] = rows(accuracy_tables.by(scores, "city", "City").round(9))
    assert row == {
        "City": "Ghent", "MAPE": 8.0, "Naive MAPE": 12.0, "Median MAPE": 10.0,
        "WAPE": 7.0, "Bias": -1.0, "In band": 79.0, "Days": 6,
    }  # fmt: skip
