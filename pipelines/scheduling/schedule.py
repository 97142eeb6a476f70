"""The scheduler: APScheduler triggers the jobs, the ledger of runs decides what is due.

Of several schedulers on one database one leads, by a session-level advisory lock. The
others stand by, and one of them takes over when the leader is gone.
"""

from datetime import UTC, datetime, timedelta
from threading import Event

import sqlalchemy as sa
import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from pipelines.scheduling import catch_up
from pipelines.scheduling.jobs import ScheduledJobs, utc_now
from pipelines.scheduling.subprocess_runner import SubprocessRunner
from pipelines.settings import Settings
from pipelines.store.locks import HeldLock, LostRunError, is_free, try_lock

log = structlog.get_logger()

LEADER_LOCK = 0x434C_4F43  # "CLOC"
DEADLINE = timedelta(hours=3)
LEADER_POLL_S = 5.0
ONE_SECOND = timedelta(seconds=1)
POLL_INTERVAL = timedelta(minutes=10)


def run_scheduler(engine: sa.Engine, settings: Settings, stopped: Event) -> None:
    """Waits for the leader lock, then runs the jobs until it is lost or stopped.

    Args:
      engine: Database the pipelines own.
      settings: Time of the nightly run, and the time zone.
      stopped: Set to stop the scheduler.

    Raises:
      SQLAlchemyError: the database went away.
    """
    logged = False
    while not stopped.is_set():
        with try_lock(engine, LEADER_LOCK) as lock:
            if lock is not None:
                _lead(engine, settings, lock, stopped)
                return
        if not logged:
            log.info("standing_by", reason="another scheduler leads")
            logged = True
        stopped.wait(LEADER_POLL_S)


def has_leader(engine: sa.Engine) -> bool:
    """Whether a scheduler is running on this database."""
    with engine.connect() as connection:
        return not is_free(connection, LEADER_LOCK)


def _lead(engine: sa.Engine, settings: Settings, lock: HeldLock, stop: Event) -> None:
    """Runs the scheduled jobs while the lock is held."""
    runner = SubprocessRunner(DEADLINE)
    # One thread, so that a nightly run and a poll never overlap.
    pool = ThreadPoolExecutor(1)
    scheduler = _scheduler(
        settings, ScheduledJobs(engine, settings, lock, runner.run), pool
    )
    scheduler.start()
    log.info("leading", next=str(catch_up.next_nightly(settings, utc_now())))
    try:
        while _is_held(lock) and not stop.wait(LEADER_POLL_S):
            pass
    finally:
        runner.stop()
        # Not by the library: it would wait for a poll while holding the lock that the
        # poll needs to schedule the next one.
        scheduler.shutdown(wait=False)
        pool.shutdown()


def _scheduler(
    settings: Settings, jobs: ScheduledJobs, pool: ThreadPoolExecutor
) -> BackgroundScheduler:
    """Schedules the nightly run, and a poll now and again after each poll."""
    scheduler = BackgroundScheduler(timezone=settings.zone, executors={"default": pool})

    def poll() -> None:
        try:
            jobs.poll()
        finally:
            next_poll = utc_now() + POLL_INTERVAL
            scheduler.add_job(poll, "date", run_date=next_poll, misfire_grace_time=None)

    scheduler.add_job(
        jobs.run_due,
        NightlyTrigger(settings),
        id="nightly",
        max_instances=1,
        coalesce=True,
        # However late it wakes, the ledger and the policy decide what is due; the
        # library's default would drop the nightly run after one second.
        misfire_grace_time=None,
    )
    scheduler.add_job(poll, "date", misfire_grace_time=None)
    return scheduler


class NightlyTrigger(BaseTrigger):  # type: ignore[misc]
    """Fires once on every local day, also across clock changes.

    The library's CronTrigger fires twice when an hour occurs twice, and skips a day after
    the clocks went forward.
    """

    def __init__(self, settings: Settings) -> None:
        """Fires at the time of the nightly run in the settings."""
        self._settings = settings

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime:
        """The first fire time after the previous one, or from now on without one."""
        start = now if previous is None else min(now, previous + ONE_SECOND)
        # In UTC: the library compares times in one zone by wall clock.
        return catch_up.next_nightly(self._settings, start).astimezone(UTC)


def _is_held(lock: HeldLock) -> bool:
    try:
        with lock.engine.connect() as connection:
            connection.execute(sa.select(1))
    except LostRunError:
        log.warning("lead_lost", reason="the session that held the lock ended")
        return False
    return True
