"""Serves `/metrics`, `/healthz` and `/readyz` from the newest snapshot, without a query."""

import shutil
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from prometheus_client import CollectorRegistry, ProcessCollector, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from pipelines.monitoring.metrics import families
from pipelines.store.monitoring import Sample, sample

DEPLOYMENT_TIME = timedelta(minutes=10)
"""Time after the watch's start that counts as a deployment, which restarts every process."""
MAX_SNAPSHOT_AGE = timedelta(minutes=5)
"""An older snapshot means that the watch should be restarted."""


@dataclass(frozen=True)
class Snapshot:
    """The samples read from the database at one time.

    Args:
      taken_at: When the watch read the database, or tried to; with a time zone.
      error: The reason why nothing could be read, in one sentence; None if all was read.
      schema_is_current: Whether the tables are of this release; None if unknown.
      samples: Empty if nothing could be read.
    """

    taken_at: datetime
    error: str | None = None
    schema_is_current: bool | None = None
    samples: tuple[Sample, ...] = ()

    @property
    def not_ready_reason(self) -> str | None:
        """The reason why the program cannot serve yet; None if it can."""
        if self.error is not None:
            return self.error
        if all(each.name != "forecast_lag_seconds" for each in self.samples):
            return "There is no forecast yet. Run 'harbor train' and 'harbor forecast'."
        return None


@dataclass(frozen=True)
class Probe:
    """When the dashboard was probed, and how long its answer and its first page's queries took.

    `seconds` is None if the dashboard did not answer or a query failed.
    """

    probed_at: datetime
    seconds: float | None


@dataclass(eq=False)
class MonitorState(Collector):
    """The state that is served; the watcher replaces each part as a whole."""

    home: Path
    started_at: datetime
    snapshot: Snapshot = field(init=False)
    probe: Probe | None = None
    notifications_failed: int = 0

    def __post_init__(self) -> None:
        """Begins with a snapshot whose error is that nothing has been read yet."""
        sentence = "The watch has not read the database yet. Ask again."
        self.snapshot = Snapshot(self.started_at, sentence)

    def collect(self) -> Iterable[Metric]:
        """Collects every metric."""
        return families(self.samples(datetime.now(UTC)))

    def samples(self, now: datetime) -> Iterator[Sample]:
        """Yields the samples of the snapshot, of the probe and of this machine."""
        snapshot = self.snapshot
        yield sample("up", snapshot.error is None and not self.not_alive_reason(now))
        yield sample("snapshot_timestamp_seconds", snapshot.taken_at)
        if snapshot.schema_is_current is not None:
            yield sample("schema_current", snapshot.schema_is_current)
        is_deploying = (
            now - self.started_at < DEPLOYMENT_TIME
            or snapshot.schema_is_current is False
        )
        yield sample("deployment_in_progress", is_deploying)
        yield sample("watch_started_timestamp_seconds", self.started_at)
        yield sample("notifications_failed_total", self.notifications_failed)
        if self.probe is not None:
            yield sample("dashboard_up", self.probe.seconds is not None)
            if self.probe.seconds is not None:
                yield sample("dashboard_seconds", self.probe.seconds)
        yield from self._disk()
        yield from snapshot.samples

    def _disk(self) -> Iterator[Sample]:
        try:
            disk = shutil.disk_usage(self.home)
        except OSError:  # not made yet, or not readable by this account
            return
        yield sample("home_disk_free_bytes", disk.free)
        yield sample("home_disk_used_bytes", disk.used)

    def not_alive_reason(self, now: datetime) -> str | None:
        """The reason why the watch should be restarted; None if it should not."""
        age = now - self.snapshot.taken_at
        if age < MAX_SNAPSHOT_AGE:
            return None
        return (
            f"The watch has not read the database for {age.total_seconds():.0f} s; it "
            "should read it every 15 s. Restart it."
        )


def application(state: MonitorState) -> WSGIApplication:
    """Answers `/metrics`, `/healthz` and `/readyz`."""
    registry = CollectorRegistry()
    registry.register(state)
    ProcessCollector(registry=registry)
    metrics = make_wsgi_app(registry)

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        match environ["PATH_INFO"]:
            case "/metrics":
                return metrics(environ, start)
            case "/healthz":
                problem, ok = state.not_alive_reason(datetime.now(UTC)), "alive"
            case "/readyz":
                problem, ok = state.snapshot.not_ready_reason, "ready"
                problem = problem or state.not_alive_reason(datetime.now(UTC))
            case _:
                start("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
                return [b"There are /metrics, /healthz and /readyz.\n"]
        status = "503 Service Unavailable" if problem else "200 OK"
        start(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{problem or ok}\n".encode()]

    return answer


class _IPv6Server(ThreadingWSGIServer):
    """A server that listens on an IPv6 address."""

    address_family = socket.AF_INET6


class _QuietHandler(WSGIRequestHandler):
    """Logs no requests: the many scrapes would hide other log lines."""

    timeout = 10

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(state: MonitorState, address: str, port: int) -> Iterator[int]:
    """Serves until the block ends; yields the port, which the system chooses if `port` is 0."""
    server_class = _IPv6Server if ":" in address else ThreadingWSGIServer
    with make_server(
        address, port, application(state), server_class, _QuietHandler
    ) as server:
        thread = Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
