"""APScheduler as a thin clock: it says when; the ledger says what has run."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import sqlalchemy as sa
import structlog
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.cron import CronTrigger

from forecaster.errors import NothingToDoError
from pipelines.settings import Settings

log = structlog.get_logger()

LEADER_LOCK = 0x434C_4F43  # "CLOC"
MISFIRE_GRACE_S = 6 * 3600
DEADLINE = timedelta(hours=3)
PATIENCE_S = 60


def nightly_trigger(settings: Settings) -> CronTrigger:
    """When the night runs, in the fleet's own zone."""
    hour, minute = settings.nightly_at.split(":")
    return CronTrigger(hour=int(hour), minute=int(minute), timezone=settings.zone)


def next_night(settings: Settings, now: datetime) -> datetime:
    """The next moment the night runs, in the fleet's own zone."""
    return nightly_trigger(settings).get_next_fire_time(None, now)


def run_clock(engine: sa.Engine, settings: Settings) -> None:
    """Runs the night every night, until it is stopped.

    Args:
      engine: For the lock that keeps a second clock out.
      settings: When, and in which zone.

    Raises:
      NothingToDoError: another scheduler leads.
    """
    with _leading(engine):
        scheduler, child = BlockingScheduler(timezone=settings.zone), NightlyChild()
        scheduler.add_job(
            child.run,
            nightly_trigger(settings),
            args=[settings],
            id="nightly",
            max_instances=1,
            coalesce=True,
            # The library's default of one second would skip a run that wakes late.
            misfire_grace_time=MISFIRE_GRACE_S,
        )
        try:
            scheduler.start()
        finally:
            child.stop()


class NightlyChild:
    """One night in a process of its own: what it leaks or crashes stays there."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, settings: Settings) -> int:
        """Runs the night of yesterday to its end or its deadline; its exit status."""
        yesterday = (datetime.now(settings.zone) - timedelta(days=1)).date()
        night = ["nightly", "--origin", str(yesterday)]
        self._process = subprocess.Popen(  # noqa: S603 - our own program, no shell
            [sys.executable, "-m", "pipelines", *night]
        )
        try:
            status = self._process.wait(DEADLINE.total_seconds())
        except subprocess.TimeoutExpired:
            log.warning("nightly_deadline", origin=str(yesterday), after=str(DEADLINE))
            status = self.stop()
        log.info("nightly_ended", origin=str(yesterday), status=status)
        return status

    def stop(self) -> int:
        """Asks the child to end, and ends it if it does not; its exit status."""
        if self._process is None:
            return 0
        self._process.terminate()
        try:
            return self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


@contextmanager
def _leading(engine: sa.Engine) -> Iterator[None]:
    """Holds a session-level lock on a connection of its own."""
    with engine.connect() as connection:
        if not connection.scalar(sa.select(sa.func.pg_try_advisory_lock(LEADER_LOCK))):
            raise NothingToDoError(
                "Another scheduler runs on this database already. Stop it first, or "
                "leave it to its work."
            )
        connection.commit()
        yield
