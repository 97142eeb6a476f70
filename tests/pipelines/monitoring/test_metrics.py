"""Metrics are what the tables hold, and are served when the database is away."""

from datetime import UTC, date, datetime, timedelta

import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

from pipelines import schema
from pipelines.database.roles import create_readonly_engine
from pipelines.monitoring import metrics
from pipelines.monitoring.metrics import HELP, newest_due_night
from pipelines.monitoring.notifications import Notifier
from pipelines.monitoring.server import (
    DEPLOYMENT_TIME,
    MAX_SNAPSHOT_AGE,
    MonitorState,
    Probe,
    Snapshot,
    application,
)
from pipelines.monitoring.watcher import SLOW_EVERY, Watcher, take_snapshot
from pipelines.runs.ledger import recorded
from pipelines.settings import Settings
from pipelines.store import monitoring, score_totals
from pipelines.store.accuracy import Period
from tests.pipelines.make import LAST, live_scores, query
from tests.pipelines.monitoring.monitored import (
    FORECAST,
    NOBODY,
    NOW,
    TRAINED,
    running_night,
    seed_watched,
)


def answer(monitor_state, path):
    """Status and body of a request, without a server."""
    status = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": ""}
    body = application(monitor_state)(environ, lambda *head: status.append(head[0]))
    return int(status[0][:3]), b"".join(body)


def scraped(monitor_state):
    """Every metric by its name and labels, as a scrape reads it."""
    status, body = answer(monitor_state, "/metrics")
    assert status == 200
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


@pytest.fixture
def watcher(reader_engine, settings, monitor_state):
    return Watcher(settings, reader_engine, monitor_state, Notifier([]))


def plain(numbers, name):
    return numbers[(f"harbor_{name}",)]


def test_every_number_is_served_and_is_what_the_tables_say(
    clean_engine, watcher, monitor_state
):
    seed_watched(clean_engine)
    with running_night(clean_engine):
        watcher.watch_once(NOW)
    monitor_state.probe = Probe(NOW, 0.5)
    numbers = scraped(monitor_state)
    assert {f"harbor_{name}" for name in HELP} <= {name for name, *_ in numbers}
    for key, value in TRAINED.items():
        assert plain(numbers, f"training_{key}") == value
    for key in ("seconds", "host_memory_peak_bytes"):
        assert plain(numbers, f"inference_{key}") == FORECAST[f"inference_{key}"]
    assert plain(numbers, "training_cache_hit_ratio") == pytest.approx(6 / 7)
    assert plain(numbers, "training_cold_trainings") == 1
    assert plain(numbers, "worse_than_naive_streak") == 3
    assert plain(numbers, "accuracy_alarms") == 1
    assert plain(numbers, "files_refused") == 1
    # LON-03 has no count of the last day.
    assert plain(numbers, "depots_late") == 1
    assert plain(numbers, "data_lag_seconds") == 0
    assert plain(numbers, "data_oldest_depot_lag_seconds") == 86_400
    assert plain(numbers, "forecast_lag_seconds") == 0
    # The last night was ready in time.
    assert plain(numbers, "forecast_ready") == 1
    assert plain(numbers, "last_nightly_on_time") == 1
    nightly = ("harbor_step_start_timestamp_seconds", ("step", "nightly"))
    assert numbers[nightly] == NOW.timestamp()
    assert ("harbor_step_start_timestamp_seconds", ("step", "train")) not in numbers
    assert plain(numbers, "deployment_in_progress") == 0
    assert numbers[("process_resident_memory_bytes",)] > 1e6


def test_live_accuracy_is_that_of_the_command(clean_engine, watcher, monitor_state):
    """Which `tests/pipelines/forecasting` holds against plain loops."""
    seed_watched(clean_engine)
    watcher.watch_once(NOW)
    numbers = scraped(monitor_state)
    for by in ("city", "horizon"):
        for part in live_scores(clean_engine, (by,), Period(28)):
            labels = (by, str(part["segment"]))
            mape = numbers[(f"harbor_live_{by}_mape_ratio", labels)]
            assert 100 * mape == pytest.approx(part["mape"])
            if by == "city":
                coverage = numbers[("harbor_live_city_coverage_ratio", labels)]
                assert coverage == pytest.approx(part["coverage80"])
    [fleet] = live_scores(clean_engine, ("model",), Period(28))
    for score in ("mape", "wape", "bias"):
        measured = numbers[(f"harbor_live_{score}_ratio", ("model", "shown"))]
        assert 100 * measured == pytest.approx(fleet[score])
    assert plain(numbers, "live_coverage_ratio") == pytest.approx(fleet["coverage80"])


def test_what_is_not_known_is_left_out_and_never_0(
    clean_engine, watcher, monitor_state
):
    watcher.watch_once(NOW)
    assert monitor_state.snapshot.not_ready_reason.startswith(
        "There is no forecast yet. Run 'harbor"
    )
    names = {name for name, *_ in scraped(monitor_state)}
    assert "harbor_up" in names
    assert plain(scraped(monitor_state), "depots") == 0
    absent = {
        "forecast_ready", "forecast_lag_seconds", "data_lag_seconds",
        "live_mape_ratio", "training_compilations", "training_cache_hit_ratio",
        "champion_info", "files_refused", "dashboard_up",
    }  # fmt: skip
    assert not {f"harbor_{name}" for name in absent} & names


def test_the_watch_cannot_write_what_it_reads(clean_engine, reader_engine):
    with reader_engine.connect() as connection:
        assert connection.scalar(sa.text("select current_user")) == "harbor_dashboard"
        with pytest.raises(sa.exc.DBAPIError, match="read-only"):
            connection.execute(sa.text("delete from runs"))


def test_what_is_slow_is_read_now_and_then(clean_engine, watcher, monitor_state):
    seed_watched(clean_engine)
    values = []
    for n in range(3):
        watcher.watch_once(NOW + n * SLOW_EVERY / 2)
        values.append(plain(scraped(monitor_state), "rows_quarantined"))
        query(clean_engine, sa.delete(schema.quarantine))
    assert values[0] == values[1] > 0
    assert values[2] == 0


def test_a_database_that_is_away_is_a_sentence(settings, monitor_state):
    engine = create_readonly_engine(NOBODY)
    monitor_state.snapshot = take_snapshot(engine, settings, NOW)
    engine.dispose()
    numbers = scraped(monitor_state)
    assert plain(numbers, "up") == 0
    assert ("harbor_schema_current",) not in numbers
    status, body = answer(monitor_state, "/readyz")
    assert status == 503
    assert body.startswith(b"The database does not answer: ")
    assert plain(numbers, "home_disk_free_bytes") > 0


def test_another_schema_is_a_deployment_in_progress(
    clean_engine, reader_engine, settings, monitor_state
):
    statement = sa.text("update alembic_version set version_num = :version")
    with clean_engine.begin() as connection:
        right = connection.scalar(sa.text("select version_num from alembic_version"))
        connection.execute(statement, {"version": "0001"})
    try:
        monitor_state.snapshot = take_snapshot(reader_engine, settings, NOW)
    finally:
        query(clean_engine, statement, version=right)
    assert "older program" in monitor_state.snapshot.not_ready_reason
    assert plain(scraped(monitor_state), "deployment_in_progress") == 1
    assert plain(scraped(monitor_state), "schema_current") == 0


def test_a_new_watch_is_taken_for_a_deployment(tmp_path):
    monitor_state = MonitorState(tmp_path, NOW)
    for age, expected in ((DEPLOYMENT_TIME / 2, 1), (DEPLOYMENT_TIME, 0)):
        samples = {each.name: each.value for each in monitor_state.samples(NOW + age)}
        assert samples["deployment_in_progress"] == expected


def test_a_watch_that_does_not_look_is_to_be_started_anew(monitor_state):
    monitor_state.snapshot = Snapshot(NOW, "away")
    assert monitor_state.not_alive_reason(NOW + MAX_SNAPSHOT_AGE / 2) is None
    assert "Restart it" in monitor_state.not_alive_reason(NOW + MAX_SNAPSHOT_AGE)


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


LATE = {"nightly_at": "22:00", "ready_by": "05:00"}


@pytest.mark.parametrize(
    ("settings", "now", "starts_at", "ready_by"),
    [
        # 05:00 in Amsterdam is 03:00 UTC in summer.
        ({}, "2026-06-10 03:00", "2026-06-10 02:30", "2026-06-10 03:00"),
        ({}, "2026-06-10 02:59", "2026-06-09 02:30", "2026-06-09 03:00"),
        ({}, "2026-03-29 03:00", "2026-03-29 02:30", "2026-03-29 03:00"),
        ({"nightly_at": "02:30"}, "2026-03-29 12:00", "2026-03-29 01:30", "2026-03-29 02:00"),
        (LATE, "2026-06-09 03:00", "2026-06-08 20:00", "2026-06-09 03:00"),
        (LATE, "2026-06-09 02:00", "2026-06-07 20:00", "2026-06-08 03:00"),
    ],
    ids=[
        "summer", "a minute is left", "the day the clocks change",
        "an hour the clocks leave out", "ready by the next day", "two days back",
    ],
)  # fmt: skip
def test_the_night_that_is_due(settings, now, starts_at, ready_by):
    amsterdam = Settings(timezone="Europe/Amsterdam", **settings)
    night = newest_due_night(amsterdam, {}, at(now))
    assert night.starts_at.astimezone(UTC) == at(starts_at)
    assert night.ready_by.astimezone(UTC) == at(ready_by)


def test_a_fleet_in_the_far_west_makes_the_origin_a_day_older():
    night = newest_due_night(
        Settings(timezone="Europe/Amsterdam"),
        {"Europe/Amsterdam": 1, "America/Los_Angeles": 2},
        at("2026-06-09 12:00"),
    )
    assert night.origin_on == date(2026, 6, 7)


def test_a_load_by_hand_does_not_hide_the_files_that_the_night_refused(clean_engine):
    with (
        recorded(clean_engine, "nightly", LAST) as night,
        recorded(clean_engine, "ingest", LAST, parent=night) as step,
    ):
        step.metrics |= {"files": 3, "refused": 2}
    with recorded(clean_engine, "ingest") as by_hand:
        by_hand.metrics |= {"files": 1, "refused": 0}
    with clean_engine.connect() as connection:
        found = {each.name: each.value for each in monitoring.run_samples(connection)}
    assert found["files_refused"] == 2


def test_a_deadline_is_of_its_own_night_where_the_clocks_skip_the_hour_of_the_night():
    # On 29 March 2026 the clocks go from 02:00 to 03:00: the night begins at 03:15.
    settings = Settings(
        timezone="Europe/Amsterdam", nightly_at="02:15", ready_by="03:00"
    )
    due = newest_due_night(settings, {}, datetime(2026, 3, 29, 12, tzinfo=UTC))
    assert due.starts_at.date() == date(2026, 3, 29)
    assert due.ready_by == due.starts_at + timedelta(minutes=45)


def test_coverage_is_that_of_the_command_where_a_depot_is_young(clean_engine):
    seed_watched(clean_engine)
    young = """
        update scores set seasonal_naive = null, median4 = null, p10 = actual + 1, p90 = actual + 2
        where depot_id = (select min(depot_id) from scores)
    """
    with clean_engine.begin() as connection:
        connection.execute(sa.text(young))
        score_totals.renew_all(connection)
    [fleet] = live_scores(clean_engine, (), Period(28))
    with clean_engine.connect() as connection:
        samples = metrics._live_accuracy(connection)
        found = {each.name: each.value for each in samples if not each.labels}
    assert found["live_coverage_ratio"] == pytest.approx(fleet["coverage80"])
