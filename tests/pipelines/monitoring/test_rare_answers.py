"""Answers that are not HTTP, addresses of IPv6, and a deadline beside a change of the clocks."""

import socket
from datetime import UTC, datetime
from threading import Thread

import pytest

from pipelines.monitoring.metrics import newest_due_night
from pipelines.monitoring.server import serving
from pipelines.monitoring.watcher import Watcher
from pipelines.settings import Settings
from tests.pipelines.monitoring.monitored import NOW, seed_watched
from tests.pipelines.monitoring.test_watcher import FakeNotifier


@pytest.fixture
def answering():
    """Starts servers that give one raw answer and hang up."""
    opened = []

    def start(answer):
        listening = socket.create_server(("127.0.0.1", 0))
        opened.append(listening)

        def reply():
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        Thread(target=reply, daemon=True).start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield start
    for listening in opened:
        listening.close()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ncut", id="cut"),
        pytest.param(b"\x15\x03\x01\x00\x02\x02F\r\n", id="TLS alert"),
    ],
)
def test_a_dashboard_whose_answer_is_cut_or_not_http_is_down(
    clean_engine, reader_engine, settings, monitor_state, answering, answer
):
    seed_watched(clean_engine)
    notifier = FakeNotifier()
    probed = settings.model_copy(update={"watch_dashboard": answering(answer)})
    Watcher(probed, reader_engine, monitor_state, notifier).watch_once(NOW)
    assert monitor_state.probe.seconds is None
    assert notifier.checks == [NOW]


def test_an_ipv6_loopback_address_is_served(monitor_state):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("needs IPv6: this machine has no ::1")
    with serving(monitor_state, "::1", 0) as port:
        socket.create_connection(("::1", port), 5).close()


def test_the_deadline_is_half_an_hour_away_when_the_clocks_are_set_back():
    settings = Settings(timezone="Europe/Amsterdam", nightly_at="02:45")
    # 02:45 comes twice that night; the first time it is 00:45 in UTC.
    due = newest_due_night(settings, {}, datetime(2026, 10, 25, 12, tzinfo=UTC))
    assert due.ready_by.astimezone(UTC) == datetime(2026, 10, 25, 1, 15, tzinfo=UTC)
