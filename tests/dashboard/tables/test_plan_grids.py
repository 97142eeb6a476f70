"""The grids of the page Plan, read back with a parser."""

import re
from dataclasses import replace

import pandas as pd
import pytest

from dashboard.planning.van_plan import POOL, Transfer
from dashboard.tables import plan_grids
from pipelines.planning.city_settings import CitySettings, VanDecision
from pipelines.planning.van_plan import make_plan
from tests.dashboard.cells import Cells
from tests.dashboard.planning.test_van_plan import (
    DAYS,
    NO_BANDS,
    fleet,
    london,
    plan_of,
)


@pytest.fixture
def week():
    return fleet(
        ("A", "Poplar", DAYS[0], 150.0, "model"),
        ("A", "Poplar", DAYS[1], 200.0, "model"),
        ("B", "<b>Wapping", DAYS[0], 0.0, "closed"),
        ("B", "<b>Wapping", DAYS[1], 149.0, "model"),
    ).assign(
        model_point=[100.0, 200.0, 0.0, 149.0],
        is_set=[True, False, False, False],
        made_by=["Anna", None, None, None],
        override_reason=["<i>strike", None, None, None],
    )


@pytest.fixture
def plan(week):
    return plan_of(week, 5)


def test_depots_have_vans_shortages_orders_and_marks(plan):
    rows = Cells(plan_grids.depots(plan)).text
    assert rows[:5] == [
        ["London", "Fri 21 Nov", "Sat 22 Nov"],
        ["Need", "3", "7"],
        ["Have", "5", "5"],
        ["Short", "", "2"],
        ["Decision", "–", "decide"],
    ]
    assert [row[0] for row in rows[5:8]] == [
        "Chance of full delivery", "Late orders", "Orders",
    ]  # fmt: skip
    assert rows[7] == ["Orders", "150", "349"]
    assert rows[8][0] == "Drivers to roster"
    assert rows[9:] == [
        [
            "Each depot: vans that drive, “7 of 9” where 9 are needed, and its planned orders"
        ],
        ["Poplar 3 own vans", "3 150 set by Anna model 100", "3 of 4 200"],
        ["<b>Wapping 3 own vans", "closed", "2 of 3 149"],
    ]


def test_drivers_and_orders_are_told_by_shift_where_orders_have_times(plan):
    shifts = pd.DataFrame(
        {
            "target_on": DAYS[0],
            "shift": ["06–14", "14–22"],
            "orders": [99.6, 50.4],
            "busiest_hour": 9,
            "drivers": [3, 2],
            "drivers_needed": [3, 4],
        }
    )
    rows = Cells(plan_grids.depots(replace(plan, shifts=shifts))).text
    assert rows[8] == ["Drivers to roster, all shifts", "3", "5"]
    assert rows[-5:] == [
        ["Drivers 06–14", "3", "–"],
        ["Drivers 14–22", "2", "–"],
        ["Orders 06–14", "100", "–"],
        ["Orders 14–22", "50", "–"],
        ["Busiest hour", "09–10", "–"],
    ]  # below the depots
    partly = plan.cities.assign(extra=[0, 1], kind=["", "hire"], made_by=["", "Ann"])
    html = plan_grids.depots(replace(plan, cities=partly))
    assert ["Decision", "–", "+1 hired , Ann ; decide"] in Cells(html).text
    assert 'aria-label="Vans of Sat 22 Nov: 1 van hired by Ann, to decide"' in html


def test_a_days_vans_lead_to_their_form_and_say_what_was_decided(week):
    decisions = {
        DAYS[0].date(): VanDecision(
            "London", DAYS[0].date(), off_road=2, made_by="Ben"
        ),
        DAYS[1].date(): VanDecision(
            "London", DAYS[1].date(), "hire", 3, 1, made_by="Ann"
        ),
    }
    settings = CitySettings("London", 5, 50, 0.5, decisions=decisions)
    plan = make_plan(week, {"London": settings}, NO_BANDS)
    html = plan_grids.depots(plan)
    decision = ["Decision", "−2 off , Ben", "+3 hired, −1 off , Ann"]
    assert decision in Cells(html).text
    link = [attributes for tag, attributes in Cells(html).tags if tag == "a"][3]
    assert link["href"] == "plan?city=London&day=2025-11-22&form=vans"
    assert link["aria-label"] == (
        "Vans of Sat 22 Nov: 3 vans hired, 1 van off the road by Ann"
    )
    fast = plan_of(week, 4)
    assert fast.cities["short"].tolist() == [0, 3]
    paced = fast.cities.assign(
        at_pace=[6, 4], is_enough=[False, True], is_due=[True, False]
    )
    cells = Cells(plan_grids.depots(replace(fast, cities=paced))).text
    assert ["Decision", "decide", "4 at pace"] in cells
    enough = plan_grids.depots(plan_of(week, 50))
    assert "Decision" not in enough


def test_a_whole_cell_links_to_its_form_and_says_who_changed_it(plan):
    html = plan_grids.depots(plan)
    tags = Cells(html).tags
    day, _, _, _, name, first, second, *_ = [each for tag, each in tags if tag == "a"]
    assert day["href"] == "plan?city=London&day=2025-11-21"
    assert name["href"] == "depot?depot=A"
    assert first["href"] == "plan?city=London&day=2025-11-21&depot=A"
    assert first["aria-label"] == "Change Poplar, Fri 21 Nov: 3 vans, 150 orders"
    assert second["aria-label"] == (
        "Change Poplar, Sat 22 Nov: 3 vans of 4 needed, 200 orders"
    )
    titles = [each["title"] for tag, each in tags if tag == "td" and "title" in each]
    assert "set by Anna: <i>strike" in titles[0]
    for cell in re.findall("<td[^>]*>(.*?)</td>", html.split("</tbody>")[1]):
        assert (cell.startswith("<a "), cell.endswith("</a>")) == (True, True)
        assert cell.count("<a ") == 1


def test_cities_have_need_short_and_the_chance(plan):
    settings = {"London": CitySettings("London", 5, 50.0)}
    days = plan.cities.assign(
        delivery_probability=[0.995, 0.004], needed=[3, 12_345], short=[0, 2_345]
    )
    html = plan_grids.cities(days, settings)
    assert Cells(html).text == [
        ["City vans needed", "Fri 21 Nov", "Sat 22 Nov"],
        ["London 5 vans (estimated)", "3", "12,345 2,345 short < 1 % chance"],
    ]
    links = [attributes["href"] for tag, attributes in Cells(html).tags if tag == "a"]
    assert links == [
        "plan?city=London",
        "plan?city=London&day=2025-11-21",
        "plan?city=London&day=2025-11-22&form=vans",
    ]


def test_only_a_shortage_that_is_not_decided_is_marked(plan):
    settings = {city: CitySettings(city, 5, 50.0) for city in ("Delft", "London")}
    days = plan.cities.assign(short=[0, 4], is_decided=[False, True])
    both = pd.concat([days, days.assign(city="Delft")], ignore_index=True)
    of_short = '<b class="short">'
    assert of_short not in plan_grids.cities(both, settings)
    both["is_decided"] = both["city"] == "London"
    html = plan_grids.cities(both, settings)
    assert html.count(of_short) == 2, "Delft's, and that of all cities"
    assert f"{of_short}8 short<" in html


def test_a_citys_day_says_what_is_decided_and_no_cell_says_99_percent(week):
    decisions = {
        day.date(): VanDecision("London", day.date(), *of, made_by="Jo<")
        for day, of in zip(DAYS, [("ask", 0, 1), ("hire", 3)], strict=True)
    }
    settings = {"London": CitySettings("London", 5, 50, 0.5, decisions=decisions)}
    days = make_plan(week, settings, NO_BANDS).cities
    days = days.assign(delivery_probability=[0.991, 0.919])
    html = plan_grids.cities(days, settings)
    assert Cells(html).text[1][1:] == [
        "3 help asked, −1 off , Jo<", "7 91 % chance +3 hired , Jo<",
    ]  # fmt: skip
    assert "<u>7</u>" in html, "a number that leads somewhere is marked"


def test_a_missing_day_leaves_its_own_cell_empty(plan):
    html = plan_grids.depots(replace(plan, depots=plan.depots.iloc[1:]))
    assert ["Poplar 3 own vans", "", "3 of 4 200"] in Cells(html).text
    delft = plan.cities.assign(city="Delft")[1:]
    both = pd.concat([delft, plan.cities], ignore_index=True)
    settings = {city: CitySettings(city, 5, 50.0) for city in ("Delft", "London")}
    head, total, first, second = Cells(plan_grids.cities(both, settings)).text
    assert total == ["All cities 10 vans (estimated)", "3", "14 4 short 198 late"]
    none = both.assign(
        vans=float("nan"),
        delivery_probability=float("nan"),
        short=0,
        undelivered=float("nan"),
    )
    unknown = {city: CitySettings(city, None, 50.0) for city in settings}
    assert Cells(plan_grids.cities(none, unknown)).text[1] == [
        "All cities vans not known",
        "3",
        "14",
    ]
    assert head == ["City vans needed", "Fri 21 Nov", "Sat 22 Nov"]
    assert first[1] == ""
    assert first[2] == second[2] != ""


def test_the_column_of_the_marked_day_is_marked(plan):
    settings = {"London": CitySettings("London", 5, 50.0)}
    marked = DAYS[1].date()
    grids = (
        plan_grids.depots(plan, marked),
        plan_grids.cities(plan.cities, settings, marked),
    )
    for html in grids:
        for row in re.findall("<tr.*?</tr>", html):
            if "rowgroup" in row:
                continue
            classes = re.findall('<t[dh][^>]*? class="([^"]*)"', row)
            assert ["marked" in each for each in classes] == [False, True]
        assert html.count('aria-current="date"') == 1
    assert 'href="plan?city=London&amp;day=2025-11-22"' in grids[1].split("<td")[0]
    assert "marked" not in plan_grids.depots(plan)


def test_the_vans_that_a_depot_lends_have_a_line_below_their_day():
    moves = {
        DAYS[0]: [],
        DAYS[1]: [
            Transfer(2, POOL, "Barking"),
            Transfer(1, "Århus", "<b>Wapping"),
            Transfer(1, POOL, "Dalston"),
        ],
    }
    assert plan_grids.transfers(moves) == (
        '<ul class="hf-moves"><li><b>Sat 22 Nov</b><ul>'
        "<li><span>1 van</span> Århus → &lt;b&gt;Wapping</li>"
        "<li><span>3 vans</span> hired or city&#x27;s own → 2 Barking, 1 Dalston</li></ul></li></ul>"
    )
    assert plan_grids.transfers({DAYS[0]: []}) == ""


def test_unknown_vans_have_no_chance(week):
    unknown = plan_of(week.assign(vans=float("nan")), None)
    rows = Cells(plan_grids.depots(unknown)).text
    assert "Poplar" in [row[0] for row in rows]
    assert not {"Have", "Short", "Chance of full delivery"} & {row[0] for row in rows}
    cities = plan_grids.cities(unknown.cities, london(None))
    assert Cells(cities).text[1][0] == "London vans not known"
