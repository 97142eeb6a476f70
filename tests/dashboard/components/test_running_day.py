"""What pages show of the running day."""

import math
import re
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from dashboard import queries
from dashboard.components import running_day
from forecaster.hours import today
from tests.dashboard.cells import Cells

DAY = pd.Timestamp("2026-11-26")
AMSTERDAM = ZoneInfo("Europe/Amsterdam")


@pytest.fixture
def depots():
    """Two depots of a city at eleven: one far ahead of its day, one as expected."""
    return pd.DataFrame(
        {
            "depot_id": ["a", "b"], "name": ["<b>", "quiet"], "city": "Lon & don",
            "target_on": DAY, "until_hour": 11.0, "by_hour": [[20] * 24, [10] * 24],
            "share": [[1 / 24] * 24] * 2, "concentration": 500.0, "city_concentration": 900.0,
            "part": [240.0, 240.0], "model_part": [240.0, 240.0], "point": 233.0, "p10": 200.0, "p50": 240.0, "p90": 280.0,
            "city_p10": 430.0, "city_p50": 480.0, "city_p90": 530.0,
            "fleet_p10": 430.0, "fleet_p50": 480.0, "fleet_p90": 530.0,
        }
    )  # fmt: skip


def test_depots_that_need_more_vans_than_are_planned_come_first(depots):
    planned = depots[["depot_id", "target_on"]].assign(
        vans=6.0, capacity=60.0, allocated=4, needed=[4, 0]
    )
    html = running_day.today_html(depots, planned)
    assert html.index("vans, 4 of its 6 planned") < html.index("<table")
    # On a day that is nearly over no other van is sent.
    evening = depots.assign(until_hour=23.0, by_hour=[[20] * 24, [10] * 24])
    assert "needs about" not in running_day.today_html(evening, planned)
    # Further off, but with vans enough.
    many = depots.assign(by_hour=[[20] * 24, [60] * 24])
    some = running_day.today_html(many, planned.assign(allocated=[4, 99]))
    assert "quiet" not in some
    enough = running_day.today_html(many, planned.assign(allocated=99))
    assert enough.index("<table") < enough.index("Far off so far:")
    assert enough.index("quiet") < enough.index("&lt;b&gt;")


def test_today_is_told_city_by_city_and_escaped(depots, monkeypatch):
    planned = depots[["depot_id", "target_on"]].assign(
        vans=6.0, capacity=60.0, allocated=4, needed=[4, 0]
    )
    html = running_day.today_html(depots, planned)
    [head, row] = Cells(html).text
    assert head == ["City", "So far", "Expected by then", "By the end", "Forecast"]
    assert row[:3] == ["Lon & don", "330 by 11:00 local", "220"]
    assert row[4].startswith("480 ")
    missing = running_day.today_html(depots.assign(city_p50=700.0), planned)
    assert (
        Cells(missing).text[1][1]
        == "330 by 11:00 local at the 2 depots heard from today"
    )
    assert 'href="plan?city=Lon+%26+don"' in html
    said = r"about (\d+) by the end of the day \((\d+) to (\d+)\)"
    vans = r"<b>needs about (\d) vans, 4 of its 6 planned</b>"
    told = re.search(rf"&lt;b&gt;</a>: {said}, planned 233; {vans}<", html)
    number, low, high, at_pace = map(int, told.groups())
    assert (number, at_pace) == (408, math.ceil(high / 60))
    assert 240 < low < number < high < 480
    assert "quiet" not in html
    assert "added up" not in html
    apart = depots.assign(city=["Ghent", "Delft"], city_p50=240.0)
    both = running_day.today_html(
        apart.assign(city_p10=215.0, city_p90=265.0), planned.assign(allocated=9)
    )
    assert "needs about" not in both
    assert Cells(both).text[1][0] == "All cities"
    assert "All cities are estimated as a whole, not added up." in both
    assert "Too early" not in both
    # Where all orders of a day come late, none are expected by eleven.
    late = apart.assign(share=[[1 / 24] * 24, [0.0] * 23 + [1.0]])
    early = running_day.today_html(late, planned)
    assert "<p>Too early to tell: Delft (110 so far).</p>" in early
    assert "All cities" not in early
    assert running_day.today_html(depots[:0], planned) == ""
    monkeypatch.setattr(queries, "running_depots", lambda *_: depots)
    so_far = partial(
        running_day.depot_so_far,
        planned=planned,
        now=datetime(2026, 7, 6, 11, tzinfo=UTC),
        freshness=None,
    )
    heard = "220 orders by 11:00 local, 110 expected"
    lacks = f"<b> needs about {at_pace} vans, 4 of its 6 planned."
    assert re.fullmatch(rf"Today so far: {heard}; {said}\. {lacks}", so_far("a"))
    of_city = running_day.depots_without_vans("Lon & don", planned, None, None)
    assert of_city == [lacks]
    assert running_day.depots_without_vans("Ghent", planned, None, None) == []
    [unknown] = running_day.depots_without_vans(
        "Lon & don", planned.assign(vans=math.nan), None, None
    )
    assert unknown == f"<b> needs about {at_pace} vans, 4 planned."
    assert so_far("not running") == ""
    monkeypatch.setattr(queries, "running_depots", lambda *_: apart)
    plan = SimpleNamespace(depots=planned)
    monkeypatch.setattr(running_day.van_plan, "fleet_plan", lambda *_: plan)
    [_, row] = Cells(running_day.today_so_far("Delft", None, None)).text
    assert row[0] == "Delft"
    monkeypatch.setattr(queries, "running_depots", lambda *_: pd.DataFrame())
    assert running_day.today_so_far("Ghent", None, None) == "", "no orders by the hour"
    ten_past = depots.assign(until_hour=8 + 10 / 60)
    monkeypatch.setattr(queries, "running_depots", lambda *_: ten_past)
    assert "orders by 08:10 local" in so_far("a")


def test_of_a_city_too_early_to_tell_the_orders_so_far_are_told(depots):
    planned = depots[["depot_id", "target_on"]].assign(
        vans=6.0, capacity=60.0, allocated=4, needed=[4, 0]
    )
    # All orders of a day come late, so none are expected by eleven.
    late = depots.assign(city="Delft", share=[[0.0] * 23 + [1.0]] * 2)
    html = running_day.today_html(late, planned)
    assert "<p>Too early to tell: Delft (330 so far).</p></section>" in html
    assert "<table" not in html
    assert "The plan has not changed" not in html


def test_a_city_on_its_way_is_told_with_the_vans_that_its_pace_takes(
    depots, monkeypatch
):
    monkeypatch.setattr(queries.fleet, "running_depots", lambda *_: depots)
    now = datetime(2026, 7, 6, 11, tzinfo=UTC)
    plan = pd.DataFrame({"city": ["Lon & don", "Ghent"], "target_on": DAY, "needed": 9})
    plan = plan.assign(vans=9.0, at_pace=10)
    [told] = running_day.on_the_way(plan, now, None).values()
    assert told.endswith(" At today's pace about 10 are needed, not 9; there are 9.")
    [same] = running_day.on_the_way(plan.assign(at_pace=9), now, None).values()
    assert "pace" not in same
    assert running_day.on_the_way(plan[1:], now, None) == {}
    # Each of these answers is kept.
    queries.running_cities.clear()
    monkeypatch.setattr(queries.fleet, "running_depots", lambda *_: depots[:0])
    assert running_day.on_the_way(plan, now, None) == {}


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ((9, 43, 12), (9, 49, 59)),
        ((9, 40, 0), (9, 49, 59)),
        ((23, 59, 59), (23, 59, 59)),
    ],
)
def test_an_order_that_has_just_come_is_not_after_the_clock_and_of_its_day(
    monkeypatch, now, expected
):
    class Stopped(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 11, 29, *now, tzinfo=tz)

    monkeypatch.setattr(queries.fleet, "zone", lambda: AMSTERDAM)
    monkeypatch.setattr(queries.fleet, "datetime", Stopped)
    assert queries.clock() == datetime(2026, 11, 29, *expected, tzinfo=AMSTERDAM)


@pytest.fixture
def closed(depots):
    """Late in the evening; depot b was closed all day."""
    rows, numbers = (
        depots.assign(until_hour=22.0),
        ["part", "model_part", "point", "p10", "p50", "p90"],
    )
    rows[numbers] = rows[numbers].astype(float)
    rows.loc[1, numbers] = 0.0
    rows.at[1, "by_hour"], rows.at[1, "share"] = [0] * 24, [0.0] * 24
    totals = {"p10": 200.0, "p50": 240.0, "p90": 280.0}
    return rows.assign(
        **{f"{of}_{name}": n for of in ("city", "fleet") for name, n in totals.items()}
    )


def test_a_closed_depot_is_not_one_of_the_depots_heard_from(closed):
    [city] = today.running_cities(closed).to_dict("records")
    assert city["depots"] == 1


def test_of_a_closed_depot_nothing_is_expected(closed, monkeypatch):
    monkeypatch.setattr(running_day.queries, "running_depots", lambda *_: closed)
    planned = closed[["depot_id", "target_on"]].assign(
        vans=3.0, allocated=0, needed=0, capacity=50.0
    )
    told = running_day.depot_so_far("b", planned, None, None)
    assert told == "Today so far: 0 orders by 22:00 local, none planned."
