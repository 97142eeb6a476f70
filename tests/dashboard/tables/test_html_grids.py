"""Tables as HTML, read back with a parser."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard import components
from dashboard.tables import html_grids
from tests.dashboard.cells import Cells

DAYS = pd.date_range("2025-11-21", periods=2).as_unit("s")
STATUS = {
    "last_on": DAYS[0],
    "is_late": False,
    "is_silent": False,
    "change": 0.1,
    "reason": "",
}


def fleet(*rows):
    columns = ["depot_id", "name", "city", "target_on", "p50", "basis", "week_before"]
    table = pd.DataFrame(rows, columns=columns).assign(**STATUS)
    return table.assign(p10=0.9 * table["p50"], p90=1.1 * table["p50"])


@pytest.fixture
def two_cities():
    return fleet(
        ("L1", "Wapping", "London", DAYS[0], 1000.0, "model", 900.0),
        ("L1", "Wapping", "London", DAYS[1], 500.0, "model", np.nan),
        ("R1", "Waalhaven", "Rotterdam", DAYS[0], 10.0, "cold_start", np.nan),
        ("R1", "Waalhaven", "Rotterdam", DAYS[1], 0.0, "closed", np.nan),
    )


def test_a_week_has_totals_cities_and_depots(two_cities):
    assert Cells(html_grids.week(two_cities)).text == [
        ["Depot", "Fri 21 Nov", "Sat 22 Nov", "2 days", "vs last week"],
        ["All cities", "1,010", "500", "1,510", "+11 %"],
        ["London", "1,000", "500", "1,500", "+11 %"],
        ["Wapping", "1,000", "500", "1,500", "+10 %"],
        ["Rotterdam", "10", "0", "10", "–"],
        ["Waalhaven", "≈10", "closed", "10", "+10 %"],
    ]


def test_one_city_has_no_totals_of_all_cities(two_cities):
    rows = Cells(html_grids.week(two_cities[two_cities["city"] == "London"])).text
    assert [row[0] for row in rows] == ["Depot", "London", "Wapping"]


def test_long_sums_are_abbreviated_on_phones():
    large = fleet(("A", "Loop", "Chicago", DAYS[0], 370_901.4, "model", 9.0))
    html = html_grids.week(large)
    assert '<span class="desk">370,901</span><span class="phone">371k</span>' in html
    small = fleet(("A", "Loop", "Chicago", DAYS[0], 99_999.0, "model", 9.0))
    assert 'class="phone"' not in html_grids.week(small)


def test_a_large_fleet_is_cut_in_each_city_with_a_notice():
    rows = [
        (f"{city}{n}", f"Depot {n}", city, DAYS[0], 10.0, "model", 10.0)
        for city in ("London", "Rotterdam")
        for n in range(5)
    ]
    text = Cells(html_grids.week(fleet(*rows), max_depots=4)).text
    assert [row[0] for row in text] == [
        "Depot", "All cities", "London", "Depot 0", "Depot 1",
        "and 3 more: choose the city, or open “View data”", "Rotterdam",
        "Depot 0", "Depot 1", "and 3 more: choose the city, or open “View data”",
    ]  # fmt: skip
    assert text[1][1] == "100"


def test_a_name_links_to_its_depot_whatever_its_id(two_cities):
    odd = two_cities.assign(depot_id='A&B "1"/é')
    links = [
        attrs["href"] for tag, attrs in Cells(html_grids.week(odd)).tags if tag == "a"
    ]
    assert set(links) == {"depot?depot=A%26B+%221%22%2F%C3%A9"}


def test_the_busiest_day_is_the_darkest_cell(two_cities):
    html = html_grids.week(two_cities[two_cities["city"] == "London"])
    shades = [int(n) for n in re.findall(r'class="day s(\d+)"', html)]
    assert shades == [html_grids.SHADES, round(html_grids.SHADES / 8)]


def test_every_shade_has_a_css_rule_and_busier_is_darker():
    sheet = (Path(components.__file__).parent / "style.css").read_text()
    rules = re.findall(r"\.hf \.s(\d+) .*?--hf-accent\) ([\d.]+)%", sheet)
    assert [int(step) for step, _ in rules] == list(range(1, html_grids.SHADES + 1))
    shares = [float(share) for _, share in rules]
    assert shares == sorted(set(shares))


def test_missing_data_is_stated_under_the_name(two_cities):
    late = two_cities.assign(is_late=True)
    assert "missing data after Fri 21 Nov" in html_grids.week(late)
    silent = two_cities.assign(is_silent=True)
    assert "no data since Fri 21 Nov" in html_grids.week(silent)
    assert "no data yet" in html_grids.week(silent.assign(last_on=pd.NaT))


def test_the_reason_is_under_the_name_unless_data_is_missing(two_cities):
    ranked = two_cities.assign(reason="+9 % <since>")
    assert "+9 % &lt;since&gt;" in html_grids.week(ranked)
    assert "+9 %" not in html_grids.week(ranked.assign(is_late=True))


def test_one_city_may_be_longer_than_several():
    rows = [
        (f"{n}", f"Depot {n}", "London", DAYS[0], 10.0, "model", 10.0)
        for n in range(html_grids.MAX_DEPOTS + 1)
    ]
    assert "more: choose" not in html_grids.week(fleet(*rows))


def test_text_from_the_database_never_becomes_html(two_cities):
    nasty = "<img src=x onerror=alert(1)>&'\""
    html = html_grids.week(two_cities.assign(name=nasty, city=nasty, depot_id=nasty))
    read = Cells(html)
    assert not [tag for tag, _ in read.tags if tag == "img"]
    assert [row[0] for row in read.text][2] == nasty


def days_of(basis, events=(), holidays=(), p50=120.0, planned=np.nan):
    return pd.DataFrame(
        {
            "day_on": DAYS[:1],
            "p10": [p50 * 0.8],
            "p50": [p50],
            "p90": [p50 * 1.25],
            "basis": [basis],
            "events": [list(events)],
            "holidays": [list(holidays)],
            "is_closed": [basis == "closed"],
            "planned": [planned],
            "reason": "<i>strike",
            "made_by": "Anna",
        }
    )


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        pytest.param(days_of("model"), ["120", "96 – 150", ""], id="plain"),
        pytest.param(
            days_of("model", ["pay_day", "promotion"]),
            ["120", "96 – 150", "Pay day, Promotion"],
            id="events",
        ),
        pytest.param(
            days_of("cold_start", ["<b>fair</b>"]),
            ["120", "96 – 150", "From similar depots, <b>fair</b>"],
            id="a new depot",
        ),
        pytest.param(
            days_of("model", ["promotion"], planned=480.0),
            ["120", "96 – 150", "Set to 480 by Anna: <i>strike, Promotion"],
            id="set by hand",
        ),
        pytest.param(
            days_of("closed", ["closed"], p50=0.0), ["closed", "", ""], id="closed once"
        ),
        pytest.param(
            days_of("closed", ["closed"], ["Christmas Day"], 0.0),
            ["closed", "", "Christmas Day"],
            id="closed on a holiday",
        ),
    ],
)
def test_a_day_ahead_has_orders_band_and_events(days, expected):
    assert Cells(html_grids.days_ahead(days)).text[1] == ["Fri 21 Nov", *expected]


def test_a_week_without_orders_is_drawn(two_cities):
    rows = Cells(html_grids.week(two_cities.assign(p50=0.0, change=math.nan))).text
    assert rows[3] == ["Wapping", "0", "0", "0", "–"]


def test_the_calendar_has_a_sign_for_each_day_and_labels_mondays():
    days = list(pd.date_range("2025-11-23", periods=3))  # Sunday to Tuesday
    result = pd.DataFrame(
        {
            "name": ["<b>Poplar", "Waalhaven"],
            "states": [
                ["before", "counted", "missing"],
                ["counted", "closed", "counted"],
            ],
        }
    )
    assert Cells(html_grids.calendar(result, days)).text == [
        ["Depot", "", "24 Nov", ""],
        ["<b>Poplar", "·", "■", "✕"],
        ["Waalhaven", "■", "–", "■"],
    ]
