"""Tables for people over literal answers: headings, whole numbers, percentages."""

import numpy as np
import pandas as pd

from dashboard.tables import tables

DAYS = pd.to_datetime(["2025-11-21", "2025-11-22"]).as_unit("s")


def rows(table):
    """As people read it, None where nothing stands."""
    plain = table.astype(object)
    return plain.where(plain.notna(), None).to_dict("records")


def test_the_fleets_days_have_whole_orders_and_say_what_they_rest_on():
    week = pd.DataFrame(
        {
            "city": "London",
            "name": "Wapping",
            "depot_id": "LON-02",
            "vans": [4.0, np.nan],
            "target_on": DAYS,
            "p10": [90.4, 0.0],
            "p50": [100.6, 0.0],
            "p90": [111.0, 0.0],
            "basis": ["cold_start", "closed"],
            "week_before": [99.0, np.nan],
            "p50_before": [95.5, np.nan],
        }
    )
    first, second = rows(tables.fleet_week(week))
    assert first == {
        "City": "London", "Depot": "Wapping", "Depot id": "LON-02", "Vans": 4,
        "Day": DAYS[0], "Forecast": 101, "Low (P10)": 90, "High (P90)": 111,
        "Basis": "similar depots", "Last week": 99, "Previous forecast": 96,
    }  # fmt: skip
    assert (second["Vans"], second["Last week"]) == (None, None)
    assert (second["Forecast"], second["Basis"]) == (0, "closed")


def test_totals_say_what_they_lack():
    totals = pd.DataFrame(
        {
            "day_on": DAYS,
            "actual": [10.0, np.nan],
            "p10": [np.nan, 9.0],
            "p50": [np.nan, 12.4],
            "p90": [np.nan, 15.0],
            "missing": [2, 0],
        }
    )
    past, ahead = rows(tables.daily_totals(totals))
    assert (past["Actual"], past["Forecast"], past["Remark"]) == (
        10, None, "without 2 depots",
    )  # fmt: skip
    assert (ahead["Forecast"], ahead["Low (P10)"], ahead["Remark"]) == (12, 9, "")


def test_a_depots_days_say_what_is_on():
    days = pd.DataFrame(
        {
            "day_on": DAYS,
            "actual": [10.0, np.nan],
            "p10": [np.nan, 0.0],
            "p50": [np.nan, 0.0],
            "p90": [np.nan, 0.0],
            "basis": [None, "closed"],
            "events": [["pay_day"], ["closed"]],
            "holidays": [[], ["Feast, of all"]],
            "is_closed": [False, True],
        }
    )
    said = rows(tables.depot_days(days))
    assert [row["Events"] for row in said] == ["Pay day", "Feast, of all, Closed"]
    assert [row["Basis"] for row in said] == [None, "closed"]


def test_past_forecasts_come_newest_first_with_their_miss():
    past = pd.DataFrame(
        {
            "target_on": DAYS,
            "origin_on": DAYS[0],
            "p10": [90.0, 0.0],
            "p50": [110.0, 3.0],
            "p90": [120.0, 5.0],
            "actual": [100.0, 0.0],
            "model_version": "m",
        }
    )
    newest, oldest = rows(tables.past_forecasts(past))
    assert (newest["Day"], newest["Absolute % error"], newest["In band"]) == (
        DAYS[1], None, "yes",
    )  # fmt: skip
    assert (oldest["Forecast − actual"], oldest["Absolute % error"]) == (10, 10.0)


def test_events_are_named_as_people_say_them_and_holidays_as_they_are_called():
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
        "Pay day",
        "iDay_2",
    ]


def test_a_supposition_is_told_with_its_difference():
    outcome = pd.DataFrame(
        {
            "target_on": DAYS[:1],
            "forecast": [100.0],
            "supposed": [80.4],
            "supposed_p10": [70.0],
            "supposed_p90": [90.0],
        }
    )
    [row] = rows(tables.what_if(outcome))
    assert (row["Forecast"], row["Scenario"], row["Difference"]) == (100, 80, -20)
