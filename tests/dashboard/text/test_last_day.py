"""How the newest known day went."""

from datetime import date, timedelta

import pandas as pd

from dashboard.text import last_day

TODAY = date(2026, 11, 22)  # a Sunday
YESTERDAY = TODAY - timedelta(days=1)


def scored(*rows):
    columns = ["depot_id", "name", "city", "actual", "point"]
    return pd.DataFrame(rows, columns=columns).assign(is_expected=True)


def test_yesterday_is_compared_with_its_forecast_and_the_worst_depot_named():
    rows = scored(
        ("B", "Barking", "London", 138.0, 100.0),
        ("P", "Poplar", "London", 200.0, 210.0),
    )
    assert last_day.sentence(rows, YESTERDAY, TODAY) == (
        "Yesterday: 338 orders, forecast 310 (−8 %). Furthest off: Barking, 138 orders, "
        "forecast 28 % too low."
    )


def test_both_errors_of_a_fleet_of_one_depot_are_the_same_number():
    rows = scored(("B", "Barking", "London", 100.0, 80.0))
    assert last_day.sentence(rows, YESTERDAY, TODAY) == (
        "Yesterday: 100 orders, forecast 80 (−20 %). Furthest off: Barking, 100 orders, "
        "forecast 20 % too low."
    )


def test_a_depot_without_an_order_has_no_percentage():
    rows = scored(("B", "Barking", "London", 0.0, 80.0))
    sentence = last_day.sentence(rows, YESTERDAY, TODAY)
    assert sentence.endswith("Furthest off: Barking, 0 orders, forecast 80.")


def test_a_day_of_which_depots_are_missing_says_how_many_it_is_about():
    rows = scored(
        ("B", "Barking", "London", 110.0, 100.0),
        ("K", "Kamppi", "Helsinki", float("nan"), float("nan")),
        ("P", "Poplar", "London", float("nan"), float("nan")),
        ("W", "Wapping", "London", 3.0, float("nan")),
    )
    closed = rows["depot_id"] == "W"
    sentence = last_day.sentence(rows.assign(is_expected=~closed), YESTERDAY, TODAY)
    assert sentence.startswith(
        "Yesterday: 110 orders of 1 of 3 depots, forecast 100 (−9 %)."
    )


def test_an_older_day_is_named_and_a_day_without_forecast_says_so():
    rows = scored(("B", "Barking", "London", 138.0, float("nan")))
    day = YESTERDAY - timedelta(days=2)
    unforecast = rows.assign(is_expected=False)
    assert last_day.sentence(unforecast, day, TODAY) == (
        "Thu 19 Nov: 138 orders. No forecast was made the night before."
    )
    assert last_day.sentence(rows, day, TODAY) == (
        "Thu 19 Nov: 138 orders. The forecast is not scored yet."
    )
