"""Alarms on the day after one on which every depot was closed."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
import sqlalchemy as sa

from pipelines.cli import doctor_findings
from pipelines.demand import counting
from pipelines.monitoring import metrics
from pipelines.schema import demand_versions, orders, runs
from pipelines.settings import Settings
from pipelines.store import order_counts
from tests.pipelines import make
from tests.pipelines.make import START, add_depot, add_file, query

SATURDAY, SUNDAY = date(2024, 3, 2), date(2024, 3, 3)
MONDAY = datetime(2024, 3, 4, 8, tzinfo=UTC)


@pytest.fixture
def closed_on_sundays(clean_engine):
    """Depots that are closed on Sundays, for which no file comes; counted early on a Monday."""
    days = [START + timedelta(days=n) for n in range((SUNDAY - START).days)]
    with clean_engine.begin() as connection:
        for depot in "AB":
            add_depot(connection, depot, timezone="UTC", closed_weekdays=[7])
        for day in days:
            if day.isoweekday() == 7:
                continue
            loaded_at = datetime.combine(day + timedelta(days=1), time(2), UTC)
            file_id = add_file(connection, loaded_at=loaded_at)
            at_noon = {
                "file_id": file_id,
                "ordered_local": datetime.combine(day, time(12)),
            }
            rows = [
                {"order_id": f"{depot}{day}-{n}", "depot_id": depot, **at_noon}
                for depot in "AB"
                for n in range(9)
            ]
            connection.execute(sa.insert(orders), rows)
        order_counts.mark_all(connection)
    counting.rebuild(clean_engine, MONDAY - timedelta(hours=4))
    return clean_engine


@pytest.fixture
def metric(closed_on_sundays, tmp_path):
    def value(name, now=MONDAY):
        with closed_on_sundays.connect() as connection:
            samples = metrics.current_samples(connection, Settings(home=tmp_path), now)
            return {each.name: each.value for each in samples}[name]

    return value


def test_a_feed_has_not_stopped(metric):
    assert metric("data_lag_seconds") == 0
    assert metric("data_lag_seconds", MONDAY + timedelta(days=2)) == 3 * 86_400


def test_doctor_does_not_call_data_late(
    closed_on_sundays, database_url, tmp_path, monkeypatch
):
    class Monday(datetime):
        @classmethod
        def now(cls, tz):
            return MONDAY.astimezone(tz)

    monkeypatch.setattr(doctor_findings, "datetime", Monday)
    settings = Settings(home=tmp_path, database_url=database_url)
    found = {each.check: each for each in doctor_findings._database(settings)}
    assert found["data"].ok, found["data"].message


def add_event(engine):
    with engine.begin() as connection:
        make.add_event(connection, "closed", SUNDAY, SUNDAY + timedelta(days=22))


def add_run(engine, step, origin_on, state="done"):
    ended = datetime.combine(origin_on + timedelta(days=1), time(4, 40), UTC)
    values = {"step": step, "origin_on": origin_on, "state": state}
    values |= {"started_at": ended, "finished_at": ended}
    query(engine, sa.insert(runs).values(values))


def test_saturdays_forecast_is_ready_on_monday_until_a_night_of_sunday_has_begun(
    closed_on_sundays, metric
):
    """A timer gives no --origin: on Monday it finds Saturday's night done, and does nothing."""
    assert counting.default_origin(closed_on_sundays) == SATURDAY
    add_run(closed_on_sundays, "nightly", SATURDAY)
    add_run(closed_on_sundays, "forecast", SATURDAY)
    assert metric("forecast_ready") == 1
    add_run(closed_on_sundays, "nightly", SUNDAY, "failed")
    assert metric("forecast_ready") == 0


def test_a_forecast_that_is_over_is_not_ready(closed_on_sundays, metric):
    """A closure of a fortnight does not hide that nothing has been forecast since."""
    add_event(closed_on_sundays)
    add_run(closed_on_sundays, "nightly", SATURDAY)
    add_run(closed_on_sundays, "forecast", SATURDAY)
    assert metric("forecast_ready", MONDAY + timedelta(days=5)) == 1
    assert metric("forecast_ready", MONDAY + timedelta(days=8)) == 0


@pytest.mark.parametrize("days", [7, 20])
def test_a_feed_has_not_stopped_in_a_long_closure(closed_on_sundays, metric, days):
    add_event(closed_on_sundays)
    assert metric("data_lag_seconds", MONDAY + timedelta(days=days)) == 0


@pytest.mark.parametrize("days", [20, 40])
def test_a_depot_that_was_given_up_is_not_open(closed_on_sundays, metric, days):
    """Without a count for weeks, and never marked as closed."""
    given_up = {"depot_id": "C", "service_on": SATURDAY - timedelta(days=days)}
    with closed_on_sundays.begin() as connection:
        add_depot(connection, "C", timezone="UTC")
        counts = sa.insert(demand_versions)
        connection.execute(
            counts, given_up | {"orders": 5, "version": 1, "known_at": MONDAY}
        )
    assert metric("data_lag_seconds") == 0
