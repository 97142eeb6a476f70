import math
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from dashboard import wording


@pytest.mark.parametrize(
    ("value", "year_of", "expected"),
    [
        pytest.param(date(2025, 11, 21), None, "Fri 21 Nov", id="named"),
        pytest.param(
            date(2025, 11, 21), date(2025, 1, 1), "Fri 21 Nov", id="same year"
        ),
        pytest.param(
            date(2024, 2, 29), date(2025, 1, 1), "Thu 29 Feb 2024", id="another year"
        ),
        pytest.param(pd.Timestamp("2025-01-06"), None, "Mon 6 Jan", id="timestamp"),
    ],
)
def test_days_have_names(value, year_of, expected):
    assert wording.day(value, year_of) == expected


def test_a_moment_is_told_in_the_zone_asked_for():
    made = datetime(2025, 11, 20, 23, 31, tzinfo=UTC)
    assert wording.moment(made, ZoneInfo("Europe/Helsinki")) == "Fri 21 Nov, 01:31"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (wording.orders(12345.6), "12,346"),
        (wording.orders(0.4), "0"),
        (wording.orders(math.nan), "–"),
        (wording.percent(0.0814), "8.1 %"),
        (wording.percent(math.nan), "–"),
        (wording.signed_percent(0.1204), "+12.0 %"),
        (wording.signed_percent(-0.034, 0), "−3 %"),
        (wording.signed_percent(-0.0001), "0.0 %"),
        (wording.signed_percent(math.nan), "–"),
        (wording.signed_orders(-412.3), "−412"),
        (wording.signed_orders(0.2), "no change"),
        (wording.signed_orders(1250), "+1,250"),
        (wording.count(1, "day"), "1 day"),
        (wording.count(2000, "day"), "2,000 days"),
        (wording.kind("black_friday"), "Black friday"),
    ],
)
def test_numbers_read_as_people_say_them(written, expected):
    assert written == expected


def test_markdown_in_a_name_stays_text():
    assert wording.plain(":red[x] <b>*y*") == r"\:red\[x\] \<b\>\*y\*"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_would_be_a_formula_is_quoted(start):
    assert wording.safe_cell(f"{start}cmd()") == f"'{start}cmd()"


@pytest.mark.parametrize("value", ["Waalhaven", "", -3, -2.5, None, np.int64(-1)])
def test_other_cells_stay_as_they_are(value):
    assert wording.safe_cell(value) is value


def test_a_csv_keeps_numbers_and_quotes_formulas():
    table = pd.DataFrame({"=Depot": ["=1+1", "Å"], "Difference": [-5, 7]})
    written = wording.csv(table).decode("utf-8-sig")
    assert written == "'=Depot,Difference\n'=1+1,-5\nÅ,7\n"


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        pytest.param(pd.Series([1200, None], dtype="Int64"), "Days", ["1,200", "–"], id="n"),
        pytest.param(pd.Series([8.14, np.nan]), "MAPE", ["8.1 %", "–"], id="share"),
        pytest.param(pd.Series([-1.26]), "Bias", ["−1.3 %"], id="bias has a sign"),
        pytest.param(pd.Series(["a", None], dtype=object), "What", ["a", "–"], id="text"),
        pytest.param(
            pd.Series(pd.to_datetime(["2025-11-21", None])), "From", ["Fri 21 Nov", "–"],
            id="day",
        ),
    ],
)  # fmt: skip
def test_a_column_is_written_out(values, name, expected):
    assert wording.column(values, name) == expected
