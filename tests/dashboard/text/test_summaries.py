"""Sentences and figures over literal tables, their numbers worked by hand."""

import math
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

from dashboard.queries.depot import DepotStatus
from dashboard.text import summaries

DAYS = pd.date_range("2025-11-14", periods=14).as_unit("s")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([(110, 100), (220, 200)], 0.1, id="ten percent more"),
        pytest.param([(110, 100), (500, math.nan)], 0.1, id="an unknown week before"),
        pytest.param([(5, math.nan)], math.nan, id="nothing known"),
        pytest.param([(5, 0)], math.nan, id="nothing sold"),
    ],
)
def test_change_is_over_days_known_in_both_weeks(rows, expected):
    days = pd.DataFrame(rows, columns=["part", "week_before"])
    np.testing.assert_allclose(summaries.change(days), expected)


NO_DAYS = pd.DataFrame(columns=["day_on", "holidays", "events"])


def test_a_depots_sentence_names_its_short_days_and_compares_those_known_in_both_weeks():
    days = pd.DataFrame(
        {
            "day_on": DAYS[7:],
            "point": [11.0, 11, 11, 11, 15, 11, 11],
            "week_before": [np.nan] + [10.0] * 6,
            "short": [0, 0, 1, 0, 2, np.nan, 0],
            "undelivered": [0.2, 0, 3.1, 0, 8.0, np.nan, 0],
            "vans": np.nan,
            "basis": "model",
            "is_set": False,
        }
    )
    orders = "81 orders in the next 7 days, +17 % vs last 7 days."
    short, late = "Short of vans: 1 on Sun, 2 on Tue.", f"{orders[:-1]}, about 11 late."
    assert summaries.depot_sentence(days, NO_DAYS) == f"{short} {late}"
    none_late = days.assign(undelivered=0.0)
    assert summaries.depot_sentence(none_late, NO_DAYS) == f"{short} {orders}"
    assert summaries.depot_sentence(days.assign(short=0), NO_DAYS) == late, (
        "as in the list"
    )
    assert summaries.depot_sentence(none_late.assign(short=0), NO_DAYS) == orders
    known = summaries.depot_sentence(none_late.assign(short=0, vans=5.0), NO_DAYS)
    assert known == f"{orders} 5 own vans."
    shut = none_late.assign(short=0, basis=["closed", *5 * ["model"], "closed"])
    told = summaries.depot_sentence(shut, NO_DAYS)
    assert told == orders.replace(
        "7 days,", "7 days, closed on Fri 21 Nov and Thu 27 Nov,", 1
    )
    shut["is_set"] = True
    assert summaries.depot_sentence(shut, NO_DAYS) == orders, "planners have set them"
    later = none_late.assign(day_on=days["day_on"] + pd.Timedelta(days=7), short=0)
    two_weeks = summaries.depot_sentence(pd.concat([none_late, later]), NO_DAYS)
    assert two_weeks.startswith("Short of vans: 1 on Sun 23 Nov, 2 on Tue 25 Nov. ")
    before = pd.DataFrame({"day_on": DAYS, "holidays": [[]] * 14, "events": [[]] * 14})
    before.at[1, "holidays"] = ["Fair"]
    before.at[6, "events"] = ["promotion", "closed"]
    before.at[8, "events"] = ["strike"]
    told = summaries.depot_sentence(days, before)
    assert "+17 % vs last 7 days (with Fair and Promotion), about" in told


def test_the_parts_of_a_forecast_whose_names_do_not_say_it_are_told():
    parts = pd.DataFrame(
        {"part": ["level", "network", "point shift"], "orders": [100.0, 4.0, -0.2]}
    )
    usual = "From a usual day at this depot, each part adds or takes orders."
    network = "Recent weeks: the effect of the depot's last weeks."
    assert summaries.parts_sentence(parts) == f"{usual} {network}"
    assert summaries.parts_sentence(parts[:1]) == usual
    below = summaries.parts_sentence(parts.assign(orders=[100.0, 0.0, -2.0]))
    assert below.startswith(
        f"{usual} Small correction: lowers the mean error in percent"
    )


def daily_scores(*mapes, naive=0.2):
    """`queries.accuracy` of days with these MAPEs, of which all but the last have 3 depots."""
    days = pd.DataFrame({"grain": "day", "mape": mapes, "counted": 3, "bias": np.nan})
    days["day_on"] = pd.date_range("2026-11-16", periods=len(mapes))
    days.loc[days.index[-1], "counted"] = 1
    overall = pd.DataFrame(
        {
            "grain": ["all"],
            "mape": 0.11,
            "counted": 684,
            "bias": -0.012,
            "coverage": 0.79,
        }
    )
    nearest = pd.DataFrame({"grain": ["horizon"], "horizon": 1, "mape": 0.09})
    own = pd.concat([overall, days, nearest], ignore_index=True)
    own["forecaster"] = "forecast"
    return pd.concat([own, own.assign(forecaster="seasonal naive", mape=naive)])


def test_a_scenario_is_summarised_as_a_difference():
    outcome = pd.DataFrame({"forecast": [1000.0, 400.0], "scenario": [1000.0, 0.0]})
    assert summaries.what_if_sentence(outcome, DAYS[0], DAYS[1]) == (
        "With this scenario on Fri 14 – Sat 15 Nov: 1,000 orders in the next 2 days "
        "instead of 1,400 (−400)."
    )


def test_a_scenario_changes_whole_orders_as_its_chart_has_them():
    outcome = pd.DataFrame({"forecast": [195.4, 100.3], "scenario": [0.0, 100.3]})
    told = summaries.what_if_sentence(outcome, DAYS[0], DAYS[0])
    assert "100 orders in the next 2 days instead of 295 (−195)." in told
    same = outcome.assign(scenario=outcome["forecast"])
    told = summaries.what_if_sentence(same, DAYS[0], DAYS[0])
    assert "(no change: the forecast has it already" in told


TODAY = date(2026, 11, 22)  # a Sunday
YESTERDAY = TODAY - timedelta(days=1)


def scored_day(*rows):
    columns = ["depot_id", "name", "city", "actual", "point"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(is_expected=True, part=table["point"], planner_orders=np.nan)


@pytest.mark.parametrize(
    ("depots", "expected"),
    [
        pytest.param(
            [("Barking", 138.0, 100.0), ("Poplar", 200.0, 210.0)],
            "338 orders, forecast 310 (8 % too low). Largest miss: Barking, 138 orders, "
            "forecast 100.",
            id="the worst of two",
        ),
        pytest.param(
            [("Barking", 100.0, 80.0)],
            "100 orders, forecast 80 (20 % too low). Largest miss: Barking, 100 orders, "
            "forecast 80.",
            id="the only one, by the same number",
        ),
        pytest.param(
            [("Barking", 0.0, 80.0)],
            "0 orders, forecast 80 (–). Largest miss: Barking, 0 orders, forecast 80.",
            id="without an order, so without a percentage",
        ),
        pytest.param(
            [("Barking", 100.0, 100.0)],
            "100 orders, forecast 100 (0 % off).",
            id="exact",
        ),
    ],
)
def test_yesterday_is_compared_with_its_forecast(depots, expected):
    rows = scored_day(*((name[0], name, "London", *both) for name, *both in depots))
    sentence = summaries.last_day_sentence(rows, YESTERDAY, TODAY)
    assert sentence == f"Yesterday: {expected}"
    named = summaries.last_day_sentence(rows, YESTERDAY, TODAY, "Black Friday")
    first, end, worst = sentence.partition("). Largest miss")
    if worst:
        assert named == f"{first}). On that day: Black Friday. Largest miss{worst}"
    else:
        assert named == f"{first}{end} On that day: Black Friday."


def test_depots_outside_their_band_are_counted():
    known = {
        "actual": [89.0, 90.0, 111.0, None],
        "p10": 90.0,
        "point": 100.0,
        "p90": 110.0,
    }
    scored = pd.DataFrame(known)
    assert summaries.is_outside(scored).tolist() == [True, False, True, False]
    assert summaries.outside_sentence(scored) == (
        "Outside their 80 % band: 2 of 3 scored depots."
    )
    assert summaries.outside_sentence(scored[3:]) == ""


@pytest.mark.parametrize(
    ("errors", "one_sided"),
    [
        (7 * [5.0] + 3 * [-5.0], "Too high at 7 of 10 scored depots. "),
        (3 * [5.0] + 7 * [-5.0], "Too low at 7 of 10 scored depots. "),
        (6 * [-5.0] + 4 * [5.0], ""),
        ([-5.0], ""),
    ],
)
def test_a_day_that_was_off_in_one_direction_at_most_depots_says_so(errors, one_sided):
    scored = pd.DataFrame({"point": errors, "actual": 0.0, "p10": -9.0, "p90": 9.0})
    told = summaries.outside_sentence(scored)
    assert told.startswith(f"{one_sided}Outside their 80 % band: 0 of ")


def test_a_miss_is_that_of_the_whole_orders_beside_it():
    scored = {"target_on": date(2026, 11, 20), "actual": 10.0, "point": 8.51}
    assert summaries.outcome_sentence(scored) == (
        "Fri 20 Nov: 10 orders, forecast 9 (10 % too low)."
    )


def test_a_day_of_which_depots_are_missing_says_how_many_it_is_about():
    rows = scored_day(
        ("B", "Barking", "London", 110.0, 100.0),
        ("K", "Kamppi", "Helsinki", float("nan"), float("nan")),
        ("P", "Poplar", "London", float("nan"), float("nan")),
        ("W", "Wapping", "London", 3.0, float("nan")),
    )
    closed = rows["depot_id"] == "W"
    sentence = summaries.last_day_sentence(
        rows.assign(is_expected=~closed), YESTERDAY, TODAY
    )
    assert sentence.startswith(
        "Yesterday: 110 orders of 1 of 3 depots, forecast 100 (9 % too low)."
    )


def test_the_largest_miss_has_the_number_that_a_planner_set():
    rows = scored_day(("D", "Delfshaven", "Rotterdam", 554.0, 412.0))
    told = summaries.last_day_sentence(
        rows.assign(planner_orders=515.0), YESTERDAY, TODAY
    )
    assert told.endswith("Delfshaven, 554 orders, forecast 412, planned 515.")


def test_an_older_day_is_named_and_a_day_without_forecast_says_so():
    rows = scored_day(("B", "Barking", "London", 138.0, float("nan")))
    day = YESTERDAY - timedelta(days=2)
    unknown = rows.assign(actual=float("nan"))
    assert summaries.last_day_sentence(unknown, day, TODAY) == (
        "Thu 19 Nov: no orders known yet."
    )
    unforecast = rows.assign(is_expected=False)
    assert summaries.last_day_sentence(unforecast, day, TODAY) == (
        "Thu 19 Nov: 138 orders. No forecast was made the night before."
    )
    assert summaries.last_day_sentence(rows, day, TODAY) == (
        "Thu 19 Nov: 138 orders. The forecast is not scored yet."
    )


A_FRIDAY, A_SATURDAY = date(2025, 11, 21), date(2025, 11, 22)


@pytest.mark.parametrize(
    ("last_on", "due_on", "is_late", "expected"),
    [
        (A_FRIDAY, A_SATURDAY, True,
         "newest orders are from Fri 21 Nov, but those of Sat 22 Nov are due"),
        (None, A_SATURDAY, True,
         "This depot has no data, although it was open on Sat 22 Nov"),
        (A_SATURDAY, A_SATURDAY, False, None),
        (A_FRIDAY, None, False, None),
    ],
)  # fmt: skip
def test_a_depot_with_missing_data_has_a_warning(last_on, due_on, is_late, expected):
    status = DepotStatus(last_on, due_on, is_late)
    warning = summaries.feed_warning(status)
    if expected is None:
        assert warning is None
    else:
        assert expected in warning
        assert "`harbor ingest PATH`" in warning


@pytest.mark.parametrize(
    ("naive", "compared"),
    [
        (
            0.2,
            ", better than repeating the same day last week (20.0 %), but not on Tue 24 Nov",
        ),
        (0.05, ", worse than repeating the same day last week (5.0 %)"),
        (0.1102, ", as good as repeating the same day last week (11.0 %)"),
        (np.nan, ""),
    ],
)
def test_accuracy_begins_with_all_days_that_are_scored(naive, compared):
    of_nine = daily_scores(*9 * [0.3], naive=naive)
    of_one = summaries.accuracy_sentence(of_nine, 1)
    told = summaries.accuracy_sentence(of_nine, 2)
    assert of_one == told.replace("per depot and day", "per day")
    assert told == (
        f"The 9 days scored since Mon 16 Nov were off by 11.0 % per depot and day{compared}."
    )
    newest_is_better = daily_scores(*8 * [0.3], 0.01, naive=naive)
    told = summaries.accuracy_sentence(newest_is_better, 2)
    assert "but not" not in told


def test_a_day_that_is_over_in_some_cities_says_whose_it_is():
    days = pd.DataFrame(
        {
            "target_on": pd.to_datetime(2 * ["2026-11-29"] + 3 * ["2026-11-30"]),
            "city": ["London", "Leeds", "London", "Leeds", "Helsinki"],
        }
    )
    told = "All cities on Sun 29 Nov: Leeds and London only."
    assert summaries.of_some_cities(days) == told
    assert summaries.of_some_cities(days[:2]) == ""


def test_the_coverage_of_depots_days_is_told_in_percent():
    bands = pd.DataFrame(
        [
            ("depots", "ordinary days", 0.8, 900),
            ("depots", "holidays and events", 0.3, 100),
            ("fleet", "ordinary days", 0.58, 10),
        ],
        columns=["level", "kind", "coverage", "counted"],
    )
    assert summaries.coverage_sentence(bands) == (
        "75.0 % of depots' days were in the 80 % band."
    )
    alone = summaries.coverage_sentence(bands[:2])
    assert alone.startswith("75.0 % of days were")
    assert summaries.coverage_sentence(bands[:0]) == ""


@pytest.mark.parametrize(
    ("coverage", "verdict"),
    [
        (0.744, ": it was too narrow"), (0.75, ""), (0.85, ""),
        (0.856, ": it was too wide"),
    ],
)  # fmt: skip
def test_bands_that_hold_too_few_or_too_many_days_are_called_so(coverage, verdict):
    row = {"level": "depots", "kind": "all", "coverage": coverage, "counted": 1000}
    told = summaries.coverage_sentence(pd.DataFrame([row]))
    assert told.endswith(f"% band{verdict}.")


def test_planners_and_the_forecast_that_they_changed_are_compared():
    overridden = pd.DataFrame(
        {"counted": [3], "override_mape": [0.065], "forecast_mape": [0.332]}
    )
    assert summaries.planners_sentence(overridden) == (
        "Planners changed 3 forecasts and were off by 6.5 %; the numbers that they changed, by 33.2 %."
    )
    assert summaries.planners_sentence(overridden[:0]) == ""


def test_a_days_error_is_of_the_night_before_alone():
    scores = daily_scores(0.1, naive=np.nan)
    told = "The forecast of the night before was off by 9.0 % per depot."
    assert summaries.day_error_sentence(scores) == told
    far = scores[scores["grain"] == "horizon"].assign(horizon=2, mape=0.2)
    several = pd.concat([scores, far], ignore_index=True)
    assert summaries.day_error_sentence(several) == (
        f"{told[:-1]}; all forecasts of the day, 1 to 2 days ahead: 11.0 %."
    )
    none = scores[scores["grain"] != "horizon"]
    assert summaries.day_error_sentence(none) == ""
