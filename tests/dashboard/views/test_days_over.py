"""After midnight, before the night: a day that is over is not ahead, and is not proposed."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

import pandas as pd
import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.components import days_ahead
from dashboard.inference import what_if
from dashboard.inference.what_if import Scenario
from dashboard.planning import city_settings
from dashboard.text import formatting
from pipelines import schema
from pipelines.planning.days_ahead import city_bands
from pipelines.planning.van_plan import make_plan
from tests.dashboard.seed import seed
from tests.dashboard.views.test_pages import page_text

pytestmark = pytest.mark.db


@pytest.fixture
def over(dashboard, clean_engine, yesterday):
    """The first day of a forecast from the day before yesterday."""
    seed(clean_engine, yesterday - timedelta(days=1), dashboard)
    return yesterday


def test_a_day_that_is_over_is_on_no_page_as_one_ahead(over, open_page):
    weekday, date = formatting.day(over).split(" ", 1)
    for page in ("days_ahead", "plan"):
        text = page_text(open_page(page))
        assert f'<th scope="col" class="day">{weekday}' not in text, date
    assert '<th scope="col" class="wide">6 days ahead</th>' in page_text(open_page())
    assert '<th scope="col" class="desk">6 days ahead</th>' in page_text(
        open_page("depot")
    )


def test_a_depots_page_has_the_days_that_are_left(over, open_page):
    text = page_text(open_page("depot", depot="LON-01", scenario="promotion"))
    rows = 'target="_self">{}</a></th>'.format
    assert rows(formatting.day(over)) not in text
    assert rows(formatting.day(over + timedelta(days=1))) in text
    assert text.count("in the next 6 days") == 2, (
        "its orders, and those of the scenario"
    )


def test_a_scenario_and_why_of_the_days_left_are_of_their_own_days(over):
    now = queries.freshness()
    before = replace(now, day_began_at=datetime.combine(over, time(), UTC))
    last = over + timedelta(days=6)
    for closed_on in (over + timedelta(days=2), last):
        scenario = Scenario("LON-01", closed_on, closed_on, "closed")
        days = [
            what_if.simulate(scenario, each).set_index("target_on")["scenario"]
            for each in (before, now)
        ]
        assert (len(days[0]), len(days[1])) == (7, 6)
        pd.testing.assert_series_equal(days[0].iloc[1:], days[1])
        assert days[1][pd.Timestamp(closed_on)] == 0
    then, left = (what_if.contributions("LON-01", each) for each in (before, now))
    then = then[then["target_on"] > pd.Timestamp(over)].reset_index(drop=True)
    pd.testing.assert_frame_equal(then, left)


def test_change_orders_proposes_a_day_that_is_still_ahead(over, open_page):
    app = open_page("plan", form="orders")
    app = app.pills(key="city").select("London").run()
    days = [box for box in app.selectbox if box.label in ("From", "To")]
    today = over + timedelta(days=1)
    assert [box.value for box in days] == 2 * [f"{today}"]
    assert formatting.day(over) not in days[0].options


def test_each_city_has_its_own_midnight_and_grids_keep_their_columns(over, write):
    """At six in London it is still the evening before in the west."""
    in_the_west = sa.update(schema.depots).where(schema.depots.c.city == "Rotterdam")
    write(in_the_west.values(timezone="Etc/GMT+12"))
    today = over + timedelta(days=1)
    at_six = datetime.combine(today, time(6), UTC)
    freshness = replace(queries.freshness(), day_began_at=at_six)
    week = queries.fleet_week(freshness)
    first = week.groupby("city")["target_on"].min().dt.date.to_dict()
    assert first == {"London": today, "Rotterdam": over}
    grid = days_ahead.grid_html("", freshness)
    [greenwich] = [row for row in grid.split("<tr") if "Greenwich" in row]
    [waalhaven] = [row for row in grid.split("<tr") if "Waalhaven" in row]
    assert '</th><td class="day"></td><td class="day s' in greenwich
    assert greenwich.count("<td") == waalhaven.count("<td")


def test_the_vans_of_the_days_left_are_what_they_were(over):
    """A city's need is not drawn anew because a day is over."""
    freshness = queries.freshness()
    before = replace(freshness, day_began_at=datetime.combine(over, time(), UTC))
    settings = city_settings.by_city(before)
    [then, now] = [
        make_plan(
            queries.fleet_week(each), settings, city_bands(queries.fleet_week(each))
        ).cities
        for each in (before, freshness)
    ]
    then = then[then["target_on"] > pd.Timestamp(over)]
    numbers = ["needed", "delivery_probability", "undelivered"]
    assert now[numbers].to_numpy() == pytest.approx(
        then[numbers].to_numpy(), nan_ok=True
    )


def test_a_forecast_that_is_over_as_a_whole_is_shown_with_all_its_days(over):
    freshness = queries.freshness()
    much_later = replace(freshness, day_began_at=datetime(2100, 1, 1, tzinfo=UTC))
    assert queries.fleet_week(much_later)["target_on"].nunique() == 7


def test_the_chart_has_as_many_days_ahead_as_the_grid(
    dashboard, clean_engine, yesterday, write
):
    """No night has made a forecast since, although the orders of a day have come."""
    over = yesterday - timedelta(days=1)
    seed(clean_engine, over - timedelta(days=1), dashboard)
    counted = {
        "service_on": over,
        "orders": 100,
        "version": 1,
        "known_at": datetime.now(UTC),
    }
    write(
        sa.insert(schema.demand_versions).values(
            [{"depot_id": depot, **counted} for depot in ("LON-01", "LON-02")]
        )
    )
    freshness = queries.freshness()
    for city in ("", "London"):
        totals = queries.daily_totals(city, freshness).set_index("day_on")
        ahead = totals.index[totals["point"].notna()]
        assert list(ahead) == sorted(
            queries.fleet_week(freshness)["target_on"].unique()
        )
        of_day = totals.loc[pd.Timestamp(over)]
        assert (of_day["actual"], of_day["missing"] > 0) == (200, True)
