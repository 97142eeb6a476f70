"""What can no longer be read is neither up nor served as if it were today's."""

from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from sqlalchemy.exc import OperationalError

from pipelines.database.roles import create_readonly_engine
from pipelines.monitoring import metrics
from pipelines.monitoring import watcher as watcher_module
from pipelines.monitoring.server import MAX_SNAPSHOT_AGE
from pipelines.monitoring.watcher import SLOW_EVERY, Watcher
from tests.pipelines.monitoring.monitored import NOBODY, NOW, seed_watched
from tests.pipelines.monitoring.test_watcher import FakeNotifier


def values(name, state, now):
    return [sample.value for sample in state.samples(now) if sample.name == name]


def test_a_watch_that_hangs_is_not_up(
    clean_engine, reader_engine, settings, monitor_state
):
    seed_watched(clean_engine)
    Watcher(settings, reader_engine, monitor_state, FakeNotifier()).watch_once(NOW)
    assert values("up", monitor_state, NOW) == [1]
    later = NOW + 12 * MAX_SNAPSHOT_AGE
    assert monitor_state.not_alive_reason(later)
    assert values("up", monitor_state, later) == [0]


class Dashboard(BaseHTTPRequestHandler):
    """Answers 200 while the database is there, and 503 once it is away, as ours does."""

    status = 200

    def do_GET(self):
        self.send_response(type(self).status)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_dashboard_whose_database_is_away_is_not_up(
    clean_engine, reader_engine, settings, monitor_state, monkeypatch
):
    with HTTPServer(("127.0.0.1", 0), Dashboard) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        probed = settings.model_copy(
            update={"watch_dashboard": f"http://127.0.0.1:{server.server_port}"}
        )
        watcher = Watcher(probed, reader_engine, monitor_state, FakeNotifier())
        watcher.watch_once(NOW)
        assert values("dashboard_up", monitor_state, NOW) == [1]
        monkeypatch.setattr(Dashboard, "status", 503)
        watcher.engine = create_readonly_engine(NOBODY)
        for minute in range(1, 9 * 60, 60):
            watcher.watch_once(NOW + timedelta(minutes=minute))
        watcher.engine.dispose()
        server.shutdown()
    assert monitor_state.snapshot.error.startswith("The database does not answer")
    assert values("dashboard_up", monitor_state, NOW) == [0]


def test_slow_numbers_that_time_out_are_left_out_after_an_hour(
    clean_engine, reader_engine, settings, monitor_state, monkeypatch
):
    seed_watched(clean_engine)
    watcher = Watcher(settings, reader_engine, monitor_state, FakeNotifier())
    watcher.watch_once(NOW)
    assert values("depots_late", monitor_state, NOW)

    def times_out(*_):
        raise OperationalError("select", {}, Exception("statement timeout"))

    monkeypatch.setattr(metrics, "slow_samples", times_out)
    watcher.watch_once(NOW + SLOW_EVERY)
    assert values("depots_late", monitor_state, NOW)
    for hour in range(1, 48):
        watcher.watch_once(NOW + timedelta(hours=hour))
    assert not values("depots_late", monitor_state, NOW)


def test_a_dashboard_is_probed_though_the_clock_was_ahead(
    clean_engine, reader_engine, settings, monitor_state, monkeypatch
):
    seed_watched(clean_engine)
    answers = iter([0.1, None])
    monkeypatch.setattr(watcher_module, "probe_dashboard", lambda _: next(answers))
    probed = settings.model_copy(update={"watch_dashboard": "http://127.0.0.1:1"})
    watcher = Watcher(probed, reader_engine, monitor_state, FakeNotifier())
    reads = []
    monkeypatch.setattr(watcher, "_read_slow", lambda now: reads.append(now) or ())
    watcher.watch_once(NOW + timedelta(days=1))
    watcher.watch_once(NOW)
    assert monitor_state.probe.seconds is None
    assert reads == [NOW + timedelta(days=1), NOW]
