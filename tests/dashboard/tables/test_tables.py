"""Tables for people over literal answers: headings, whole numbers, percentages."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from dashboard.tables import tables
from dashboard.text import summaries

DAYS = pd.to_datetime(["2025-11-21", "2025-11-22"]).as_unit("s")


def rows(table):
    """As people read it, None where nothing stands."""
    plain = table.astype(object)
    return plain.where(plain.notna(), None).to_dict("records")


def test_the_days_ahead_have_whole_orders_and_their_basis():
    week = pd.DataFrame(
        {
            "city": "London",
            "name": "Wapping",
            "depot_id": "LON-02",
            "vans": [4.0, np.nan],
            "target_on": DAYS,
            "p10": [90.4, 0.0],
            "point": [100.6, 0.0],
            "p90": [111.0, 0.0],
            "basis": ["cold_start", "closed"],
            "week_before": [99.0, np.nan],
            "point_before": [95.5, np.nan],
            "model_point": [80.0, 0.0],
            "override_reason": ["A strike", None],
            "made_by": ["Anna", None],
        }
    )
    first, second = rows(tables.fleet_week(week))
    assert first == {
        "City": "London", "Depot": "Wapping", "Depot id": "LON-02", "Vans": 4,
        "Day": DAYS[0], "Planned": 101, "Model": 80, "Low (P10)": 90, "High (P90)": 111,
        "Basis": "similar depots", "Last week": 99, "Previous forecast": 96,
        "Reason": "A strike", "Changed by": "Anna",
    }  # fmt: skip
    assert (second["Vans"], second["Last week"]) == (None, None)
    assert (second["Planned"], second["Basis"]) == (0, "closed")


def test_totals_name_the_number_of_missing_depots():
    totals = pd.DataFrame(
        {
            "day_on": DAYS,
            "actual": [10.0, np.nan],
            "p10": [np.nan, 9.0],
            "point": [np.nan, 12.4],
            "p90": [np.nan, 15.0],
            "model_point": [np.nan, 11.0],
            "missing": [2, 0],
            "notes": ["", "Black Friday"],
        }
    )
    past, ahead = rows(tables.daily_totals(totals))
    assert (past["Actual"], past["Planned"], past["Remark"]) == (
        10, None, "without 2 depots",
    )  # fmt: skip
    assert (ahead["Planned"], ahead["Low (P10)"], ahead["Remark"]) == (12, 9, "")


def test_a_depots_days_have_their_events():
    days = pd.DataFrame(
        {
            "day_on": DAYS,
            "actual": [10.0, np.nan],
            "p10": [np.nan, 0.0],
            "point": [np.nan, 0.0],
            "p90": [np.nan, 0.0],
            "basis": [None, "closed"],
            "events": [["pay_day"], ["closed"]],
            "holidays": [[], ["Feast, of all"]],
            "is_closed": [False, True],
            "model_point": [np.nan, 0.0],
            "override_reason": None,
            "made_by": None,
        }
    )
    shown = rows(tables.depot_days(days))
    assert [row["Events"] for row in shown] == ["Pay Day", "Feast, of all, Closed"]
    assert [row["Basis"] for row in shown] == [None, "closed"]


def test_past_forecasts_come_newest_first_with_their_errors():
    past = pd.DataFrame(
        {
            "target_on": DAYS,
            "origin_on": DAYS[0],
            "p10": [90.0, 0.0],
            "point": [110.0, 3.0],
            "p90": [120.0, 5.0],
            "actual": [100.0, 0.0],
            "model_version": "m",
        }
    )
    newest, oldest = rows(tables.past_forecasts(past))
    assert (newest["Day"], newest["Absolute % error"], newest["In the 80 % band"]) == (
        DAYS[1], None, "yes",
    )  # fmt: skip
    assert (oldest["Forecast − actual"], oldest["Absolute % error"]) == (10, 10.0)


def test_events_and_holidays_have_display_names():
    events = pd.DataFrame(
        {
            "starts_on": DAYS,
            "ends_on": DAYS,
            "what": ["pay_day", "iDay_2"],
            "is_holiday": [False, True],
            "scope": ["this depot", "public holiday"],
        }
    )
    assert [row["Event"] for row in rows(tables.events(events))] == [
        "Pay Day",
        "iDay_2",
    ]


def test_a_scenario_has_its_difference():
    outcome = pd.DataFrame(
        {
            "target_on": DAYS[:1],
            "forecast": [100.0],
            "scenario": [80.4],
            "scenario_p10": [70.0],
            "scenario_p90": [90.0],
        }
    )
    [row] = rows(tables.what_if(outcome))
    assert (row["Forecast"], row["Scenario"], row["Difference"]) == (100, 80, -20)


def large_error(
    events=(), holidays=(), basis="model", actual=500.0, override=(None, None, None)
):
    orders, reason, planner = override
    return pd.DataFrame(
        {
            "name": "Wapping",
            "target_on": DAYS[:1],
            "p10": 90.0,
            "point": 100.0,
            "p90": 110.0,
            "actual": actual,
            "basis": basis,
            "events": [list(events)],
            "holidays": [list(holidays)],
            "override_orders": [orders],
            "override_reason": [reason],
            "made_by": [planner],
        }
    ).astype({"override_orders": float})


BRIDGE = (40.0, "Bridge closed", "Mara")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (large_error(override=BRIDGE), "Mara: “Bridge closed”"),
        (
            large_error(["promotion"], override=BRIDGE),
            "Mara: “Bridge closed”, Promotion",
        ),
        (large_error(["pay_day"], ["Feast"]), "Feast, Pay Day"),
        (large_error(basis="cold_start"), "No history"),
        (large_error(actual=105.0), "Chance: within the 80 % band"),
        (large_error(), "No known cause"),
    ],
)
def test_a_large_error_has_a_likely_cause(result, expected):
    [row] = rows(tables.largest_errors(result))
    assert row["Likely cause"] == expected
    assert row["Forecast − actual"] == round(100 - result["actual"].iloc[0])
    is_set = "Mara" in expected
    assert (row["Forecast"], row["Override"]) == (100, 40 if is_set else None)


@pytest.mark.parametrize(
    ("override", "verdict"), [(0.05, "better"), (0.2, "worse"), (0.1, "as good")]
)
def test_overrides_are_compared_in_a_sentence(override, verdict):
    result = pd.DataFrame(
        {
            "reason": [None],
            "counted": [12],
            "naive_mape": [0.15],
            "forecast_mape": [0.1],
            "override_mape": [override],
        }
    )
    sentence = summaries.override_sentence(result)
    assert sentence.startswith("Over 12 days with overrides")
    assert sentence.endswith(f"forecast's 10.0 %: {verdict}.")
    assert tables.override_accuracy(result)["Reason"].tolist() == ["All overrides"]


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
    assert tables.accuracy(scores, grain, "Of")["Of"].tolist() == [name]


def test_accuracy_has_a_row_per_name_in_percent():
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
    [row] = rows(tables.accuracy(scores, "city", "City").round(9))
    assert row == {
        "City": "Ghent", "MAPE": 8.0, "Naive MAPE": 12.0, "Median MAPE": 10.0,
        "WAPE": 7.0, "Bias": -1.0, "In the 80 % band": 79.0, "Days": 6,
    }  # fmt: skip


def test_files_are_listed_without_their_folder():
    result = pd.DataFrame(
        {
            "path": ["/data/inbox/orders.csv", "s3://bucket/", "/data/counts.csv"],
            "kind": "orders",
            "accepted": [10, 0, None],
            "unchanged": [0, 0, None],
            "rejected": [2, 0, None],
            "ignored_columns": [["colour", "size"], [], []],
            "came_at": datetime(2025, 11, 21, 3, 30, tzinfo=UTC),
            "refused_because": [None, None, "It is empty. Send it again."],
        }
    )
    zone = ZoneInfo("Europe/Amsterdam")
    loaded = tables.loaded_files(result, zone)
    assert loaded["File"].tolist() == ["orders.csv", "bucket"]
    assert loaded["Loaded"].tolist() == ["Fri 21 Nov, 04:30"] * 2
    assert loaded["Rejected rows"].tolist() == [2, 0]
    assert loaded["Ignored columns"].tolist() == ["colour, size", ""]
    assert tables.refused_files(result, zone).to_numpy().tolist() == [
        ["counts.csv", "Fri 21 Nov, 04:30", "It is empty. Send it again."]
    ]


def test_a_calendar_has_a_column_for_each_day():
    result = pd.DataFrame(
        {
            "depot_id": ["B"], "name": ["Poplar"], "city": ["London"],
            "states": [["counted", "missing"]], "missing": [1], "last_on": DAYS[:1],
        }
    )  # fmt: skip
    [row] = rows(tables.calendar(result, list(DAYS)))
    assert (row["Missing"], row["Fri 21 Nov"], row["Sat 22 Nov"]) == (
        1, "counted", "missing",
    )  # fmt: skip


def test_a_csv_keeps_numbers_and_quotes_formulas():
    table = pd.DataFrame({"=Depot": ["=1+1", "Å"], "Difference": [-5, 7]})
    written = tables.csv(table).decode("utf-8-sig")
    assert written == "'=Depot,Difference\n'=1+1,-5\nÅ,7\n"


def test_a_csv_has_days_as_iso_dates():
    table = pd.DataFrame({"Day": pd.to_datetime(["2025-11-21", None]).as_unit("s")})
    assert tables.csv(table).decode("utf-8-sig").split() == ["Day", "2025-11-21", '""']


@pytest.mark.parametrize(
    ("orders", "undoes", "expected"),
    [
        (420.0, np.nan, "set"),
        (np.nan, np.nan, "back to the model"),
        (420.0, 7.0, "undone"),
        (np.nan, 7.0, "undone"),
    ],
)
def test_the_history_speaks_of_overrides_in_the_words_of_the_form(
    orders, undoes, expected
):
    made_at = datetime(2025, 11, 21, 6, 31, tzinfo=UTC)
    row = {"name": "Poplar", "target_on": pd.Timestamp("2025-11-27"), "undoes": undoes}
    row |= {"orders": orders, "point": 341.0, "reason": "Weather", "made_by": "Anna"}
    history = pd.DataFrame([{**row, "made_at": made_at}])
    shown = tables.override_history(history, ZoneInfo("Europe/London"))
    assert shown["Action"].tolist() == [expected]
