"""The grids of the page Plan, read back with a parser."""

import re

import pandas as pd
import pytest

from dashboard.planning import planning
from dashboard.planning.city_settings import CitySettings
from dashboard.planning.transfers import POOL, Transfer
from dashboard.tables import plan_grids
from tests.dashboard.cells import Cells
from tests.dashboard.planning.test_planning import DAYS, NO_BANDS, fleet, london


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
def planned(week):
    plan = planning.make_plan(week, london(5))
    return plan, planning.by_city(plan, london(5), NO_BANDS)


def test_depots_have_vans_shortages_orders_and_marks(planned):
    rows = Cells(plan_grids.depots(*planned)).text
    assert rows[:4] == [
        ["Depot", "Fri 21 Nov", "Sat 22 Nov"],
        ["Poplar 3 own vans", "3 150 set model 100", "3 −1 200"],
        ["<b>Wapping 3 own vans", "closed", "2 −1 149"],
        ["Planned orders", "150", "349"],
    ]
    assert [row[0] for row in rows[4:]] == [
        "Vans assigned", "Vans needed if moved between depots", "Vans not assigned",
        "Drivers", "Undelivered orders", "Chance of full delivery",
    ]  # fmt: skip


def test_a_cell_links_to_its_form_and_says_who_changed_it(planned):
    tags = Cells(plan_grids.depots(*planned)).tags
    [link, *_] = [attributes for tag, attributes in tags if tag == "a"]
    assert link["href"] == "plan?city=London&depot=A&day=2025-11-21"
    assert link["aria-label"] == "Change Poplar, Fri 21 Nov: 3 vans, 150 orders"
    titles = [attributes.get("title", "") for tag, attributes in tags if tag == "td"]
    assert "set by Anna: <i>strike" in titles[0]


def test_cities_have_vans_needed_short_and_the_chance(planned):
    _, days = planned
    settings = {"London": CitySettings("London", 5, 50.0)}
    chances = days.assign(
        delivery_probability=[0.995, 0.004], needed_pooled=[3, 9], short=[0, 4]
    )
    html = plan_grids.cities(chances, settings)
    assert Cells(html).text == [
        ["City", "Fri 21 Nov", "Sat 22 Nov"],
        ["London 5 vans (estimated)", "3", "9 −4 < 1 %"],
    ]
    links = [attributes["href"] for tag, attributes in Cells(html).tags if tag == "a"]
    assert links == [
        "plan?city=London",
        "plan?city=London&day=2025-11-21",
        "plan?city=London&day=2025-11-22",
    ]


def test_a_missing_day_leaves_its_own_cell_empty(planned):
    plan, days = planned
    html = plan_grids.depots(plan.drop(index=plan.index[0]), days)
    assert Cells(html).text[1] == ["Poplar 3 own vans", "", "3 −1 200"]
    delft = days.assign(city="Delft")[1:]
    both = pd.concat([delft, days], ignore_index=True)
    settings = {city: CitySettings(city, 5, 50.0) for city in ("Delft", "London")}
    head, first, second = Cells(plan_grids.cities(both, settings)).text
    assert head == ["City", "Fri 21 Nov", "Sat 22 Nov"]
    assert first[1] == ""
    assert first[2] == second[2] != ""


def test_thousands_of_vans_are_separated(planned):
    plan, days = planned
    many = days.assign(needed_pooled=12_345, short=2_345)
    html = plan_grids.cities(many, {"London": CitySettings("London", 10_000, 50.0)})
    assert "12,345 −2,345" in Cells(html).text[1][1]
    html = plan_grids.depots(plan.assign(allocated=1_000, needed=3_000), many)
    assert Cells(html).text[1][1].startswith("1,000 −2,000")


def test_the_whole_cell_of_a_depot_is_its_link(planned):
    html = plan_grids.depots(*planned)
    cells = re.findall("<td[^>]*>(.*?)</td>", html.split("</tbody>")[0])
    assert len(cells) == 4
    assert all(
        cell.startswith("<a ") and cell.endswith("</a>") and cell.count("<a ") == 1
        for cell in cells
    )
    assert 'aria-label="Change Poplar, Sat 22 Nov: 3 vans, 1 short, 200 orders"' in html


def test_the_column_of_the_marked_day_is_marked(planned):
    plan, days = planned
    settings = {"London": CitySettings("London", 5, 50.0)}
    marked = DAYS[1].date()
    grids = (
        plan_grids.depots(plan, days, marked),
        plan_grids.cities(days, settings, marked),
    )
    for html in grids:
        for row in re.findall("<tr.*?</tr>", html):
            classes = re.findall('<t[dh][^>]*? class="([^"]*)"', row)
            assert ["marked" in each for each in classes] == [False, True]
        assert html.count('aria-current="date"') == 1
    assert 'href="plan?city=London&amp;day=2025-11-22"' in grids[1].split("<td")[0]
    assert "marked" not in plan_grids.depots(plan, days)


def test_transfers_are_listed_by_day():
    moves = {
        DAYS[0]: [],
        DAYS[1]: [Transfer(1, "Poplar", "<b>Wapping"), Transfer(2, POOL, "Barking")],
    }
    assert plan_grids.transfers(moves) == (
        '<ul class="hf-moves"><li><b>Sat 22 Nov:</b> 1 van Poplar → &lt;b&gt;Wapping, '
        "2 vans spare pool → Barking</li></ul>"
    )
    assert plan_grids.transfers({DAYS[0]: []}) == ""


def test_unknown_vans_have_no_chance(planned):
    plan, _ = planned
    unknown = planning.by_city(plan, london(None), NO_BANDS)
    rows = Cells(plan_grids.depots(plan.assign(vans=float("nan")), unknown)).text
    assert rows[1][0] == "Poplar"
    assert "Chance of full delivery" not in [row[0] for row in rows]
    cities = plan_grids.cities(unknown, london(None))
    assert Cells(cities).text[1][0] == "London vans not known (estimated)"
    assert pd.isna(unknown["delivery_probability"]).all()
