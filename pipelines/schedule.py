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
        scheduler = BlockingScheduler(timezone=settings.zone)
        scheduler.add_job(
            run_night_as_child,
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
            if scheduler.running:
                scheduler.shutdown(wait=False)


def run_night_as_child(settings: Settings) -> int:
    """Runs one night in a process of its own, and returns its exit status.

    A child, so that what training leaks or crashes does not take the clock along.
    """
    yesterday = (datetime.now(settings.zone) - timedelta(days=1)).date()
    command = [sys.executable, "-m", "pipelines", "nightly", "--origin", str(yesterday)]
    try:
        done = subprocess.run(  # noqa: S603 - our own program, no shell
            command, timeout=DEADLINE.total_seconds(), check=False
        )
    except subprocess.TimeoutExpired:
        log.error("nightly_deadline", origin=str(yesterday), deadline=str(DEADLINE))
        return 1
    log.info("nightly_ended", origin=str(yesterday), status=done.returncode)
    return done.returncode


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
