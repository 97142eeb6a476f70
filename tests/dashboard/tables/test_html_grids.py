"""Tables as HTML, read back with a parser."""

import re
from datetime import date
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard import components
from dashboard.tables import html_grids
from tests.dashboard.cells import Cells
from tests.dashboard.no_override import as_forecast

DAYS = pd.date_range("2025-11-21", periods=2).as_unit("s")
STATUS = {"last_on": DAYS[0], "is_late": False, "is_silent": False, "change": 0.1}

POPLAR = {"depot_id": "LON-01", "city": "London"}


def fleet(*rows):
    columns = ["depot_id", "name", "city", "target_on", "point", "basis", "week_before"]
    table = as_forecast(pd.DataFrame(rows, columns=columns).assign(**STATUS))
    return table.assign(
        year_before=np.nan, p10=0.9 * table["point"], p90=1.1 * table["point"]
    )


@pytest.fixture
def two_cities():
    return fleet(
        ("L1", "Wapping", "London", DAYS[0], 1000.0, "model", 900.0),
        ("L1", "Wapping", "London", DAYS[1], 500.0, "model", np.nan),
        ("R1", "Waalhaven", "Rotterdam", DAYS[0], 10.0, "cold_start", np.nan),
        ("R1", "Waalhaven", "Rotterdam", DAYS[1], 0.0, "closed", np.nan),
    )


def test_a_week_has_totals_cities_and_depots(two_cities):
    assert Cells(html_grids.fleet_grid(two_cities)).text == [
        ["Depot", "Fri 21 Nov", "Sat 22 Nov", "2 days ahead", "vs last 7 days"],
        ["All cities", "1,010", "500", "1,510", "+11 %"],
        ["London", "1,000", "500", "1,500", "+11 %"],
        ["Wapping", "1,000", "500", "1,500", "+10 %"],
        ["Rotterdam", "10", "0", "10", "–"],
        ["Waalhaven", "≈10", "closed", "10", "+10 %"],
    ]


def test_the_totals_stand_above_those_of_a_year_before_with_what_was_on(two_cities):
    known = two_cities.assign(year_before=[800.0, 600.0, np.nan, np.nan])
    names = {DAYS[1]: "Sale <x>"}
    rows = Cells(html_grids.fleet_grid(known, names_before=names)).text
    name = "52 weeks before"
    assert rows[2] == [
        f"{name} at least 1 of 2 depots", "800", "600 Sale <x>", "1,400", "",
    ]  # fmt: skip
    # A day that is closed now asks for no day a year before; one of two days is missing.
    both = known.assign(year_before=[800.0, 600.0, 9.0, np.nan])
    assert Cells(html_grids.fleet_grid(both)).text[2][:2] == [name, "809"]
    gap = known.assign(year_before=[np.nan, 600.0, 9.0, np.nan])
    html = html_grids.fleet_grid(gap)
    assert Cells(html).text[2][:3] == [f"{name} at least 1 of 2 depots", "9", "600"]
    assert 'href="?history=13+months#by-day"' in html
    of_one = html_grids.fleet_grid(known[:2])
    assert 'href="?city=London&amp;history=13+months#by-day"' in of_one


def test_a_planners_number_is_marked_and_counts_in_every_total(two_cities):
    set_day = two_cities["depot_id"].eq("L1") & two_cities["target_on"].eq(DAYS[0])
    week = two_cities.assign(
        point=two_cities["point"].mask(set_day, 1400.0),
        part=two_cities["part"].mask(set_day, 1400.0),
        is_set=set_day,
        override_id=set_day.map({True: 7.0, False: np.nan}),
        made_by=set_day.map({True: "<i>Anna", False: None}),
        override_reason=set_day.map({True: "<b>strike", False: None}),
    )
    html = html_grids.fleet_grid(week)
    rows = Cells(html).text
    assert rows[1][:3] == ["All cities", "1,410", "500"]
    assert rows[2][:3] == ["London", "1,400", "500"]
    assert rows[3][:3] == ["Wapping", "1,400 set by <i>Anna model 1,000", "500"]
    assert "1,400 (model 1,000), set by &lt;i&gt;Anna: &lt;b&gt;strike" in html


@pytest.mark.parametrize(
    ("is_set", "cell", "title"),
    [
        pytest.param(
            True, "50 set by Anna model 0", "the calendar says closed", id="set so"
        ),
        pytest.param(
            False, "closed", "Closed, so Anna's number is not used", id="wins"
        ),
    ],
)
def test_a_closed_day_that_was_set_says_which_number_counts(
    two_cities, is_set, cell, title
):
    closed = two_cities["basis"] == "closed"
    week = two_cities.assign(
        point=two_cities["point"].mask(closed & is_set, 50.0),
        is_set=closed & is_set,
        override_id=closed.map({True: 7.0, False: np.nan}),
        made_by=closed.map({True: "Anna" if is_set else None, False: None}),
        override_reason=closed.map({True: "A fair" if is_set else None, False: None}),
        overruled_by=closed.map({True: None if is_set else "Anna", False: None}),
    )
    html = html_grids.fleet_grid(week)
    assert Cells(html).text[-1][2] == cell
    assert title in unescape(html)


def test_a_day_with_an_event_is_marked_in_the_head_and_named_in_the_cell_of_its_city(
    two_cities,
):
    day = two_cities["target_on"].min()
    names = {"": {day: "<x> (London)"}, "London": {day: "Black Friday <x>"}}
    html = html_grids.fleet_grid(two_cities, names)
    plain, marked = (
        Cells(html_grids.fleet_grid(two_cities)).text,
        Cells(html).text,
    )
    assert marked[0][1] == f"▲ <x> (London) {plain[0][1]}"
    assert marked[0][2:] == plain[0][2:]
    assert '<abbr class="event" title="&lt;x&gt; (London)">' in html
    changed = [
        (before, after)
        for before, after in zip(plain[1:], marked[1:], strict=True)
        if before != after
    ]
    [(before, after)] = changed
    assert after == [before[0], f"{before[1]} Black Friday <x>", *before[2:]]
    assert before[0].startswith("London")


def test_a_large_fleet_is_cut_in_each_city_with_a_notice(monkeypatch):
    """The notice spans the grid; of one city it asks for no choice that was made."""
    monkeypatch.setattr(html_grids, "MAX_DEPOTS", 4)
    monkeypatch.setattr(html_grids, "MAX_DEPOTS_OF_ONE_CITY", 2)
    rows = [
        (f"{city}{n}", f"Depot {n}", city, DAYS[0], 10.0, "model", 10.0)
        for city in ("London", "Rotterdam")
        for n in range(5)
    ]
    cells = Cells(html_grids.fleet_grid(fleet(*rows)))
    notice = "find one by name on page Depots , or save all as Excel"
    cut = ["Depot 0", "Depot 1", f"and 3 more: choose the city, {notice}"]
    assert [row[0] for row in cells.text] == [
        "Depot", "All cities", "London", *cut, "Rotterdam", *cut,
    ]  # fmt: skip
    assert cells.text[1][1] == "100", "totals are of all"
    spans = {attrs["colspan"] for _, attrs in cells.tags if "colspan" in attrs}
    assert spans == {str(len(cells.text[0]))}
    london = Cells(html_grids.fleet_grid(fleet(*rows[:5])))
    assert london.text[-1] == [f"and 3 more: {notice}"]


def test_the_busiest_day_is_the_darkest_cell(two_cities):
    html = html_grids.fleet_grid(two_cities[two_cities["city"] == "London"])
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
    assert "missing data after Fri 21 Nov" in html_grids.fleet_grid(late)
    silent = two_cities.assign(is_silent=True)
    assert "no data since Fri 21 Nov" in html_grids.fleet_grid(silent)
    assert "no data yet" in html_grids.fleet_grid(silent.assign(last_on=pd.NaT))


def test_text_from_the_database_never_becomes_html(two_cities):
    nasty = "<img src=x onerror=alert(1)>&'\""
    html = html_grids.fleet_grid(
        two_cities.assign(name=nasty, city=nasty, depot_id=nasty)
    )
    read = Cells(html)
    assert not [tag for tag, _ in read.tags if tag == "img"]
    assert [row[0] for row in read.text][2] == nasty
    odd = two_cities.assign(depot_id='A&B "1"/é', point=370_901.0, part=370_901.0)
    cells = Cells(html_grids.fleet_grid(odd))
    links = {attrs["href"] for tag, attrs in cells.tags if tag == "a"}
    plans = {"plan?city=London", "plan?city=Rotterdam"}
    assert links == {"depot?depot=A%26B+%221%22%2F%C3%A9", *plans}
    assert cells.text[2][1] == "370,901 371k", "short on phones"


def days_of(basis, events=(), holidays=(), point=120.0, **override):
    table = pd.DataFrame(
        {
            "day_on": DAYS[:1],
            "p10": [point * 0.8],
            "point": [point],
            "p90": [point * 1.25],
            "allocated": [3.0],
            "needed": [3.0],
            "undelivered": [0.0],
            "moved": [""],
            "noted_before": [""],
            "basis": [basis],
            "events": [list(events)],
            "holidays": [list(holidays)],
            "is_closed": [basis == "closed"],
            "week_before": [90.0],
            "year_before": [np.nan],
            "year_before_on": [pd.NaT],
        }
    )
    return as_forecast(table, **override)


SET_BY_ANNA = {
    "is_set": True, "model_point": 100.0, "override_id": 7.0, "made_by": "Anna",
    "override_reason": "<i>strike",
}  # fmt: skip


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        pytest.param(days_of("model"), ["120", "96 – 150", ""], id="plain"),
        pytest.param(
            days_of("model", ["pay_day", "promotion"]),
            ["120", "96 – 150", "Pay Day, Promotion"],
            id="events",
        ),
        pytest.param(
            days_of("cold_start", ["<b>fair</b>"]),
            ["120", "96 – 150", "From similar depots, <b>fair</b>"],
            id="a new depot",
        ),
        pytest.param(
            days_of("model", ["promotion"], **SET_BY_ANNA),
            ["120 set model 100", "96 – 150", "Promotion Set by Anna: “<i>strike”"],
            id="set by hand",
        ),
        pytest.param(
            days_of("closed", override_id=7.0, overruled_by="Anna"),
            ["closed", "", "Closed, so Anna's number is not used"],
            id="closed after it was set",
        ),
        pytest.param(
            days_of("closed", override_id=7.0), ["closed", "", ""], id="withdrawn"
        ),
        pytest.param(
            days_of("closed", ["closed"], point=0.0),
            ["closed", "", ""],
            id="closed once",
        ),
        pytest.param(
            days_of("closed", ["closed"], ["Christmas Day"], 0.0),
            ["closed", "", "Christmas Day"],
            id="closed on a holiday",
        ),
    ],
)
def test_a_day_ahead_has_orders_band_last_week_and_events(days, expected):
    orders, band, notes = expected
    [_, day, *below] = Cells(html_grids.depot_days(days, POPLAR)).text
    assert day == ["Fri 21 Nov", orders, band, "3", "90", notes]
    # On a phone the notes stand in a line of their own.
    assert below == [[notes.replace(" Set by", " · Set by")]] * bool(notes)


@pytest.mark.parametrize(
    ("vans", "expected"),
    [
        ({"needed": 7.0}, "3 of 7"),
        ({"moved": "+1 <b>"}, "3 +1 <b>"),
        ({"needed": 7.0, "undelivered": 11.6}, "3 of 7 12 late"),
        ({"undelivered": 11.6, "moved": "+1 <b>"}, "3 12 late +1 <b>"),
        ({"undelivered": 0.49}, "3"),
        ({"allocated": np.nan, "needed": np.nan, "undelivered": np.nan}, ""),
    ],
    ids=[
        "short",
        "with a van lent",
        "with late orders",
        "with both",
        "none late",
        "not planned",
    ],
)
def test_a_depots_day_has_its_part_of_the_citys_vans_and_leads_to_its_reasons(
    vans, expected
):
    depot = {"depot_id": "A&B", "city": "London"}
    cells = Cells(html_grids.depot_days(days_of("model").assign(**vans), depot))
    assert cells.text[1][3] == expected
    late = ["12 late"] * ("12 late" in expected)
    below = " · ".join([*late, *["Vans: +1 <b>"] * ("moved" in vans)])
    assert cells.text[2:] == [[below]] * bool(below)
    assert [attrs["href"] for tag, attrs in cells.tags if tag == "a"] == [
        "depot?depot=A%26B&why=2025-11-21#why-this-forecast",
        "plan?city=London&day=2025-11-21&depot=A%26B",
    ]


def test_a_day_tells_what_was_on_the_week_before():
    days = days_of("model", noted_before="Last week: Fair <x>")
    [_, day, below] = Cells(html_grids.depot_days(days, POPLAR)).text
    assert day[-1] == "Last week: Fair <x>"
    assert below == ["Last week: Fair <x>"]


def test_last_year_is_a_column_where_there_was_one_and_says_which_day():
    year = {"year_before": 77.0, "year_before_on": pd.Timestamp("2024-11-29")}
    days = pd.concat([days_of("model").assign(**year), days_of("model")])
    head, first, second = Cells(html_grids.depot_days(days, POPLAR)).text
    assert head == [
        "Day",
        "Orders",
        "80 % band",
        "Vans",
        "Last week",
        "Last year",
        "Events",
    ]
    assert (first[5], second[5]) == ("77 Fri 29 Nov 2024", "–")


def test_the_calendar_has_a_sign_for_each_day_and_labels_mondays():
    tuesday = date(2025, 11, 25)
    result = pd.DataFrame(
        {
            "name": ["<b>Poplar", "Waalhaven"],
            "states": [
                ["before", "counted", "missing"],
                ["counted", "closed", "counted"],
            ],
        }
    )
    assert Cells(html_grids.calendar(result, tuesday)).text == [
        ["Depot", "", "24 Nov", ""],
        ["<b>Poplar", "·", "■", "✕"],
        ["Waalhaven", "■", "–", "■"],
    ]


def test_a_phones_list_of_depots_has_vans_short_by_day_below_the_names():
    """The more vans lack, the darker the day."""
    known = pd.DataFrame({"depot_id": ["A", "B"], "name": ["Poplar", "Wapping"]})
    short = {"Sat 28 Nov": [0, 1], "Sun 29 Nov": [2, 0], "Mon 30 Nov": [3, 7]}
    numbers = pd.DataFrame(
        {
            "Orders: Sat 28 Nov": [10, 20], "Orders: 7 days ahead": [70, 140],
            **{f"Vans short: {day}": vans for day, vans in short.items()},
            "Late orders, 7 days ahead": [12, 0], "vs last 7 days": [1.0, 2.0],
            "Error, yesterday": pd.array([1, None], "Int64"),
            "status": "", "is_off": False, "was_closed": [False, True], "closed_on": "", "place": [0, 1],
        },
        known["depot_id"],
    )  # fmt: skip
    html = html_grids.depots(known.assign(city="London"), numbers)
    cells = Cells(html)
    on_desks = [("desk" in attrs["class"]) for tag, attrs in cells.tags if tag == "td"]
    assert on_desks == 2 * [False, True, True, True, True, False, False, False]
    assert [row[-1] for row in cells.text[1:]] == ["+1", "closed"]
    on_phones = re.findall(r'<span class="phone">(.*?)</span></small>', html)
    told = [
        re.sub("<.*?>", "", text).replace("\N{NO-BREAK SPACE}", "~")
        for text in on_phones
    ]
    assert told == [
        "Short: 2~on~Sun~29, 3~on~Mon~30", "Short: 1~on~Sat~28, 7~on~Mon~30",
    ]  # fmt: skip
    several = html_grids.depots(known.assign(city=["London", "Helsinki"]), numbers)
    assert '<small>London<span class="phone">Short: ' in several
    shut = numbers.assign(closed_on=["closed on Sun 29 Nov", "closed on Sat 28 Nov"])
    closed = html_grids.depots(known.assign(city="London"), shut)
    assert "<small>closed on Sun 29 Nov<" in closed
    assert [row[1] for row in Cells(closed).text[1:]] == ["10", "closed"]
    heads = html.replace("\N{NO-BREAK SPACE}", "~")
    for head in (
        "Late~orders, 7~days~ahead",
        "vs last~7~days",
        "Error, yesterday",
    ):
        assert f">{head}</th>" in heads
    shades = re.findall(r'<td class="desk"><span class="(s\d+)">(\d)</span>', html)
    assert shades == [
        ("s4", "2"), ("s6", "3"), ("s2", "1"), ("s10", "7"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("total", "short"), [(999_499, "999k"), (999_500, "1M"), (3_736_694, "3.74M")]
)
def test_long_sums_are_short_on_phones(total, short):
    assert f">{short}<" in html_grids._sum(total)
