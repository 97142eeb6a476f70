import math
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from dashboard.text import formatting

FRIDAY, SATURDAY, SUNDAY = (date(2026, 11, day) for day in (27, 28, 29))
HELSINKI = ZoneInfo("Europe/Helsinki")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (formatting.day(FRIDAY), "Fri 27 Nov"),
        (formatting.day(FRIDAY, date(2026, 1, 1)), "Fri 27 Nov"),
        (formatting.day(date(2024, 2, 29), FRIDAY), "Thu 29 Feb 2024"),
        (formatting.day(pd.Timestamp("2025-01-06")), "Mon 6 Jan"),
        (formatting.coming_day(FRIDAY, FRIDAY), "Today, Fri 27 Nov"),
        (formatting.coming_day(SATURDAY, FRIDAY), "Tomorrow, Sat 28 Nov"),
        (formatting.coming_day(pd.Timestamp(SATURDAY), FRIDAY), "Tomorrow, Sat 28 Nov"),
        (formatting.coming_day(SUNDAY, FRIDAY), "Sun 29 Nov"),
        (formatting.day_range(FRIDAY, SUNDAY), "Fri 27 – Sun 29 Nov"),
        (formatting.day_range(FRIDAY, FRIDAY), "Fri 27 Nov"),
        (
            formatting.day_range(SUNDAY, SUNDAY + timedelta(days=2)),
            "Sun 29 Nov – Tue 1 Dec",
        ),
        (
            formatting.timestamp(datetime(2025, 11, 20, 23, 31, tzinfo=UTC), HELSINKI),
            "Fri 21 Nov, 01:31",
        ),
        (formatting.next_days(1), "the next day"),
        (formatting.next_days(14), "the next 14 days"),
        # One name more than are listed is named, and two are counted.
        (formatting.listed(["A", "B", "C", "D"]), "A, B, C and D"),
        (formatting.listed(["A", "B", "C", "D", "E"]), "A, B, C and 2 more"),
        (formatting.orders(12345.6), "12,346"),
        (formatting.orders(0.4), "0"),
        (formatting.orders(math.nan), "–"),
        (formatting.percent(0.0814), "8.1 %"),
        (formatting.percent(math.nan), "–"),
        (formatting.signed_percent(0.1204), "+12.0 %"),
        (formatting.signed_percent(-0.034, 0), "−3 %"),
        (formatting.signed_percent(-0.0001), "0.0 %"),
        (formatting.signed_percent(math.nan), "–"),
        (formatting.signed(-412), "−412"),
        (formatting.signed(1250), "+1,250"),
        (formatting.signed(0), "0"),
        (formatting.count(1, "day"), "1 day"),
        (formatting.count(2000, "day"), "2,000 days"),
        (formatting.display_name("black_friday"), "Black friday"),
        (formatting.searchable("Jätkäsaari"), "jatkasaari"),
        (
            formatting.with_plain_spelling("Stora Ålby · Malmö · M-1"),
            "Stora Ålby · Malmö · M-1 (alby)",
        ),
        (formatting.with_plain_spelling("Poplar · Malmö"), "Poplar · Malmö"),
        (formatting.planned(420, 341), "420 (model 341)"),
        (formatting.planned(341.2, 340.9), "341"),
        (formatting.planned(1240, 0), "1,240 (model 0)"),
        (formatting.chance(0.0), "< 1 %"),
        (formatting.chance(0.87), "87 %"),
        (formatting.chance(0.99), "99 %"),
        (formatting.chance(1.0), "> 99 %"),  # never certain
        (formatting.chance(math.nan), "–"),
        (formatting.escape_markdown(":red[x] <b>*y*"), r"\:red\[x\] \<b\>\*y\*"),
    ],
)
def test_days_names_and_numbers_are_formatted(written, expected):
    assert written == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(
            "8 %, from 2025-10-23 to 2025-11-13.",
            "8 %, from Thu 23 Oct 2025 to Thu 13 Nov 2025.",
            id="days",
        ),
        pytest.param(
            "Since 2025-11-20 23:31:09.123456+00:00 it waits.",
            "Since Fri 21 Nov 2025, 01:31 it waits.",
            id="a moment",
        ),
        pytest.param("At 2025-11-20T23:31.", "At Thu 20 Nov 2025, 23:31.", id="no zone"),
        pytest.param(
            "The model's champion's: 'harbor nightly --origin 2025-11-20' and `2025-11-20`.",
            "The model's champion's: 'harbor nightly --origin 2025-11-20' and `2025-11-20`.",
            id="commands",
        ),
        pytest.param("See o-2025-11-20.csv and 2025-11-20.csv",
                     "See o-2025-11-20.csv and 2025-11-20.csv", id="files"),
        pytest.param("On 2025-13-45 too", "On 2025-13-45 too", id="no day"),
    ],
)  # fmt: skip
def test_iso_dates_in_a_text_are_formatted(written, expected):
    assert formatting.format_dates(written, HELSINKI) == expected


def test_day_notes_are_holidays_events_and_closure():
    days = pd.DataFrame(
        {
            "holidays": [["Feast, of all"], [], []],
            "events": [["pay_day", "closed"], ["closed"], []],
            "is_closed": [False, True, True],
        }
    )
    assert formatting.day_notes(days) == [
        ["Feast, of all", "Pay Day"],
        ["Closed"],
        ["Closed"],
    ]
