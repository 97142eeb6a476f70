"""Looks again and again, asks the dashboard, and has notices sent."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Event

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import SQLAlchemyError

from pipelines.monitoring import snapshot
from pipelines.monitoring.notifications.notifier import Teller
from pipelines.monitoring.probe import Page, probe
from pipelines.monitoring.state import Probe, Screen
from pipelines.runs.error_messages import describe_error
from pipelines.settings import Settings
from pipelines.store import service_levels as store

log = structlog.get_logger()

LOOK_EVERY_S = 15.0
PROBE_EVERY = timedelta(minutes=1)
KEEP_PROBES = timedelta(days=100)


@dataclass
class Watcher:
    """One that watches one database until it is stopped.

    Args:
      settings: Say what is due, and which dashboard is asked.
      reader: An engine that only reads.
      writer: One that may write down answers and notices.
      screen: Shows what is seen.
      page: What the dashboard's first page asks.
      teller: Sends notices.
    """

    settings: Settings
    reader: sa.Engine
    writer: sa.Engine
    screen: Screen
    page: Page
    teller: Teller

    def run(self, stopped: Event) -> None:
        """Watches until it is stopped, or the embedded database must be started anew."""
        while not stopped.is_set():
            self.watch_once(datetime.now(UTC))
            stopped.wait(LOOK_EVERY_S)
            is_away = self.screen.look.schema_is_current is None
            if is_away and self.settings.database_url is None:
                return

    def watch_once(self, now: datetime) -> None:
        """One look, and what follows from it; a database that is away ends nothing."""
        before = self.screen.look
        seen = snapshot.take(self.reader, self.settings, now, before.slow)
        if seen.trouble is not None and seen.trouble != before.trouble:
            log.warning("look_failed", says=seen.trouble)
        self.screen.look = seen
        is_away = seen.schema_is_current is None
        self.teller.of_database(seen.trouble if is_away else None, now)
        if seen.schema_is_current:
            self._noted(lambda: self._probe(now))
            self._noted(lambda: self.teller.of_nights(self.writer, now))

    def _probe(self, now: datetime) -> None:
        last, url = self.screen.probe, self.settings.watch_dashboard
        if not url or (last is not None and now - last.at < PROBE_EVERY):
            return
        found = Probe(now, probe(url, self.page, self.reader))
        self.screen.probe = found
        with self.writer.begin() as connection:
            store.add_probe(connection, found.at, found.seconds)
            store.drop_probes(connection, now - KEEP_PROBES)

    def _noted(self, step: Callable[[], None]) -> None:
        """What cannot be written down is said, and tried again at the next look."""
        try:
            step()
        except SQLAlchemyError as error:
            log.warning("watch_could_not_write", reason=describe_error(error))
