"""What the watch shows is what the tables say; it is there when the database is not."""

import subprocess
from datetime import UTC, datetime, time

import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

from pipelines import schema
from pipelines.database.readonly_engine import create_readonly_engine
from pipelines.monitoring import snapshot
from pipelines.monitoring.server import answer, registry
from pipelines.monitoring.state import DEPLOYING, STUCK, MonitorState, Probe
from tests.deploy.tools import tool
from tests.pipelines.monitoring.monitored import (
    FORECAST,
    NOBODY,
    NOW,
    THROUGH,
    TRAINED,
    running_night,
    seed_watched,
)


def shown(monitor_state):
    """Every number by its name and labels, as a scrape reads it."""
    status, kind, body = answer(monitor_state, registry(monitor_state), "/metrics")
    assert status == 200
    assert kind.startswith("text/plain; version=")
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def plain(numbers, name):
    return numbers[(f"harbor_{name}",)]


@pytest.mark.db
def test_every_number_is_what_the_tables_say(
    clean_engine, reader_engine, settings, monitor_state
):
    seed_watched(clean_engine)
    with running_night(clean_engine):
        monitor_state.snapshot = snapshot.take(reader_engine, settings, NOW, None)
    numbers = shown(monitor_state)
    for key, value in TRAINED.items():
        assert plain(numbers, f"training_{key}") == value
    for key in ("cold_seconds", "warm_seconds", "memory_bytes"):
        assert plain(numbers, f"inference_{key}") == FORECAST[f"inference_{key}"]
    assert plain(numbers, "training_cache_hit_ratio") == pytest.approx(6 / 7)
    assert plain(numbers, "training_cold_trainings") == 1
    assert plain(numbers, "fallback_depots") == 2
    assert plain(numbers, "worse_than_naive_streak") == 3
    assert plain(numbers, "accuracy_alarms") == 1
    assert plain(numbers, "files_refused") == 1
    # LON-03 has no count of the last day.
    assert plain(numbers, "depots_late") == 1
    assert plain(numbers, "data_lag_seconds") == 0
    assert plain(numbers, "data_oldest_depot_lag_seconds") == 86_400
    assert plain(numbers, "forecast_lag_seconds") == 0
    # Of four probes three were answered, one of them late.
    up = (("slo", "dashboard_up"), ("window", "30d"))
    quick = (("slo", "dashboard_quick"), ("window", "30d"))
    assert numbers[("harbor_slo_good_events", *up)] == 3
    assert numbers[("harbor_slo_events", *up)] == 4
    assert numbers[("harbor_slo_good_events", *quick)] == 2
    # The night before the last failed before it forecast; the last was ready in time.
    ready = (("slo", "forecast_ready"), ("window", "30d"))
    assert numbers[("harbor_slo_events", *ready)] == 3
    assert numbers[("harbor_slo_good_events", *ready)] == 2
    # One missed where 0.3 of thirty might be.
    assert numbers[
        ("harbor_slo_error_budget_remaining_ratio", *ready)
    ] == pytest.approx(1 - 1 / 0.3)
    assert plain(numbers, "forecast_ready") == 1
    assert plain(numbers, "last_nightly_on_time") == 1
    origin = datetime.combine(THROUGH, time(), UTC).timestamp()
    assert plain(numbers, "last_nightly_origin_timestamp_seconds") == origin
    nightly = ("harbor_step_start_timestamp_seconds", ("step", "nightly"))
    assert numbers[nightly] == NOW.timestamp()
    assert ("harbor_step_start_timestamp_seconds", ("step", "train")) not in numbers
    assert plain(numbers, "deployment_in_progress") == 0
    assert numbers[("process_resident_memory_bytes",)] > 1e6


@pytest.mark.db
def test_accuracy_agrees_with_a_plain_loop(
    clean_engine, reader_engine, settings, monitor_state
):
    seed_watched(clean_engine)
    monitor_state.snapshot = snapshot.take(reader_engine, settings, NOW, None)
    numbers = shown(monitor_state)
    with clean_engine.connect() as connection:
        rows = [row._asdict() for row in connection.execute(sa.select(schema.scores))]
    newest = sorted({row["target_on"] for row in rows if row["is_live"]})[-28:]
    rows = [
        row for row in rows
        if row["is_live"] and row["target_on"] in newest
        and row["seasonal_naive"] is not None and row["median4"] is not None
    ]  # fmt: skip
    assert len(rows) > 100
    for model, said in (
        ("shown", "p50"),
        ("seasonal_naive", "seasonal_naive"),
        ("median4", "median4"),
    ):
        gaps = [row[said] - row["actual"] for row in rows]
        volume = sum(row["actual"] for row in rows)
        shares = [abs(gap) / row["actual"] for gap, row in zip(gaps, rows, strict=True)]
        expected = {
            "mape": sum(shares) / len(shares),
            "wape": sum(map(abs, gaps)) / volume,
            "bias": sum(gaps) / volume,
        }
        for score, value in expected.items():
            key = (f"harbor_live_{score}_ratio", ("model", model))
            assert numbers[key] == pytest.approx(value), key
    for horizon in range(1, 8):
        some = [
            abs(row["p50"] - row["actual"]) / row["actual"] for row in rows
            if (row["target_on"] - row["origin_on"]).days == horizon
        ]  # fmt: skip
        key = ("harbor_live_horizon_mape_ratio", ("horizon", str(horizon)))
        assert numbers[key] == pytest.approx(sum(some) / len(some))
    cities = {key[1][1] for key in numbers if key[0] == "harbor_live_city_mape_ratio"}
    assert cities == {"London", "Rotterdam"}
    inside = sum(row["p10"] <= row["actual"] <= row["p90"] for row in rows)
    assert plain(numbers, "live_coverage_ratio") == pytest.approx(inside / len(rows))


@pytest.mark.db
def test_what_is_not_known_is_left_out_and_never_0(
    clean_engine, reader_engine, settings, monitor_state
):
    monitor_state.snapshot = snapshot.take(reader_engine, settings, NOW, None)
    assert monitor_state.snapshot.not_ready.startswith(
        "There is no forecast yet. Run 'harbor"
    )
    names = {name for name, *_ in shown(monitor_state)}
    assert "harbor_up" in names
    assert plain(shown(monitor_state), "depots") == 0
    absent = {
        "forecast_ready", "forecast_lag_seconds", "data_lag_seconds",
        "live_mape_ratio", "training_compilations", "training_cache_hit_ratio",
        "slo_good_events", "champion_info", "files_refused", "fallback_depots",
        "dashboard_up", "dashboard_p95_seconds",
    }  # fmt: skip
    assert not {f"harbor_{name}" for name in absent} & names


@pytest.mark.db
def test_the_watch_cannot_write_what_it_reads(clean_engine, reader_engine):
    with reader_engine.connect() as connection:
        assert connection.scalar(sa.text("select current_user")) == "harbor_dashboard"
        with pytest.raises(sa.exc.DBAPIError, match="read-only"):
            connection.execute(sa.text("delete from runs"))


@pytest.mark.db
def test_what_is_slow_is_read_again_only_after_something_came(
    clean_engine, reader_engine, settings
):
    seed_watched(clean_engine)
    first = snapshot.take(reader_engine, settings, NOW, None)
    again = snapshot.take(
        reader_engine, settings, NOW + snapshot.SLOW_PAUSE, first.slow
    )
    assert again.slow is first.slow
    later = snapshot.take(reader_engine, settings, NOW + snapshot.SLOW_ANEW, again.slow)
    assert later.slow is not first.slow
    with clean_engine.begin() as connection:
        values = {"step": "score", "state": "done", "finished_at": NOW}
        connection.execute(sa.insert(schema.runs), values)
    hasty = snapshot.take(
        reader_engine, settings, NOW + snapshot.SLOW_PAUSE / 2, first.slow
    )
    assert hasty.slow is first.slow
    after = snapshot.take(
        reader_engine, settings, NOW + snapshot.SLOW_PAUSE, first.slow
    )
    assert after.slow is not first.slow


def test_a_database_that_is_away_is_a_sentence(settings, monitor_state):
    engine = create_readonly_engine(NOBODY)
    monitor_state.snapshot = snapshot.take(engine, settings, NOW, None)
    engine.dispose()
    numbers = shown(monitor_state)
    assert plain(numbers, "up") == 0
    assert plain(numbers, "ready") == 0
    assert ("harbor_schema_current",) not in numbers
    status, _, body = answer(monitor_state, registry(monitor_state), "/readyz")
    assert status == 503
    assert body.startswith(b"The database does not answer: ")
    assert plain(numbers, "home_disk_free_bytes") > 0


@pytest.mark.db
def test_another_schema_is_a_deployment_in_progress(
    clean_engine, reader_engine, settings, monitor_state
):
    asked = sa.text("update alembic_version set version_num = :version")
    with clean_engine.begin() as connection:
        right = connection.scalar(sa.text("select version_num from alembic_version"))
        connection.execute(asked, {"version": "0001"})
    try:
        monitor_state.snapshot = snapshot.take(reader_engine, settings, NOW, None)
    finally:
        with clean_engine.begin() as connection:
            connection.execute(asked, {"version": right})
    assert "older program" in monitor_state.snapshot.not_ready
    assert plain(shown(monitor_state), "deployment_in_progress") == 1
    assert plain(shown(monitor_state), "schema_current") == 0


def test_a_new_watch_is_taken_for_a_deployment(tmp_path):
    monitor_state = MonitorState(tmp_path, NOW)
    new = {n.name: n.value for n in monitor_state.metrics(NOW + DEPLOYING / 2)}
    old = {n.name: n.value for n in monitor_state.metrics(NOW + DEPLOYING)}
    assert new["deployment_in_progress"] is True
    assert old["deployment_in_progress"] is False


def test_a_watch_that_does_not_look_is_to_be_started_anew(monitor_state):
    monitor_state.snapshot = snapshot.Snapshot(NOW, "away")
    assert monitor_state.not_alive(NOW + STUCK / 2) is None
    assert "Restart it" in monitor_state.not_alive(NOW + STUCK)


@pytest.mark.db
def test_promtool_takes_what_is_served(
    clean_engine, reader_engine, settings, monitor_state
):
    promtool = tool("promtool", "prometheus")
    seed_watched(clean_engine)
    monitor_state.snapshot = snapshot.take(reader_engine, settings, NOW, None)
    monitor_state.probe = Probe(NOW, 0.5)
    _, _, body = answer(monitor_state, registry(monitor_state), "/metrics")
    done = subprocess.run(
        [promtool, "check", "metrics"], input=body, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")
