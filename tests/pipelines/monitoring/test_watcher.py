"""A watch takes snapshots, probes the dashboard and has notifications sent until it is stopped."""

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from datetime import timedelta
from threading import Event

from pipelines.database.roles import create_readonly_engine
from pipelines.monitoring.server import serving
from pipelines.monitoring.watcher import Watcher, take_snapshot
from pipelines.runs.locks import try_lock
from pipelines.scheduling.schedule import LEADER_LOCK
from tests.pipelines.in_process import harbor
from tests.pipelines.monitoring.monitored import NOBODY, NOW, seed_watched
from tests.ports import free_port


class FakeNotifier:
    """Keeps when it was asked to send what is due."""

    def __init__(self):
        self.checks, self.failed = [], 2

    def check(self, _engine, now):
        self.checks.append(now)


def test_a_watcher_probes_and_has_notifications_sent(
    clean_engine, reader_engine, settings, monitor_state
):
    seed_watched(clean_engine)
    notifier = FakeNotifier()
    with serving(monitor_state, "127.0.0.1", 0) as port:
        # Its own server stands in for the dashboard: it answers that path, or fails.
        probed = settings.model_copy(
            update={"watch_dashboard": f"http://127.0.0.1:{port}/metrics?"}
        )
        watcher = Watcher(probed, reader_engine, monitor_state, notifier)
        watcher.watch_once(NOW)
        assert monitor_state.probe.seconds > 0
        watcher.watch_once(NOW + timedelta(seconds=15))
        assert monitor_state.probe.probed_at == NOW
        watcher.settings = settings.model_copy(
            update={"watch_dashboard": "http://127.0.0.1:1"}
        )
        watcher.watch_once(NOW + timedelta(seconds=60))
    assert monitor_state.probe.seconds is None
    assert monitor_state.notifications_failed == 2
    assert len(notifier.checks) == 3
    watcher.engine = create_readonly_engine(NOBODY)
    watcher.watch_once(NOW + timedelta(seconds=75))
    watcher.engine.dispose()
    assert monitor_state.snapshot.error.startswith("The database does not answer")
    assert len(notifier.checks) == 3


def test_a_scheduler_that_leads_is_seen(clean_engine, reader_engine, settings):
    def metric(name):
        samples = take_snapshot(reader_engine, settings, NOW).samples
        return next((each.value for each in samples if each.name == name), None)

    with try_lock(clean_engine, LEADER_LOCK):
        assert metric("scheduler_is_leader") == 1
    assert metric("scheduler_is_leader") == 0


def test_the_command_serves_until_it_is_told_to_stop(clean_engine, database_url):
    environment = {
        **os.environ,
        "HARBOR_DATABASE_URL": database_url,
        "HARBOR_WATCH_DASHBOARD": "",
    }
    port = free_port()
    command = [sys.executable, "-m", "pipelines", "watch", "--port", str(port)]
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True
    ) as watch:
        try:
            status, body = _wait_for(f"http://127.0.0.1:{port}/readyz", "no forecast")
            assert (status, body[:9]) == (503, "There is ")
            assert _get(f"http://127.0.0.1:{port}/healthz") == (200, "alive\n")
            assert _get(f"http://127.0.0.1:{port}/else")[0] == 404
        finally:
            watch.terminate()
            log_output = watch.stderr.read()
    assert watch.returncode == 128 + 15
    assert "Traceback" not in log_output


def test_other_machines_are_answered_with_insecure_only():
    refused = harbor("watch", "--address", "0.0.0.0")
    assert refused.returncode == 1
    assert re.search(r"0\.0\.0\.0.*--insecure", refused.stderr)


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
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
