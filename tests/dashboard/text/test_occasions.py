"""Holidays and events of days, in words."""

import pandas as pd

from dashboard.text import occasions


def test_a_days_events_name_the_cities_where_they_are_not_everywhere():
    day = pd.Timestamp("2026-11-27")
    special = pd.DataFrame(
        [
            (day, "black_friday", False, "Helsinki", 1),
            (day, "black_friday", False, "London", 2),
            (day, "promotion", False, "London", 2),
        ],
        columns=["day_on", "what", "is_holiday", "city", "depots"],
    )
    assert occasions.day_names(special, 2) == {
        day: "Black Friday · Promotion in London"
    }
    without = occasions.day_names(special, 2, with_cities=False)
    assert without == {day: "Black Friday · Promotion"}
    assert occasions.day_names(special, 2, "Helsinki") == {day: "Black Friday"}


def test_days_in_a_row_of_the_same_events_are_told_together():
    days = pd.date_range("2026-11-24", periods=6)
    names = ["Promotion", "Promotion", "Black Friday", "Promotion", "Sale"]
    # The fourth day has none.
    name_of = dict(zip([*days[:3], *days[4:]], names, strict=True))
    assert occasions.day_ranges(name_of) == [
        "Tue 24 Nov – Wed 25 Nov: Promotion",
        "Thu 26 Nov: Black Friday",
        "Sat 28 Nov: Promotion",
        "Sun 29 Nov: Sale",
    ]
