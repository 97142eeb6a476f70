"""Pages as Excel, read back by another library."""

from dataclasses import replace
from datetime import UTC, date, datetime
from io import BytesIO
from xml.etree import ElementTree as ET
from zipfile import ZipFile
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from python_calamine import CalamineWorkbook

from dashboard.tables import plan_grids, workbook
from dashboard.text import formatting
from pipelines.planning.city_settings import CitySettings
from tests.dashboard.cells import Cells
from tests.dashboard.planning.test_van_plan import DAYS, fleet, plan_of

ZONE = ZoneInfo("Europe/Amsterdam")
XML = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
ABOUT = {"Page": "http://fleet/plan?city=London", "Saved": "=today()"}


@pytest.fixture
def plan():
    week = fleet(
        ("A", "=1+1", DAYS[0], 100.0, "model"),
        ("A", "=1+1", DAYS[1], 200.0, "model"),
        ("B", "Wapping", DAYS[0], 0.0, "closed"),
        ("B", "Wapping", DAYS[1], 149.0, "model"),
    )
    week = week.assign(point_before=[90.0, 200.0, np.nan, 200.0])
    return plan_of(week, 10, drivers=2.0)


@pytest.fixture
def book(plan):
    return read(workbook.plan_sheets(plan, ZONE))


def read(sheets):
    return CalamineWorkbook.from_filelike(BytesIO(workbook.write(ABOUT, sheets)))


def test_the_workbook_has_a_sheet_for_each_question(book, plan):
    assert book.sheet_names == [
        "Read me", "Cities", "Every day", "Vans", "Short (vans moved)", "Short (none moved)", "Drivers",
        "Orders", "Vans to move", "Data",
    ]  # fmt: skip
    first = dict(book.get_sheet_by_name("Read me").to_python()[1:])
    assert list(first) == [*ABOUT, *book.sheet_names[1:]]
    assert first["Saved"] == "=today()"
    assert "“> 99 %” is 99.5 %" in first["Every day"]
    assert all(first.values())
    chances = book.get_sheet_by_name("Every day").to_python()[1:]
    assert [name for name, _ in chances] == ["London", "All cities"]
    written = [f"{100 * chance:.0f} %" for _, chance in chances]
    shown = plan.every_day["delivery_probability"].map(formatting.chance)
    assert written == shown.tolist(), "as the page has it"
    head, first, _ = book.get_sheet_by_name("Cities").to_python()
    named = dict(zip(head, first, strict=True))
    assert (named["Need"], named["Have"], named["Short"]) == (2, 10, 0)
    assert (named["Drivers"], named["Drivers needed"]) == (4, 4)


def test_numbers_have_units_totals_are_bold_and_headings_filter_the_rest(plan):
    sheets = workbook.plan_sheets(plan, ZONE)
    with ZipFile(BytesIO(workbook.write(ABOUT, sheets))) as file:
        # The first sheet says what is in the others.
        parts = [f"xl/worksheets/sheet{n}.xml" for n in range(1, len(sheets) + 2)]
        styles = ET.fromstring(file.read("xl/styles.xml"))
        readme, *others = [ET.fromstring(file.read(part)) for part in parts]
    numbers = {
        each.get("numFmtId"): each.get("formatCode")
        for each in styles.iter(f"{XML}numFmt")
    }
    formats = [each.get("numFmtId") for each in styles.find(f"{XML}cellXfs")]
    is_bold = [font.find(f"{XML}b") is not None for font in styles.find(f"{XML}fonts")]
    fonts = [is_bold[int(each.get("fontId"))] for each in styles.find(f"{XML}cellXfs")]
    assert readme.find(f"{XML}autoFilter") is None
    for (name, (_, table)), sheet in zip(sheets.items(), others, strict=True):
        _, *rows = sheet.iter(f"{XML}row")
        bold = [fonts[int(row.get("s", 0))] for row in rows]
        n_totals = 1 if name in ("Every day", *workbook.GRIDS) else 0
        assert bold == [False] * (len(table) - n_totals) + [True] * n_totals, name
        assert (
            sheet.find(f"{XML}autoFilter")
            .get("ref")
            .endswith(str(len(table) - n_totals + 1))
        )
    chance = others[1].findall(f".//{XML}c")[-1]
    assert numbers[formats[int(chance.get("s"))]].endswith('"< 1 %";0 %')
    # Of whole numbers it is that of their column: thousands are apart.
    columns = others[0].findall(f"{XML}cols/{XML}col")
    of_columns = {numbers[formats[int(each.get("style"))]] for each in columns}
    assert of_columns == {"#,##0"}
    for sheet in others:
        assert "Printed &D" in sheet.find(f"{XML}headerFooter/{XML}oddFooter").text


def test_a_decision_has_the_time_of_the_fleet(plan):
    made_at = datetime(2025, 11, 20, 20, 42, 7, tzinfo=UTC)
    days = plan.cities.assign(made_at=[made_at, None])
    sheets = workbook.plan_sheets(replace(plan, cities=days), ZONE)
    book = CalamineWorkbook.from_filelike(BytesIO(workbook.write(ABOUT, sheets)))
    head, first, second = book.get_sheet_by_name("Cities").to_python()
    assert [*head[4:7]] == ["Need", "Have", "Short"]
    place = head.index("Decided at (Europe/Amsterdam)")
    with ZipFile(BytesIO(workbook.write(ABOUT, sheets))) as file:
        styles = ET.fromstring(file.read("xl/styles.xml"))
        sheet = ET.fromstring(file.read("xl/worksheets/sheet2.xml"))
    cell = next(
        each for each in sheet.iter(f"{XML}c") if each.get("r") == f"{chr(65 + place)}2"
    )
    style = styles.find(f"{XML}cellXfs")[int(cell.get("s"))].get("numFmtId")
    codes = {
        each.get("numFmtId"): each.get("formatCode")
        for each in styles.iter(f"{XML}numFmt")
    }
    assert codes[style] == "ddd d mmm yyyy hh:mm"
    columns = sheet.findall(f"{XML}cols/{XML}col")
    [width] = [float(each.get("width")) for each in columns
               if int(each.get("min")) <= place + 1 <= int(each.get("max"))]  # fmt: skip
    assert width > len("Thu 20 Nov 2025 21:42")
    at = datetime(2025, 11, 20, 21, 42)  # noqa: DTZ001
    assert (first[place], second[place]) == (at, "")


def test_all_cities_are_the_last_rows_of_the_cities_with_the_numbers_of_the_page(plan):
    undelivered = [0.6, 20.4]
    london = plan.cities.assign(short=[1, 2], undelivered=undelivered, extra=[1, 0])
    days = pd.concat([london, london.assign(city="Delft", short=[3, 4])])
    both = replace(plan, cities=days, depots=plan.depots.assign(part=49.6))
    sheets = workbook.plan_sheets(both, ZONE)
    table = sheets["Cities"][1]
    head, *rest, first, second = read(sheets).get_sheet_by_name("Cities").to_python()
    every = [dict(zip(head, row, strict=True)) for row in (first, second)]
    assert [row[0] for row in rest] == ["London", "London", "Delft", "Delft"]
    assert [row["City"] for row in every] == ["All cities"] * 2
    assert [row["Day"] for row in every] == [day.date() for day in DAYS]
    assert [row["Hired vans"] for row in every] == [2, 0]
    assert [row["Chance of full delivery"] for row in every] == ["", ""]
    assert [row["Decision"] for row in every] == ["", ""]
    named = {"London": CitySettings("London", 10, 50, 0.9, 1)}
    named["Delft"] = replace(named["London"], city="Delft")
    days = days.assign(is_due=False, is_decided=False, made_by="")
    _, shown, *_ = Cells(plan_grids.cities(days, named)).rows
    told = [
        f"{row['Need']:.0f} {row['Short']:.0f} short {row['Late orders']:.0f} late"
        for row in every
    ]
    assert [" ".join(cell.split()) for cell in shown[1:]] == told
    assert told[1].endswith("6 short 40 late"), "rounded in each city"
    assert len(table) == 6


def test_filters_leave_out_the_totals():
    names = ["Delft", "London", "All cities"]
    sheets = {"Cities": ("", pd.DataFrame({"City": names, "Short": 1}))}
    with ZipFile(BytesIO(workbook.write(ABOUT, sheets))) as file:
        sheet = ET.fromstring(file.read("xl/worksheets/sheet2.xml"))
    assert sheet.find(f"{XML}autoFilter").get("ref") == "A1:B3"


def test_heads_are_filled_and_days_in_them_are_dates_as_on_the_page(plan):
    book = workbook.write(ABOUT, {"Orders": ("", workbook.grid(plan.depots, "point"))})
    with ZipFile(BytesIO(book)) as file:
        styles = ET.fromstring(file.read("xl/styles.xml"))
        sheet = ET.fromstring(file.read("xl/worksheets/sheet2.xml"))
    cell = sheet.findall(f".//{XML}c")[3]
    style = styles.find(f"{XML}cellXfs")[int(cell.get("s"))]
    codes = {
        each.get("numFmtId"): each.get("formatCode")
        for each in styles.iter(f"{XML}numFmt")
    }
    assert codes[style.get("numFmtId")] == "ddd d mmm"
    fill = styles.find(f"{XML}fills")[int(style.get("fillId"))]
    assert fill.find(f".//{XML}fgColor").get("rgb") == "FFE3F0F4"


def test_drivers_are_those_of_the_shifts_where_orders_have_times(plan):
    shifts = pd.DataFrame(
        {"city": "London", "target_on": DAYS[1], "shift": ["06–14", "14–22"],
         "orders": 9.6, "vans": [8, 6], "short": 0, "drivers": [8, 6], "drivers_needed": [9, 6],
         "busiest_hour": 9, "busiest_orders": 1.5}
    )  # fmt: skip
    sheets = workbook.plan_sheets(replace(plan, shifts=shifts), ZONE)
    assert "Drivers" not in sheets
    assert not {"Drivers", "Drivers needed"} & {*sheets["Data"][1]}
    assert sheets["Shifts"][1][["Drivers", "Drivers needed"]].to_numpy().tolist() == [
        [8, 9], [6, 6],
    ]  # fmt: skip
    named = {"Drivers, all shifts", "Drivers needed, all shifts"}
    assert named < {*sheets["Cities"][1]}


def test_what_a_shift_that_nobody_has_set_lacks_is_an_empty_cell(plan):
    shifts = pd.DataFrame(
        {"city": "London", "target_on": DAYS[1], "shift": ["06–14", "14–22"],
         "orders": 9.6, "vans": [8, 6], "short": [np.nan, 0.0], "drivers": [8, 6],
         "busiest_hour": 9, "busiest_orders": 1.5}
    )  # fmt: skip
    sheets = workbook.plan_sheets(replace(plan, shifts=shifts), ZONE)
    book = CalamineWorkbook.from_filelike(BytesIO(workbook.write(ABOUT, sheets)))
    head, *rows = book.get_sheet_by_name("Shifts").to_python()
    assert [row[head.index("Short")] for row in rows] == ["", 0]
    assert rows[0][head.index("Busiest hour of the day")] == "09–10", "as on the page"
    unset = replace(plan, shifts=shifts.assign(short=np.nan))
    assert "Short" not in workbook.plan_sheets(unset, ZONE)["Shifts"][1]


@pytest.mark.parametrize(
    ("sheet", "rows"),
    [
        ("Vans", [["=1+1", 2, 4], ["Wapping", "closed", 3], ["", 2, 7]]),
        ("Drivers", [["=1+1", 4, 8], ["Wapping", "closed", 6], ["", 4, 14]]),
        ("Orders", [["=1+1", 100, 200], ["Wapping", "closed", 149], ["", 100, 349]]),
    ],
)
def test_a_sheet_has_depots_by_days_above_the_citys_totals(book, sheet, rows):
    head, *found = book.get_sheet_by_name(sheet).to_python()
    assert head == ["City", "Depot", "Depot id", date(2025, 11, 21), date(2025, 11, 22)]
    rows[-1][0] = "All depots"
    assert [[row[1], *row[3:]] for row in found] == rows


def test_totals_are_added_up_before_they_are_rounded_and_a_depot_may_lack_a_day():
    plan = fleet(
        ("A", "Poplar", DAYS[0], 1.4, "model"),
        ("B", "Wapping", DAYS[0], 1.4, "model"),
        ("B", "Wapping", DAYS[1], 5.0, "model"),
    )
    poplar, wapping, total = workbook.grid(plan, "point").to_numpy().tolist()
    assert total[3:] == [3, 5]
    higher = workbook.grid(plan.assign(part=2 * plan["part"]), "point")
    assert higher.iloc[-1, 3:].tolist() == [6, 10]
    assert poplar[3:] == [1, pd.NA]
    assert wapping[3:] == [1, 5]


def test_what_depots_lack_adds_up_to_what_their_city_lacks_if_vans_are_moved(plan):
    week = plan.depots[plan.depots.columns[: list(plan.depots).index("needed")]]
    few = plan_of(week, 5, level=0.9)
    *_, total = workbook.grid(few.depots, "short").to_numpy().tolist()
    assert total[3:] == few.cities["short"].tolist()
    poplar, wapping, alone = (
        workbook.grid(few.depots, "short_alone").to_numpy().tolist()
    )
    assert (poplar[3:], wapping[3:]) == ([0, 2], ["closed", 1]), "of their own vans"
    assert alone[3:] == [0, 3]


def test_vans_to_move_are_a_row_each(plan):
    few = plan.depots.assign(vans=[2.0, 2.0, 5.0, 5.0])
    assert workbook.moves(few).to_numpy().tolist() == [
        ["London", DAYS[1], "Wapping", "=1+1", 2]
    ]


def test_a_day_that_a_planner_set_is_not_closed(plan):
    is_set = plan.depots["depot_id"].eq("B")
    grid = workbook.grid(plan.depots.assign(is_set=is_set), "point")
    assert grid.set_index("Depot").loc["Wapping"].iloc[2] == 0


def test_days_are_dates_and_no_text_becomes_a_formula(book, plan):
    head, first, *_ = book.get_sheet_by_name("Data").to_python()
    assert first[head.index("Day")] in (date(2025, 11, 21), pd.Timestamp("2025-11-21"))
    assert first[head.index("Depot")] == "=1+1"


def test_percentages_are_fractions_and_nothing_is_an_empty_cell():
    table = pd.DataFrame({"Off by (MAPE)": [46.43], "Decision": [""], "Note": ["ill"]})
    book = workbook.write(ABOUT, {"Scores": ("", table)})
    with ZipFile(BytesIO(book)) as file:
        sheet = ET.fromstring(file.read("xl/worksheets/sheet2.xml"))
        styles = file.read("xl/styles.xml").decode()
    _, row = sheet.iter(f"{XML}row")
    assert [cell.get("r") for cell in row] == ["A2", "C2"], "COUNTA counts no B2"
    assert float(row[0].find(f"{XML}v").text) == pytest.approx(0.4643)
    assert 'formatCode="0.0 %"' in styles


def test_the_orders_of_all_cities_are_the_last_row_unless_there_is_one_city(plan):
    other = plan.depots.assign(city="Delft", depot_id="D", name="Noord", part=2.4)
    both = workbook.grid(pd.concat([plan.depots, other]), "point")
    of_cities = both[both["Depot"] == "All depots"].set_index("City")
    assert of_cities.index.tolist() == ["Delft", "London", "All cities"]
    assert of_cities.iloc[:, 2:].to_numpy().tolist() == [[5, 5], [100, 349], [105, 354]]
    assert "All cities" not in workbook.grid(plan.depots, "point")["City"].tolist()


def test_the_days_ahead_have_a_grid_and_every_row(plan):
    before = {"week_before": 3.0, "year_before": 4.0, "change": -0.25}
    sheets = workbook.week_sheets(plan.depots.assign(p10=1.0, p90=2.0, **before))
    assert list(sheets) == ["Orders", "Data"]
    assert sheets["Data"][1]["52 weeks before"].tolist() == [4] * len(plan.depots)
    assert set(sheets["Data"][1]["vs last 7 days"]) == {-25}
