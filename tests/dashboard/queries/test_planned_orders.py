"""Planned orders are the same number in cells, totals, pages and commands."""

from datetime import timedelta

import pandas as pd
import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.charts import forecast_charts
from dashboard.components import days_ahead
from dashboard.planning import van_plan
from dashboard.tables import html_grids, workbook
from dashboard.text import formatting
from pipelines import schema
from pipelines.planning.days_ahead import city_bands
from pipelines.store.forecasts import read_forecasts, read_totals
from tests.dashboard.cells import Cells
from tests.dashboard.planning.changing import cell, change
from tests.dashboard.seed import CHAMPION, JUDGE, remade

pytestmark = pytest.mark.db

DEPOT, CITY = "LON-01", "London"
MEDIAN = 2000.0
"""Median of London's total of tomorrow, in orders."""


def row_of(table, day, **keys):
    column = "target_on" if "target_on" in table else "day_on"
    rows = table[table[column] == pd.Timestamp(day)]
    for name, value in keys.items():
        rows = rows[rows[name] == value]
    [row] = rows.to_dict("records")
    return row


def city_total(engine, seeded, day):
    with engine.connect() as connection:
        totals = read_totals(connection, seeded.through, CHAMPION)
    [row] = [
        each for each in totals if (each["city"], each["target_on"]) == (CITY, day)
    ]
    return row


@pytest.fixture
def banded(seeded, write, tomorrow):
    """Adds total forecasts of fleet and London, whose medians are not sums of points."""
    row = {"origin_on": seeded.through, "target_on": tomorrow}
    total = {"model_version": CHAMPION, "depots": 3}
    total |= {"p10": 1000.0, "p50": MEDIAN, "p90": 3000.0}
    for name in ("", CITY):
        write(sa.insert(schema.forecast_totals).values(city=name, **row, **total))


def test_a_depot_that_has_moved_to_another_city_counts_once_and_in_its_own(
    seeded, banded, tomorrow, write
):
    def medians():
        week = queries.fleet_week(queries.freshness())
        day = week[week["target_on"] == pd.Timestamp(tomorrow)]
        sums = day.groupby("city")[["p50", "part"]].sum()
        return sums["p50"].to_dict(), sums["part"].to_dict()

    _, before = medians()
    assert before[CITY] == pytest.approx(MEDIAN)
    write(
        sa.update(schema.depots)
        .values(city="Leeds")
        .where(schema.depots.c.depot_id == DEPOT)
    )
    queries.freshness.clear()
    expected, after = medians()
    assert set(after) == {*before, "Leeds"}
    assert after == pytest.approx(expected), "London's total was of three depots"


def test_two_depots_that_have_swapped_their_cities_take_no_total_of_the_others(
    seeded, banded, tomorrow, write, engine
):
    """The city has as many depots as its total forecast, but not the same ones."""
    for depot, city in ((DEPOT, "Rotterdam"), ("RTM-01", CITY)):
        is_depot = schema.depots.c.depot_id == depot
        write(sa.update(schema.depots).values(city=city).where(is_depot))
    queries.freshness.clear()
    now = queries.freshness()
    week = queries.fleet_week(now)
    here = week[(week["city"] == CITY) & (week["target_on"] == pd.Timestamp(tomorrow))]
    sums = here[["p10", "p50", "p90"]].sum().to_list()
    assert here["part"].sum() == pytest.approx(sums[1])
    of_bands = row_of(city_bands(queries.fleet_week(now)), tomorrow, city=CITY)
    of_page = row_of(queries.daily_totals(CITY, now), tomorrow)
    for bands in (of_bands, of_page, city_total(engine, seeded, tomorrow)):
        assert [bands["p10"], bands["p90"]] == pytest.approx([sums[0], sums[2]])


def test_a_depot_that_is_said_to_have_closed_counts_nowhere(
    seeded, banded, tomorrow, write, engine
):
    """The closing is loaded after the forecast, which counted the depot."""
    is_depot = schema.depots.c.depot_id == DEPOT
    write(sa.update(schema.depots).values(closed_on=seeded.through).where(is_depot))
    queries.freshness.clear()
    now = queries.freshness()
    week = queries.fleet_week(now)
    here = week[week["target_on"] == pd.Timestamp(tomorrow)]
    assert DEPOT not in set(here["depot_id"])
    with engine.connect() as connection:
        totals = read_totals(connection, seeded.through, CHAMPION)
        rows = read_forecasts(connection, seeded.through, CHAMPION)
    assert DEPOT not in {each["depot_id"] for each in rows}
    for city in (CITY, ""):
        sums = here[(here["city"] == city) | (city == "")][["p10", "p50", "p90"]].sum()
        page = row_of(queries.daily_totals(city, now), tomorrow)
        assert [page["p10"], page["point"], page["p90"]] == pytest.approx(sums.tolist())
        [printed] = [
            each
            for each in totals
            if (each["city"], each["target_on"]) == (city, tomorrow)
        ]
        own = [printed["p10"], printed["planned"], printed["p90"]]
        assert own == pytest.approx(sums.tolist())


def test_planners_change_the_live_forecast_and_not_a_later_hindcast(
    seeded, write, tomorrow, engine
):
    made = seeded.forecasts[seeded.forecasts["origin_on"] == seeded.through]
    later = remade(made.assign(is_live=False, point=made["p10"]), JUDGE, hours=90)
    write(sa.insert(schema.forecasts).values(later))
    write(sa.update(schema.models).values(role="retired"))
    shown = cell(DEPOT, tomorrow).orders
    change(orders=4200, day=tomorrow)
    with engine.connect() as connection:
        [saved] = connection.execute(sa.select(schema.overrides)).all()
    assert (saved.point, saved.model_version) == (shown, CHAMPION)


def test_a_planners_number_is_the_number_everywhere(seeded, banded, tomorrow, engine):
    before = city_total(engine, seeded, tomorrow)
    model = cell(DEPOT, tomorrow).orders
    week = queries.fleet_week(queries.freshness())
    here = week[(week["city"] == CITY) & (week["target_on"] == pd.Timestamp(tomorrow))]
    median = here.set_index("depot_id")["p50"]
    change(orders=4200, day=tomorrow)
    now = queries.freshness()
    # The other depots keep their parts of the total's median.
    total = 4200 + MEDIAN * (1 - median[DEPOT] / median.sum())
    assert before["point"] == pytest.approx(MEDIAN)
    assert row_of(queries.fleet_week(now), tomorrow, depot_id=DEPOT)["point"] == 4200
    assert row_of(queries.depot_days(DEPOT, now), tomorrow)["point"] == 4200
    plan = van_plan.fleet_plan(now)
    assert row_of(plan.depots, tomorrow, depot_id=DEPOT)["point"] == 4200
    for table in (queries.daily_totals(CITY, now), plan.cities):
        of_city = table[table["city"] == CITY] if "city" in table else table
        assert row_of(of_city, tomorrow)["point"] == pytest.approx(total)
    own = days_ahead.ranked(CITY, now)
    shown = Cells(html_grids.fleet_grid(own)).text[1]
    assert shown[:2] == [CITY, formatting.orders(total)]
    sheet = workbook.grid(plan.depots, "point").set_index("City").loc[CITY]
    assert sheet[pd.Timestamp(tomorrow)].iloc[-1] == round(total)
    after = city_total(engine, seeded, tomorrow)
    assert (after["point"], after["planned"]) == pytest.approx((before["point"], total))
    with engine.connect() as connection:
        rows = read_forecasts(connection, seeded.through, CHAMPION)
    [printed] = [
        each
        for each in rows
        if (each["depot_id"], each["target_on"]) == (DEPOT, tomorrow)
    ]
    assert (printed["planned"], printed["point"]) == pytest.approx((4200, model))
    assert sum(each["planned"] != each["point"] for each in rows) == 1


def test_the_models_number_stands_beside_it_and_the_bands_move(
    seeded, banded, tomorrow
):
    before = queries.daily_totals(CITY, queries.freshness())
    model = cell(DEPOT, tomorrow).orders
    change(orders=2 * model, day=tomorrow)
    row = row_of(queries.fleet_week(queries.freshness()), tomorrow, depot_id=DEPOT)
    assert row["model_point"] == pytest.approx(model)
    moved = (row["p10"], row["p50"], row["p90"])
    assert moved == pytest.approx((1.8 * model, 2 * model, 2.2 * model))
    total = row_of(queries.daily_totals(CITY, queries.freshness()), tomorrow)
    first = row_of(before, tomorrow)
    week = queries.fleet_week(queries.freshness())
    here = week[(week["city"] == CITY) & (week["target_on"].dt.date == tomorrow)]
    assert here["model_part"].sum() == pytest.approx(first["point"])
    assert total["p90"] / total["point"] == pytest.approx(first["p90"] / first["point"])


def test_a_change_of_the_model_is_not_mistaken_for_one_of_the_planner(seeded, tomorrow):
    before = queries.fleet_week(queries.freshness())
    change(orders=4200, day=tomorrow)
    after = queries.fleet_week(queries.freshness())
    # Postgres adds a depot's days in the order of their rows, which a change may alter.
    assert list(after["revised"]) == pytest.approx(list(before["revised"]), rel=1e-9)


def test_closed_wins_over_a_number_that_was_set_before_the_closure(
    seeded, write, tomorrow
):
    change(orders=4200, day=tomorrow)
    here = (schema.forecasts.c.depot_id == DEPOT) & (
        schema.forecasts.c.target_on == tomorrow
    )
    closed = {"basis": "closed", "p10": 0, "p50": 0, "p90": 0, "point": 0}
    write(sa.update(schema.forecasts).where(here).values(**closed))
    row = row_of(queries.fleet_week(queries.freshness()), tomorrow, depot_id=DEPOT)
    assert (row["point"], row["is_set"], row["made_by"]) == (0, False, None)
    assert row["overruled_by"] == "Anna"
    change(orders=50, day=tomorrow)
    row = row_of(queries.fleet_week(queries.freshness()), tomorrow, depot_id=DEPOT)
    assert (row["point"], row["is_set"], row["model_point"]) == (50, True, 0)
    assert (row["made_by"], row["overruled_by"]) == ("Anna", None)
    days = row_of(queries.depot_days(DEPOT, queries.freshness()), tomorrow)
    assert (days["point"], days["is_set"], days["basis"]) == (50, True, "closed")


def opened_by_ann(write, seeded, depot, day):
    row = {
        "depot_id": depot, "target_on": day, "orders": 55.0, "point": 0.0,
        "origin_on": seeded.through, "model_version": CHAMPION, "reason": "Open", "made_by": "Ann",
    }  # fmt: skip
    write(sa.insert(schema.overrides).values(row))


@pytest.mark.parametrize("n_days", [56, 396])
def test_the_chart_has_a_planners_number_on_a_closed_day(seeded, write, n_days):
    day = seeded.through + timedelta(days=2)
    opened_by_ann(write, seeded, "RTM-03", day)
    freshness = queries.freshness()
    days = queries.depot_days("RTM-03", freshness).tail(n_days)
    past = queries.past_forecasts("RTM-03", freshness)
    drawn = forecast_charts.with_past_forecasts(days, past)
    chart = forecast_charts.fan(drawn).to_dict()
    marks = [row for rows in chart["datasets"].values() for row in rows]
    [told] = {
        (row["planned"], row["planned_text"])
        for row in marks
        if row["day_on"].startswith(f"{day}")
    }
    assert told == (55, "55 by Ann: “Open”")


def test_a_planners_number_in_a_closed_city_lies_in_its_band(seeded, write, tomorrow):
    is_closed = (schema.forecasts.c.origin_on == seeded.through) & (
        schema.forecasts.c.target_on == tomorrow
    )
    none = {"basis": "closed", "p10": 0, "p50": 0, "p90": 0, "point": 0}
    write(
        sa.update(schema.forecasts)
        .where(is_closed & (schema.forecasts.c.city == "Rotterdam"))
        .values(none)
    )
    opened_by_ann(write, seeded, "RTM-01", tomorrow)
    totals = queries.daily_totals("Rotterdam", queries.freshness())
    [day] = totals[totals["day_on"] == pd.Timestamp(tomorrow)].to_dict("records")
    assert (day["p10"], day["point"], day["p90"]) == (55, 55, 55)


def test_a_total_whose_median_is_zero_keeps_the_models_band(seeded, write, tomorrow):
    is_its = (schema.forecasts.c.origin_on == seeded.through) & (
        schema.forecasts.c.target_on == tomorrow
    )
    few = {"p10": 0, "p50": 0, "p90": 2, "point": 0}
    write(
        sa.update(schema.forecasts)
        .where(is_its & (schema.forecasts.c.city == "Rotterdam"))
        .values(few)
    )
    totals = queries.daily_totals("Rotterdam", queries.freshness())
    [day] = totals[totals["day_on"] == pd.Timestamp(tomorrow)].to_dict("records")
    assert (day["p10"], day["point"], day["p90"]) == (0, 0, 6)
