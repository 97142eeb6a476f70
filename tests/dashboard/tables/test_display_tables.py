"""Tables for people over literal answers: headings, whole numbers, percentages."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from dashboard.tables import display_tables, workbook

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
            "target_on": DAYS,
            "p10": [90.4, 0.0],
            "point": [100.6, 0.0],
            "p90": [111.0, 0.0],
            "basis": ["cold_start", "closed"],
            "week_before": [99.0, np.nan],
            "year_before": [88.0, np.nan],
            "change": [0.25, np.nan],
            "point_before": [95.5, np.nan],
            "model_point": [80.0, 0.0],
            "override_reason": ["A strike", None],
            "made_by": ["Anna", None],
        }
    )
    first, second = rows(display_tables.fleet_week(week))
    assert first == {
        "City": "London", "Depot": "Wapping", "Depot id": "LON-02",
        "Day": DAYS[0], "Planned": 101, "Model": 80, "Planned low (P10)": 90, "Planned high (P90)": 111,
        "Basis": "similar depots", "Last week": 99, "52 weeks before": 88, "vs last 7 days": 25, "Previous forecast": 96,
        "Reason": "A strike", "Changed by": "Anna",
    }  # fmt: skip
    assert (second["Planned"], second["Basis"], second["Last week"]) == (
        0, "closed", None,
    )  # fmt: skip


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
            "same_side": 5,
        }
    ).astype({"override_orders": float})


BRIDGE = (40.0, "Bridge closed", "Mara")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            large_error(override=BRIDGE),
            "Mara set 40: “Bridge closed”",
        ),
        (
            large_error(["promotion"], override=BRIDGE),
            "Mara set 40: “Bridge closed”, Promotion",
        ),
        (large_error(["pay_day"], ["Feast"]), "Feast, Pay Day"),
        (large_error(["pay_day"], actual=70.0), "Pay Day"),
        (large_error(basis="cold_start"), "No history"),
        (large_error(actual=105.0), ""),
        (large_error(["promotion"], actual=105.0), "Promotion"),
        (large_error(), ""),
        (
            large_error().assign(same_side=6),
            "Also too low on 6 of the 7 days before",
        ),
        (
            large_error(actual=80.0).assign(same_side=7),
            "Also too high on 7 of the 7 days before",
        ),
    ],
)
def test_a_large_error_has_a_note(result, expected):
    [row] = rows(display_tables.largest_errors(result))
    assert row["Note"] == expected
    actual = result["actual"].iloc[0]
    assert row["Error"] == round(100 - actual)
    assert row["Error %"] == pytest.approx(100 * (100 - actual) / actual)
    assert row["Forecast"] == 100
    assert row["Outside its band"] == ("" if 90 <= actual <= 110 else "yes")


def test_what_all_depots_have_on_one_day_is_noted_at_none_of_them():
    sale, both = large_error(["sale"]), large_error(["sale", "fair"])
    told = display_tables.largest_errors(pd.concat([sale, both]))["Note"]
    assert told.tolist() == ["", "Fair"]
    later = both.assign(target_on=DAYS[1:2])
    told = display_tables.largest_errors(pd.concat([sale, later]))["Note"]
    assert told.tolist() == ["Sale", "Sale, Fair"]


def test_days_have_their_events_and_a_planners_reason_as_notes():
    days = pd.DataFrame(
        {
            "day_on": pd.date_range("2025-11-20", periods=3),
            "events": [["promotion"], [], []],
            "holidays": [[], [], ["Feast"]],
            "is_closed": False,
            "planner_orders": [40.0, 40.0, np.nan],
            "override_reason": ["Bridge closed", "Fair", None],
        }
    )
    noted = display_tables.noted(days)
    assert noted.tolist() == ["Promotion, “Bridge closed”", "“Fair”", "Feast"]
    assert noted.index.tolist() == days["day_on"].tolist()


def test_a_day_ahead_tells_what_was_on_before_and_last_year_only_where_it_differs():
    on = pd.to_datetime(
        ["2025-12-05", "2025-12-06", "2026-11-28", "2026-12-04", "2026-12-05"]
    )
    columns = {"planner_orders": np.nan, "override_reason": None}
    fair = ["fair"]
    days = pd.DataFrame({"day_on": on, **columns}).assign(
        events=[fair, fair, fair, [], fair], holidays=[[]] * 5, is_closed=False
    )
    ahead = days.tail(2).assign(year_before=9.0, year_before_on=on[:2])
    told = display_tables.noted_before(days, ahead)
    assert told == ["Last year: Fair", "Last week: Fair"]
    [ordinary] = display_tables.noted_before(
        days, ahead.tail(1).assign(year_before_on=on[3])
    )
    assert ordinary == "Last week: Fair. Last year: no event"
    unknown = ahead.assign(year_before=np.nan)
    assert display_tables.noted_before(days, unknown) == ["", "Last week: Fair"]


def test_a_day_leads_to_its_accuracy():
    days = pd.DataFrame({"target_on": pd.to_datetime(["2025-11-20", "2025-10-31"])})
    of_city = [
        "accuracy?city=Delft&period=2025-11-20",
        "accuracy?city=Delft&period=2025-10-31",
    ]
    assert display_tables.day_links(days, "Delft") == of_city
    assert display_tables.day_links(days[:1], "") == ["accuracy?period=2025-11-20"]


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
    loaded = display_tables.loaded_files(result, zone)
    assert loaded["File"].tolist() == ["orders.csv", "bucket"]
    assert loaded["Loaded"].tolist() == ["Fri 21 Nov, 04:30"] * 2
    assert loaded["Rejected rows"].tolist() == [2, 0]
    assert "Unchanged rows" not in loaded, "all are 0"
    assert loaded["Ignored columns"].tolist() == ["colour, size", ""]
    assert display_tables.refused_files(result, zone).to_numpy().tolist() == [
        ["counts.csv", "Fri 21 Nov, 04:30", "It is empty. Send it again."]
    ]


def test_the_history_has_a_row_for_each_change_of_orders_vans_or_settings():
    made_at = datetime(2025, 11, 21, 6, 31, tzinfo=UTC)
    row = {"name": "Poplar", "target_on": pd.Timestamp("2025-11-27"), "undoes": np.nan}
    row |= {"what": "orders", "saved": {"orders": 420.0, "point": 341.0}, "note": "Fog"}
    settings = {
        "vans": 52, "orders_per_van": 50.0, "service_level": 0.9, "drivers_per_van": 1.0,
        "shifts": "06-14",
    }  # fmt: skip
    city = {"name": "London", "what": "settings", "saved": settings, "note": ""}
    no_vans = settings | {"vans": None, "orders_per_van": None, "shifts": ""}
    undo = city | {"saved": no_vans, "undoes": 7.0, "note": "of what counts again"}
    rows = [row, row | city | {"target_on": pd.NaT}, row | undo]
    history = pd.DataFrame(rows).assign(
        made_by="Anna", made_at=made_at, is_undone=False
    )
    shown = display_tables.changes(history, ZoneInfo("Europe/London"))
    assert shown.iloc[0].tolist() == [
        "Anna, Fri 21 Nov, 06:31", "Poplar, Thu 27 Nov", "420 orders (forecast then 341)", "Fog",
    ]  # fmt: skip
    assert shown["Note"].tolist()[1:] == ["", ""], "an undo has no reason of its own"
    assert shown["Change"].tolist()[1:] == [
        "52 vans, 50 orders per van, service level 90 %, 1 driver per van, shifts 06-14",
        "Undone, back to: vans and orders per van estimated, service level 90 %, 1 driver per van",
    ]  # fmt: skip


def test_orders_that_a_planner_set_are_listed_and_lead_to_their_form():
    depots = pd.DataFrame(
        {
            "city": ["London", "Delft", "Delft"], "name": ["Poplar", "Noord", "Zuid"],
            "target_on": pd.to_datetime(["2025-11-28", "2025-11-27", "2025-11-27"]),
            "point": [420.0, 7.0, 90.0], "model_point": [341.0, 7.0, 80.0],
            "override_reason": ["Fog", None, "Fair"], "made_by": ["Ann", None, "Ben"],
            "depot_id": ["A", "B", "C"],
            "made_at": pd.Timestamp("2025-11-21 06:31", tz="UTC"),
        }
    )  # fmt: skip
    shown = display_tables.changed_days(depots, ZoneInfo("Europe/London"))
    assert shown.iloc[0].tolist() == [
        "Poplar", "London", pd.Timestamp("2025-11-28"), 420, 341, "Fog",
        "Ann, Fri 21 Nov, 06:31",
    ]  # fmt: skip
    assert display_tables.form_links(depots[:1]) == [
        "plan?city=London&day=2025-11-28&depot=A"
    ]
    assert display_tables.form_links(depots[:1].drop(columns="depot_id")) == [
        "plan?city=London&day=2025-11-28&form=vans"
    ]


SCORES = pd.DataFrame(
    {
        "grain": ["all", "all", "all", "horizon", "horizon", "horizon"],
        "horizon": [None, None, None, 2, 2, 2],
        "forecaster": 2 * ["forecast", "seasonal naive", "median of 4"],
        "mape": [0.5, 0.6, 0.7, 0.08, 0.12, 0.1],
        "wape": 0.07,
        "bias": -0.01,
        "coverage": [0.8, np.nan, np.nan, 0.79, np.nan, np.nan],
        "counted": 6,
    }
)


def test_accuracy_is_in_percent_beside_same_day_last_week():
    table = display_tables.accuracy(SCORES, "horizon", "Days ahead").round(9)
    assert rows(table) == [
        {"Days ahead": 2, "Off by": 8.0, "Same day last week": 12.0, "Bias": -1.0,
         "In the 80 % band": 79.0, "Forecasts": 6}
    ]  # fmt: skip


def test_every_measure_has_a_row_for_each_forecaster():
    measures = rows(display_tables.accuracy_measures(SCORES).round(9))
    assert measures[0] == {
        "Forecaster": "Forecast", "Off by": 50.0, "WAPE": 7.0, "Bias": -1.0,
        "In the 80 % band": 80.0, "Forecasts": 6,
    }  # fmt: skip
    assert [row["Forecaster"] for row in measures[1:]] == [
        "Same day last week", "Median of 4",
    ]  # fmt: skip


def test_bands_have_a_row_for_each_kind_of_day_and_their_number_for_each_level():
    bands = pd.DataFrame(
        {
            "level": ["depots", "fleet"], "kind": ["ordinary days", "days next to a holiday or event"],
            "coverage": [0.795, 0.4], "counted": [1234, 9],
        }
    )  # fmt: skip
    beside, ordinary = display_tables.band_coverage(bands).to_dict("records")
    kinds = ["Days next to a holiday or event", "Ordinary days"]
    assert [each["Within the band"] for each in (beside, ordinary)] == kinds
    assert beside["Fleet"] == "40.0 % of 9"
    assert ordinary["Depots"] == "79.5 % of 1,234"
    assert pd.isna(ordinary["Fleet"])
    assert "Cities" not in ordinary


def test_decided_days_say_what_they_leave_short():
    days = pd.DataFrame(
        {
            "city": ["Rotterdam", "London"], "target_on": DAYS,
            "kind": ["ask", "hire"], "extra": [0, 2], "off_road": [0, 1],
            "short": [9, 0], "lacking": [9, 2], "is_enough": [False, True], "note": ["", "from Hertz"], "made_by": ["Ben", "Ann"],
            "made_at": datetime(2025, 11, 20, 7, 30, tzinfo=UTC),
        }
    )  # fmt: skip
    table = display_tables.decided_days(days, ZoneInfo("Europe/London"))
    assert table.astype({"Day": str}).to_numpy().tolist() == [
        ["Rotterdam", "2025-11-21", "Help asked for; 9 short", "", "Ben, Thu 20 Nov, 07:30"],
        ["London", "2025-11-22", "2 vans hired, 1 van off the road; covered", "from Hertz",
         "Ann, Thu 20 Nov, 07:30"],
    ]  # fmt: skip
    assert list(table) == ["City", "Day", "Decision", "Note", "Decided by"]
    quiet = display_tables.decided_days(days.assign(lacking=0), ZoneInfo("UTC"))
    assert quiet["Decision"].tolist() == [
        "Help asked for",
        "2 vans hired, 1 van off the road",
    ]


def test_days_of_an_occasion_in_a_row_stand_together_newest_first_with_their_orders():
    days = pd.DataFrame(
        {
            "day_on": pd.to_datetime(
                ["2024-11-29", "2024-11-30", "2024-12-01", "2024-12-03", "2025-11-28"]
            ),
            "actual": [1200.0, 90.0, 7.0, 8.0, 9.0],
            "is_closed": False,
            "events": [["black_friday"], ["black_friday"], [], ["fair"], ["fair"]],
            "holidays": 5 * [[]],
        }
    )
    assert rows(display_tables.past_occasions(days)) == [
        {"Days": "Fri 28 Nov", "Holiday or event": "Fair", "Orders": "9"},
        {"Days": "Tue 3 Dec 2024", "Holiday or event": "Fair", "Orders": "8"},
        {"Days": "Fri 29 – Sat 30 Nov 2024", "Holiday or event": "Black Friday",
         "Orders": "1,200 · 90"},
    ]  # fmt: skip
    assert display_tables.past_occasions(days[2:3]).empty
    lacking = display_tables.past_occasions(days.assign(missing=[0, 2, 0, 0, 0]))
    assert lacking["Orders"].tolist() == [
        "9", "8", "1,200 · ≥\N{NO-BREAK SPACE}90",
    ]  # fmt: skip


def test_past_orders_are_newest_first_and_a_closed_day_is_no_event():
    days = pd.DataFrame(
        {
            "day_on": [*DAYS, DAYS[1] + pd.Timedelta(days=1)],
            "actual": [0.0, 12.4, np.nan],
            "is_closed": [True, False, False],
            "events": [["closed"], ["black_friday"], []],
            "holidays": [[], [], ["Sunday"]],
        }
    )
    assert rows(display_tables.past_orders(days)) == [
        {"Day": DAYS[1], "Orders": 12, "Holiday or event": "Black Friday"},
        {"Day": DAYS[0], "Orders": 0, "Holiday or event": ""},
    ]
    sheets = workbook.one_depot_sheets(days[:0], days, days)
    told = sheets["Orders"][1]["Holiday or event"].tolist()
    assert told == ["Black Friday", "Closed"], "Excel has no mark for a closed day"


def test_a_week_is_named_by_its_scored_days():
    monday = pd.Timestamp("2026-11-16")
    days = [monday + pd.Timedelta(n, "D") for n in (0, 4, 6, 7)]
    rows = pd.DataFrame(
        {"grain": "day", "day_on": days, "mape": [np.nan, 0.1, 0.2, 0.3]}
    )
    weeks = pd.DataFrame(
        {"grain": "week", "day_on": [monday, days[3]], "mape": [0.1, 0.3]}
    )
    scores = pd.concat([rows, weeks], ignore_index=True)
    scores = scores.assign(forecaster="forecast", bias=0.0, coverage=0.8, counted=9)
    table = display_tables.accuracy_by_week(scores)
    assert table["Days"].tolist() == ["Mon 23 Nov", "Fri 20 – Sun 22 Nov"], "once"
    earlier = display_tables.accuracy_by_week(scores[scores["day_on"] < days[3]])
    assert earlier["Days"].tolist() == ["Sun 22 Nov", "Fri 20 – Sun 22 Nov"]
    assert earlier["Off by"].tolist() == pytest.approx([20.0, 10.0])
    idle = display_tables.accuracy_by_week(scores.assign(mape=np.nan))
    assert idle["Days"].tolist() == ["Mon 23 Nov", "Mon 16 Nov"]
