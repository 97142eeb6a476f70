"""What the watch shows is what the tables say; it is there when the database is not."""

import os
import subprocess
import sys
import urllib.error
import urllib.request
from datetime import UTC, datetime, time, timedelta
from threading import Event, Thread

import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

from dashboard.statements import fleet
from forecaster.errors import BadInputError
from pipelines import schema
from pipelines.cli import watch as command
from pipelines.reading import reader
from pipelines.schedule import LEADER_LOCK
from pipelines.settings import Settings
from pipelines.store.locks import try_lock
from pipelines.watching import look
from pipelines.watching.probing import Page
from pipelines.watching.screen import DEPLOYING, STUCK, Probe, Screen
from pipelines.watching.server import answer, registry, serving
from pipelines.watching.watcher import Watcher
from tests.deploy.tools import tool
from tests.pipelines.watched import FORECAST, NOW, THROUGH, TRAINED, seed_watched

NOBODY = "postgresql://nobody@127.0.0.1:1/none"
PAGE = Page(fleet.FRESHNESS, fleet.DAILY_TOTALS, fleet.FLEET_WEEK)


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path, watch_dashboard="")


@pytest.fixture
def looks(database_url):
    engine = reader(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def screen(settings):
    return Screen(settings.home, NOW - timedelta(hours=1))


def shown(screen):
    """Every number by its name and labels, as a scrape reads it."""
    status, kind, body = answer(screen, registry(screen), "/metrics")
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
def test_every_number_is_what_the_tables_say(clean_engine, looks, settings, screen):
    seed_watched(clean_engine)
    screen.look = look.take(looks, settings, NOW, None)
    numbers = shown(screen)
    for key, value in TRAINED.items():
        assert plain(numbers, f"training_{key}") == value
    for key in ("cold_seconds", "warm_seconds", "memory_bytes"):
        assert plain(numbers, f"inference_{key}") == FORECAST[f"inference_{key}"]
    assert plain(numbers, "training_cache_hit_ratio") == pytest.approx(6 / 7)
    assert plain(numbers, "naive_gate_depots") == 2
    assert plain(numbers, "accuracy_worse_in_a_row") == 3
    assert plain(numbers, "accuracy_alarms") == 1
    assert plain(numbers, "files_refused") == 1
    # LON-03 has no count of the last day.
    assert plain(numbers, "depots_late") == 1
    assert plain(numbers, "data_behind_seconds") == 0
    assert plain(numbers, "data_oldest_depot_behind_seconds") == 86_400
    assert plain(numbers, "forecast_behind_seconds") == 0
    # Of four probes three were answered, one of them late.
    up = (("level", "dashboard_up"), ("window", "30d"))
    quick = (("level", "dashboard_quick"), ("window", "30d"))
    assert numbers[("harbor_level_kept", *up)] == 3
    assert numbers[("harbor_level_of", *up)] == 4
    assert numbers[("harbor_level_kept", *quick)] == 2
    # The night before the last failed before it forecast; the last was ready in time.
    ready = (("level", "forecast_ready"), ("window", "30d"))
    assert numbers[("harbor_level_of", *ready)] == 3
    assert numbers[("harbor_level_kept", *ready)] == 2
    # One missed where 0.03 might be.
    assert numbers[("harbor_level_budget_left_ratio", *ready)] == pytest.approx(
        1 - 1 / 0.03
    )
    assert plain(numbers, "forecast_ready") == 1
    assert plain(numbers, "last_night_kept") == 1
    origin = datetime.combine(THROUGH, time(), UTC).timestamp()
    assert plain(numbers, "last_night_origin_timestamp_seconds") == origin
    nightly = ("harbor_step_heartbeat_timestamp_seconds", ("step", "nightly"))
    assert numbers[nightly] == NOW.timestamp() - 3
    assert ("harbor_step_heartbeat_timestamp_seconds", ("step", "train")) not in numbers
    assert plain(numbers, "deployment_in_progress") == 0
    assert numbers[("process_resident_memory_bytes",)] > 1e6


@pytest.mark.db
def test_accuracy_agrees_with_a_plain_loop(clean_engine, looks, settings, screen):
    seed_watched(clean_engine)
    screen.look = look.take(looks, settings, NOW, None)
    numbers = shown(screen)
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
    clean_engine, looks, settings, screen
):
    screen.look = look.take(looks, settings, NOW, None)
    assert screen.look.not_ready.startswith("There is no forecast yet. Run 'harbor")
    names = {name for name, *_ in shown(screen)}
    assert "harbor_up" in names
    assert plain(shown(screen), "depots") == 0
    absent = {
        "forecast_ready", "forecast_behind_seconds", "data_behind_seconds",
        "live_mape_ratio", "training_compilations", "training_cache_hit_ratio",
        "level_kept", "champion_info", "files_refused", "naive_gate_depots",
        "dashboard_up", "scheduler_beat_timestamp_seconds", "dashboard_p95_seconds",
    }  # fmt: skip
    assert not {f"harbor_{name}" for name in absent} & names


@pytest.mark.db
def test_the_watch_cannot_write_what_it_reads(clean_engine, looks):
    with looks.connect() as connection:
        assert connection.scalar(sa.text("select current_user")) == "harbor_dashboard"
        with pytest.raises(sa.exc.DBAPIError, match="read-only"):
            connection.execute(sa.text("delete from runs"))


@pytest.mark.db
def test_what_is_slow_is_read_again_only_after_something_came(
    clean_engine, looks, settings
):
    seed_watched(clean_engine)
    first = look.take(looks, settings, NOW, None)
    again = look.take(looks, settings, NOW + look.SLOW_PAUSE, first.slow)
    assert again.slow is first.slow
    later = look.take(looks, settings, NOW + look.SLOW_ANEW, again.slow)
    assert later.slow is not first.slow
    with clean_engine.begin() as connection:
        values = {"step": "score", "state": "done", "finished_at": NOW}
        connection.execute(sa.insert(schema.runs), values)
    hasty = look.take(looks, settings, NOW + look.SLOW_PAUSE / 2, first.slow)
    assert hasty.slow is first.slow
    after = look.take(looks, settings, NOW + look.SLOW_PAUSE, first.slow)
    assert after.slow is not first.slow


def test_a_database_that_is_away_is_a_sentence(settings, screen):
    engine = reader(NOBODY)
    screen.look = look.take(engine, settings, NOW, None)
    engine.dispose()
    numbers = shown(screen)
    assert plain(numbers, "up") == 0
    assert plain(numbers, "ready") == 0
    assert ("harbor_schema_current",) not in numbers
    status, _, body = answer(screen, registry(screen), "/readyz")
    assert status == 503
    assert body.startswith(b"The database does not answer: ")
    assert plain(numbers, "home_disk_free_bytes") > 0


@pytest.mark.db
def test_another_schema_is_a_deployment_in_progress(
    clean_engine, looks, settings, screen
):
    asked = sa.text("update alembic_version set version_num = :version")
    with clean_engine.begin() as connection:
        right = connection.scalar(sa.text("select version_num from alembic_version"))
        connection.execute(asked, {"version": "0001"})
    try:
        screen.look = look.take(looks, settings, NOW, None)
    finally:
        with clean_engine.begin() as connection:
            connection.execute(asked, {"version": right})
    assert "Run 'harbor db upgrade'" in screen.look.not_ready
    assert plain(shown(screen), "deployment_in_progress") == 1
    assert plain(shown(screen), "schema_current") == 0


def test_a_new_watch_is_taken_for_a_deployment(tmp_path):
    screen = Screen(tmp_path, NOW)
    new = {n.name: n.value for n in screen.numbers(NOW + DEPLOYING / 2)}
    old = {n.name: n.value for n in screen.numbers(NOW + DEPLOYING)}
    assert new["deployment_in_progress"] is True
    assert old["deployment_in_progress"] is False


def test_a_watch_that_does_not_look_is_to_be_started_anew(screen):
    screen.look = look.Look(NOW, "away")
    assert screen.not_alive(NOW + STUCK / 2) is None
    assert "Start it anew" in screen.not_alive(NOW + STUCK)


@pytest.mark.db
def test_promtool_takes_what_is_served(clean_engine, looks, settings, screen):
    promtool = tool("promtool", "prometheus")
    seed_watched(clean_engine)
    screen.look = look.take(looks, settings, NOW, None)
    screen.probe = Probe(NOW, 0.5)
    _, _, body = answer(screen, registry(screen), "/metrics")
    done = subprocess.run(
        [promtool, "check", "metrics"], input=body, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


class Told:
    """Stands where notices are sent, and keeps what it is told."""

    def __init__(self):
        self.nights, self.database = [], []

    def of_nights(self, _engine, now):
        self.nights.append(now)

    def of_database(self, trouble, _now):
        self.database.append(trouble)


@pytest.mark.db
def test_a_watcher_looks_probes_and_has_notices_sent(
    clean_engine, looks, settings, screen
):
    seed_watched(clean_engine)
    told = Told()
    with serving(screen, "127.0.0.1", 0) as port:
        # Its own server stands in for the dashboard: any path of it answers, or fails.
        asked = settings.model_copy(
            update={"watch_dashboard": f"http://127.0.0.1:{port}/metrics?"}
        )
        watcher = Watcher(asked, looks, clean_engine, screen, PAGE, told)
        watcher.watch_once(NOW)
        assert screen.probe.seconds > 0
        watcher.watch_once(NOW + timedelta(seconds=15))
        assert screen.probe.at == NOW
        assert told.nights == [NOW, NOW + timedelta(seconds=15)]
        away = asked.model_copy(update={"watch_dashboard": "http://127.0.0.1:1"})
        watcher.settings = away
        watcher.watch_once(NOW + timedelta(seconds=60))
    assert screen.probe.seconds is None
    probes = schema.dashboard_probes
    newest = sa.select(probes.c.answered).where(probes.c.probed_at >= NOW)
    with clean_engine.connect() as connection:
        kept = list(connection.scalars(newest.order_by(probes.c.probed_at)))
    assert kept == [True, False]
    assert told.database == [None, None, None]
    nowhere = reader(NOBODY)
    watcher.reader = nowhere
    watcher.watch_once(NOW + timedelta(seconds=75))
    nowhere.dispose()
    assert told.database[-1].startswith("The database does not answer")
    assert len(told.nights) == 3


@pytest.mark.db
def test_a_scheduler_that_leads_is_seen_and_shows_life(
    clean_engine, looks, settings, monkeypatch
):
    from pipelines import schedule

    with try_lock(clean_engine, LEADER_LOCK):
        assert look.take(looks, settings, NOW, None).scheduler_leads
    assert not look.take(looks, settings, NOW, None).scheduler_leads

    monkeypatch.setattr(schedule, "STAND_BY_S", 0.02)
    stopped = Event()
    clock = Thread(target=schedule.run_clock, args=(clean_engine, settings, stopped))
    clock.start()
    try:
        for _ in range(500):
            if look.take(looks, settings, NOW, None).tallies["scheduler_beat_at"]:
                break
            stopped.wait(0.02)
        else:
            pytest.fail("no sign of life came")
    finally:
        stopped.set()
        clock.join()


@pytest.mark.db
def test_the_command_serves_until_it_is_told_to_stop(clean_engine, database_url):
    environment = {
        **os.environ,
        "HARBOR_DATABASE_URL": database_url,
        "HARBOR_WATCH_DASHBOARD": "",
    }
    port = _free_port()
    asked = [sys.executable, "-m", "pipelines", "watch", "--port", str(port)]
    with subprocess.Popen(
        asked, env=environment, stderr=subprocess.PIPE, text=True
    ) as watch:
        try:
            status, body = _wait_for(f"http://127.0.0.1:{port}/readyz", "no forecast")
            assert (status, body[:9]) == (503, "There is ")
            assert _get(f"http://127.0.0.1:{port}/healthz") == (200, "alive\n")
            assert _get(f"http://127.0.0.1:{port}/else")[0] == 404
        finally:
            watch.terminate()
            said = watch.stderr.read()
    assert watch.returncode == 128 + 15
    assert "Traceback" not in said


def test_other_machines_are_answered_with_insecure_only():
    with pytest.raises(BadInputError, match=r"0\.0\.0\.0.*--insecure"):
        command.watch(address="0.0.0.0")


def _free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(url, says):
    for _ in range(300):
        try:
            status, body = _get(url)
        except OSError:
            status, body = 0, ""
        if says in body:
            return status, body
        Event().wait(0.1)
    return status, body


def _get(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as told:
            return told.status, told.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
