"""Hours of the days ahead and the running day, from orders with times in a real database."""

import csv
import io
import json
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from forecaster.hours import today
from pipelines.demand import counting
from pipelines.demand.panels import read_panel, shared_panels
from pipelines.forecasting import hours
from pipelines.runs.ledger import recorded
from pipelines.schema import depots, event_versions
from pipelines.schema.planned_orders import PLANNED_PARTS
from pipelines.store import order_counts, publications
from tests.pipelines.make import (
    DAYS,
    LAST,
    START,
    add_champion,
    add_depot,
    add_file,
    count_fleet,
    forecast_from,
    query,
)

TODAY = LAST + timedelta(days=1)
AMSTERDAM = ZoneInfo("Europe/Amsterdam")
NOW = datetime(TODAY.year, TODAY.month, TODAY.day, 3, 30, tzinfo=UTC)
NOON = NOW.replace(hour=11)
CLOCK = np.arange(24)
RATE = 12 * np.exp(-((CLOCK - 9) ** 2) / 8) + 4 * np.exp(-((CLOCK - 17) ** 2) / 8)
COPY = "copy orders (order_id, depot_id, ordered_local, utc_offset_minutes, file_id) from stdin"


def add_orders(connection, file_id, depot, by_day, offset=None):
    """So many orders of a depot in each hour of some local days."""
    driver = connection.connection.driver_connection
    with driver.cursor().copy(COPY) as copy:
        for day, by_hour in by_day.items():
            for hour, orders in enumerate(by_hour):
                for number in range(orders):
                    moment = f"{day} {hour:02d}:{number * 59 // orders:02d}"
                    order_id = f"{depot} {moment} {number}"
                    copy.write_row((order_id, depot, moment, offset, file_id))
    order_counts.mark_all(connection)


@pytest.fixture
def fleet(clean_engine, tmp_path):
    """Two depots of Delft and one of Leiden, with orders by the hour and a forecast."""
    rng = np.random.default_rng(2)
    with clean_engine.begin() as connection:
        for depot, city in (("A", "Delft"), ("B", "Delft"), ("C", "Leiden")):
            add_depot(connection, depot, city=city)
        file_id = add_file(connection, loaded_at=NOW)
        days = [START + timedelta(days=step) for step in range(DAYS)]
        for depot in "ABC":
            by_day = {day: rng.poisson(RATE) for day in days}
            add_orders(connection, file_id, depot, by_day)
    counting.rebuild(clean_engine, NOW)
    add_champion(clean_engine, LAST, tmp_path / "artefacts")
    forecast_from(clean_engine, tmp_path / "artefacts", LAST, NOW, AMSTERDAM)
    store_shares(clean_engine)
    return clean_engine


def store_shares(engine):
    panels = shared_panels(engine, LAST, AMSTERDAM)
    with recorded(engine, "hours", LAST) as run:
        hours.store_shares(run, panels, LAST)
    return run.metrics


def today_so_far(engine, now=NOON):
    with engine.connect() as connection:
        return hours.running_day(connection, now).set_index("city")


def add_today(engine, by_hour, depots="ABC", source="default", loaded_at=NOON):
    with engine.begin() as connection:
        file_id = add_file(connection, source=source, loaded_at=loaded_at)
        for depot in depots:
            add_orders(connection, file_id, depot, {TODAY: by_hour})
    counting.rebuild(engine, loaded_at)


def test_orders_are_counted_by_the_hour_of_the_depots_clock(clean_engine):
    """Two files of one day; offsets; the hour that a clock change skips, and the one it repeats."""
    spring, autumn = date(2026, 3, 29), date(2026, 10, 25)
    with clean_engine.begin() as connection:
        add_depot(connection, "A")
        first, second = add_file(connection), add_file(connection, source="other")
        add_orders(connection, first, "A", {START: [0] * 7 + [3] + [0] * 15 + [1]})
        add_orders(connection, second, "A", {START: [0] * 8 + [2]})
        # 01:00 UTC is 03:00 in spring; 00:00 and 01:00 UTC are both 02:00 in autumn.
        by_day = {spring: [0, 2], autumn: [1, 1, 1]}
        add_orders(connection, first, "A", by_day, offset=0)
    counting.rebuild(clean_engine, datetime(2026, 11, 1, tzinfo=UTC))
    with clean_engine.connect() as connection:
        days = [START, spring, autumn]
        by_hour = hours.store_hours.past_hours(connection, ["A", "unknown"], days)
        orders = connection.execute(
            sa.text("select service_on, orders from order_counts order by 1")
        ).all()
    expected = np.zeros((2, 3, 24))
    expected[0, 0, [7, 8, 23]] = 3, 2, 1
    expected[0, 1, 3] = 2
    expected[0, 2, [2, 3]] = 2, 1
    np.testing.assert_array_equal(by_hour, expected)
    assert [tuple(row) for row in orders] == list(zip(days, (6, 2, 3), strict=True))


def test_hours_add_up_to_the_forecast_and_follow_the_clock(fleet, harbor):
    answer = json.loads(
        harbor("forecast", "--origin", str(LAST), "--hourly", "--json").stdout
    )
    days = json.loads(harbor("forecast", "--origin", str(LAST), "--json").stdout)
    assert len(answer) == 24 * len(days) == 24 * 3 * 7
    for day in days:
        own = [
            row
            for row in answer
            if (row["depot_id"], row["target_on"])
            == (day["depot_id"], day["target_on"])
        ]
        assert [row["hour"] for row in own] == list(range(24))
        assert sum(row["point"] for row in own) == pytest.approx(day["point"])
        assert max(own, key=lambda row: row["point"])["hour"] in (8, 9, 10)
        assert {row["model_version"] for row in own} == {day["model_version"]}
    assert answer[0]["starts_at"] == f"{LAST}T23:00:00+00:00"
    written = harbor("forecast", "--origin", str(LAST), "--hourly", "--csv").stdout
    assert len(list(csv.DictReader(io.StringIO(written)))) == len(answer)
    assert (
        "Orders planned by hour in Leiden"
        in harbor("forecast", "--origin", str(LAST), "--hourly").stdout
    )


def test_an_hour_that_comes_twice_has_the_share_of_both_and_one_that_is_skipped_none(
    fleet,
):
    """What is usual by then, and the orders of shifts, count the same hours as the forecast."""
    to_sydney = sa.update(depots).where(depots.c.depot_id == "A")
    query(fleet, to_sydney.values(timezone="Australia/Sydney"))
    panel = shared_panels(fleet, LAST, AMSTERDAM)().with_newest_counts(LAST)
    # Sydney's clocks go back on the Sunday 7 April 2024, Amsterdam's forward on 31 March.
    days = [date(2024, 3, 31), date(2024, 4, 7), date(2024, 4, 14)]
    with fleet.connect() as connection:
        share_dhk = hours.shares_ahead(connection, panel, days).share_dhk
    _, back_k, usual_k = share_dhk[0]
    times_k = np.where(CLOCK == 2, 2, 1)
    np.testing.assert_allclose(back_k, usual_k * times_k / (1 + usual_k[2]), rtol=1e-5)
    np.testing.assert_allclose(share_dhk[1, 0, 2], 0)
    np.testing.assert_allclose(share_dhk.sum(axis=-1), 1, rtol=1e-5)


def test_a_fleet_of_daily_counts_has_no_hours(clean_engine, harbor, tmp_path):
    count_fleet(clean_engine)
    add_champion(clean_engine, LAST, tmp_path / "artefacts")
    forecast_from(clean_engine, tmp_path / "artefacts", LAST, NOW, AMSTERDAM)
    assert store_shares(clean_engine) == {"has_hours": False}
    paths = "--paths", "3"
    refused = harbor("forecast", "--origin", str(LAST), "--hourly", *paths)
    assert refused.returncode == 3
    assert "daily counts" in refused.stderr
    assert list(tmp_path.glob("paths/*.parquet")), "the paths need no hours"
    both = harbor("forecast", "--today", "--origin", str(LAST))
    assert both.returncode == 2
    assert "--today can be combined only with --csv or --json" in both.stderr
    told = harbor("forecast", "--today")
    assert told.returncode == 3
    assert "There is no estimate of today yet" in told.stderr
    assert today_so_far(clean_engine).empty


def test_the_running_day_is_estimated_and_never_counts(fleet):
    assert today_so_far(fleet).empty
    before = query(fleet, "select * from demand_versions")
    add_today(fleet, [round(1.5 * rate) for rate in RATE[:12]])
    cities = today_so_far(fleet)
    assert list(cities.index) == ["", "Delft", "Leiden"]
    delft = cities.loc["Delft"]
    assert delft["orders_so_far"] == 2 * sum(round(1.5 * rate) for rate in RATE[:12])
    assert delft["usual_share"] == pytest.approx(RATE[:12].sum() / RATE.sum(), abs=0.04)
    assert delft["forecast"] < delft["estimate"] < 1.6 * delft["forecast"]
    assert delft["orders_so_far"] <= delft["p10"] < delft["estimate"] < delft["p90"]
    after = query(fleet, "select * from demand_versions")
    assert after == before


def test_a_feed_that_is_late_within_the_day_counts_until_its_newest_order(fleet):
    """At noon the newest order is of before eight: what came is usual by then, not too little."""
    add_today(fleet, [round(rate) for rate in RATE[:8]])
    delft = today_so_far(fleet).loc["Delft"]
    assert 7 < delft["until_hour"] < 8
    assert delft["estimate"] == pytest.approx(delft["forecast"], rel=0.15)


def test_of_a_source_that_has_not_spoken_today_nothing_is_said(fleet):
    with fleet.begin() as connection:
        a_day_ago = NOW - timedelta(days=1)
        other = add_file(connection, source="partner", loaded_at=a_day_ago)
        add_orders(connection, other, "C", {LAST: [0, 1]})
    add_today(fleet, [round(rate) for rate in RATE[:10]], depots="A")
    cities = today_so_far(fleet)
    assert "Leiden" not in cities.index
    # B's feed has spoken, and brought none of it.
    assert cities.loc["Delft", "depots"] == 2


def test_orders_of_another_day_in_todays_file_are_not_of_today(fleet):
    add_today(fleet, [round(rate) for rate in RATE[:10]])
    before = today_so_far(fleet)
    with fleet.begin() as connection:
        file_id = add_file(connection, loaded_at=NOON)
        tomorrow, earlier = TODAY + timedelta(days=1), LAST - timedelta(days=3)
        add_orders(connection, file_id, "A", {tomorrow: [5] * 24, earlier: [0, 0, 5]})
    counting.rebuild(fleet, NOON)
    assert today_so_far(fleet)["orders_so_far"].equals(before["orders_so_far"])


def test_the_hours_are_published_with_the_forecast(fleet, harbor, tmp_path):
    folder = tmp_path / "out"
    done = harbor("forecast", "--origin", str(LAST), HARBOR_PUBLISH_URL=str(folder))
    assert done.returncode == 0, done.stderr
    stored = pq.read_table(folder / "latest" / "hours")
    assert stored.num_rows == 24 * 3 * 7
    assert (folder / "hours" / f"origin_on={LAST}" / "_SUCCESS").exists()
    days = pq.read_table(folder / "latest" / "forecasts").to_pandas()
    by_day = stored.to_pandas().groupby(["depot_id", "target_on"])["point"].sum()
    expected = days.set_index(["depot_id", "target_on"])["point"]
    assert np.allclose(by_day.sort_index(), expected.sort_index())


def shares_of_days_ahead(engine):
    panel = read_panel(engine, LAST)
    ahead = [LAST + timedelta(days=step) for step in range(1, 8)]
    with engine.connect() as connection:
        return hours.shares_ahead(connection, panel, ahead).share_dhk


def test_the_hours_of_a_day_that_is_not_known_are_no_evidence(fleet):
    """Partial days: half of Delft's Fridays have their first hours only, and no count."""
    days = [LAST - timedelta(days=back) for back in (6, 13, 20, 27)]
    of_days = "where service_on = any(:days) and depot_id in ('A', 'B')"
    with fleet.begin() as connection:
        parameters = {"days": days}
        connection.execute(
            sa.text(f"update demand_versions set orders = null {of_days}"), parameters
        )
        connection.execute(
            sa.text(
                "update order_counts set by_hour = by_hour[1:8] || array_fill(0, array[16])"
                f" {of_days}"
            ),
            parameters,
        )
    found = shares_of_days_ahead(fleet)
    with fleet.begin() as connection:
        connection.execute(sa.text(f"delete from order_counts {of_days}"), parameters)
    expected = shares_of_days_ahead(fleet)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_printed_hours_are_the_published_ones(clean_engine, tmp_path, harbor):
    """Also where an event was corrected in the afternoon, after the forecast's own cut-off."""
    afternoon, rng = NOW.replace(hour=15), np.random.default_rng(2)
    fairs = [LAST - timedelta(days=7 * n) for n in (1, 2, 3)]

    def fair(number, first, **columns):
        row = {
            "event_id": f"fair {first}",
            "version": number,
            "kind": "fair",
            "starts_on": first,
        }
        row |= {
            "ends_on": first,
            "known_at": NOW - timedelta(days=90),
            "withdrawn": False,
        }
        return sa.insert(event_versions).values(row | columns)

    with clean_engine.begin() as connection:
        add_depot(connection, "A")
        file_id = add_file(connection, loaded_at=NOW)
        for step in range(DAYS):
            day = START + timedelta(days=step)
            rate = RATE[::-1] if day in fairs else RATE
            add_orders(connection, file_id, "A", {day: rng.poisson(rate)})
        for day in fairs:
            connection.execute(fair(1, day))
        tomorrow = TODAY + timedelta(days=1)
        connection.execute(fair(1, tomorrow, superseded_at=afternoon))
        until = {"ends_on": tomorrow + timedelta(days=1), "known_at": afternoon}
        connection.execute(fair(2, tomorrow, **until))
    counting.rebuild(clean_engine, NOW)
    add_champion(clean_engine, LAST, tmp_path / "artefacts")
    printed = json.loads(harbor("forecast", "--hourly", "--json").stdout)
    with clean_engine.connect() as connection:
        shown = publications.shown(connection)
        of_shown = shown.origin_on, shown.model_version
        stored = hours.stored_hours(connection, *of_shown).to_pylist()
    np.testing.assert_allclose(
        [row["point"] for row in printed], [row["point"] for row in stored], atol=0.01
    )


def test_the_fleet_is_whole_once_a_closed_depot_sends_nothing(clean_engine, tmp_path):
    count_fleet(clean_engine, n_depots=4)
    query(
        clean_engine, "update depots set city = 'Gent' where depot_id in ('A2', 'A3')"
    )
    add_champion(clean_engine, LAST, tmp_path)
    version = forecast_from(clean_engine, tmp_path, LAST, NOW, AMSTERDAM)
    # As a model whose totals lie 3 % above the sums of its depots' medians.
    query(clean_engine, "update forecast_totals set p50 = p50 * 1.03, p90 = p90 * 1.1")
    parts = f"""
        select f.*, d.city from ({PLANNED_PARTS}) f join depots d using (depot_id)
        where target_on = origin_on + 1
    """

    def cities(late=()):
        rows = query(clean_engine, parts, origin=LAST, model=version)
        frame = pd.DataFrame([row._mapping for row in rows])
        hours_k = {"by_hour": np.full(24, 4.0), "share": np.full(24, 1 / 24)}
        each = {name: [value] * len(frame) for name, value in hours_k.items()}
        now = frame.assign(until_hour=12.0, city_concentration=50.0, **each)
        # In these cities hardly any orders usually come before noon.
        evening = [[0.001] * 12 + [0.988 / 12] * 12] * len(now)
        now["share"] = now["share"].where(~now["city"].isin(late), pd.Series(evening))
        return today.running_cities(now)["city"].tolist()

    assert cities() == ["", "Delft", "Gent"]
    query(
        clean_engine,
        "update depots set closed_on = :day where depot_id = 'A0'",
        day=LAST,
    )
    assert cities() == ["", "Delft", "Gent"]
    assert cities(["Gent"]) == ["Delft"], "a total needs each of its parts"


def test_of_a_depot_whose_own_file_has_not_come_nothing_is_said(fleet):
    """Each depot has files of its own, of one source; B's is late, A's ends at 9 and C's at 10."""
    with fleet.begin() as connection:
        for depot in "ABC":
            own = {"file": add_file(connection, loaded_at=NOW), "depot": depot}
            connection.execute(
                sa.text("update orders set file_id = :file where depot_id = :depot"),
                own,
            )
        order_counts.mark_all(connection)
    counting.rebuild(fleet, NOW)
    for depot, hours_heard in (("A", 9), ("C", 10)):
        add_today(fleet, [round(rate) for rate in RATE[:hours_heard]], depots=depot)
    cities = today_so_far(fleet)
    assert cities.loc["Delft", "depots"] == 1
    assert not cities.loc["Delft", "is_whole"]
    until = cities["until_hour"]
    assert 8 < until["Delft"] < 9 < until["Leiden"] < 10
