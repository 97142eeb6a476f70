"""Takes snapshots at intervals, probes the dashboard, and sends notifications."""

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import requests
import sqlalchemy as sa
import structlog
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from forecaster.errors import DatabaseError
from pipelines.database import schema_version
from pipelines.database.engine import (
    UNREACHABLE_ADVICE,
    connection_error_message,
    snapshot,
)
from pipelines.monitoring import metrics
from pipelines.monitoring.notifications import Notifier, is_due
from pipelines.monitoring.server import MonitorState, Probe, Snapshot
from pipelines.runs.error_messages import describe_error
from pipelines.settings import Settings
from pipelines.store import demand
from pipelines.store.monitoring import Sample

log = structlog.get_logger()

INTERVAL_S = 15.0
PROBE_EVERY = timedelta(minutes=1)
SLOW_EVERY = timedelta(minutes=15)
"""Interval of the slow queries; long, because they would slow down a nightly run."""
SLOW_SECONDS = 60
SLOW_KEPT = timedelta(hours=1)
"""Time for which the slow samples are served if they cannot be read anew."""
PROBE_TIMEOUT_S = 10
FIRST_PAGE = "/first-page"


@dataclass
class Watcher:
    """Watches one database, with a read-only engine.

    The state receives the snapshots and probes.
    """

    settings: Settings
    engine: sa.Engine
    state: MonitorState
    notifier: Notifier
    _slow: tuple[Sample, ...] = field(default=(), init=False)
    _slow_at: datetime | None = field(default=None, init=False)
    _slow_read_at: datetime | None = field(default=None, init=False)

    def run(self) -> None:
        """Watches until the embedded database must be started again."""
        while True:
            self.watch_once(datetime.now(UTC))
            time.sleep(INTERVAL_S)
            is_away = self.state.snapshot.schema_is_current is None
            if is_away and self.settings.database_url is None:
                return

    def watch_once(self, now: datetime) -> None:
        """Takes a snapshot, and probes and notifies if due; survives a lost database."""
        previous_error = self.state.snapshot.error
        new = take_snapshot(self.engine, self.settings, now)
        if new.error is not None and new.error != previous_error:
            log.warning("snapshot_failed", reason=new.error)
        if new.error is not None:
            self.state.snapshot = new
            self._probe(now)
            return
        if is_due(self._slow_at, SLOW_EVERY, now):
            self._slow_at = now
            if slow := self._read_slow(now):
                self._slow, self._slow_read_at = slow, now
            elif self._slow_read_at and now - self._slow_read_at >= SLOW_KEPT:
                self._slow = ()  # An unknown value is absent.
        self.state.snapshot = replace(new, samples=new.samples + self._slow)
        self._probe(now)
        try:
            self.notifier.check(self.engine, now)
        except SQLAlchemyError as error:
            log.warning("notification_waits", reason=describe_error(error))
        self.state.notifications_failed = self.notifier.failed

    def _probe(self, now: datetime) -> None:
        """Probes the dashboard if due, without a database too: each minute counts."""
        last_probe, url = self.state.probe, self.settings.watch_dashboard
        if url and (
            last_probe is None or is_due(last_probe.probed_at, PROBE_EVERY, now)
        ):
            self.state.probe = Probe(now, probe_dashboard(url))

    def _read_slow(self, now: datetime) -> tuple[Sample, ...]:
        """Reads the slow samples in their own transaction, whose timeout affects nothing else."""
        try:
            with snapshot(self.engine) as connection:
                connection.execute(
                    sa.text(f"set local statement_timeout = '{SLOW_SECONDS}s'")
                )
                due_on = self.settings.due_on(now, demand.zones(connection))
                return tuple(metrics.slow_samples(connection, due_on))
        except SQLAlchemyError as error:
            log.warning("slow_snapshot_failed", reason=describe_error(error))
            return ()


def take_snapshot(engine: sa.Engine, settings: Settings, now: datetime) -> Snapshot:
    """Reads the database into a snapshot, which holds the error if that fails."""
    try:
        schema_version.require_current(engine)
        with snapshot(engine) as connection:
            samples = tuple(metrics.current_samples(connection, settings, now))
    except DatabaseError as error:
        return Snapshot(now, str(error), schema_is_current=False)
    except OperationalError as error:
        reason = connection_error_message(error)
        sentence = f"The database does not answer: {reason}. {UNREACHABLE_ADVICE}."
        return Snapshot(now, sentence)
    except SQLAlchemyError as error:
        return Snapshot(now, describe_error(error))
    return Snapshot(now, schema_is_current=True, samples=samples)


def probe_dashboard(url: str) -> float | None:
    """Measures how long the dashboard takes to run the queries of its first page and answer.

    The page itself is sent by websocket, and most of its time is spent in these queries; the
    dashboard runs them for the probe without its cache.

    Returns:
      Seconds; None if the dashboard did not answer, or a query failed.
    """
    began = time.monotonic()
    try:
        requests.get(url + FIRST_PAGE, timeout=PROBE_TIMEOUT_S).raise_for_status()
    except (requests.RequestException, ValueError):
        return None
    return time.monotonic() - began
