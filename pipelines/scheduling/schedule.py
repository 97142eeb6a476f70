"""APScheduler as a thin clock: it says when; the ledger says what has run.

Of several schedulers on one database one leads, by a session-level advisory lock; the
others stand by, and one of them goes on when the leader is gone.
"""

from datetime import UTC, datetime, timedelta
from threading import Event

import sqlalchemy as sa
import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger
from sqlalchemy.exc import SQLAlchemyError

from pipelines.runs.heartbeat import this_process
from pipelines.scheduling import catch_up
from pipelines.scheduling.jobs import ScheduledJobs, utc_now
from pipelines.scheduling.subprocess_runner import SubprocessRunner
from pipelines.settings import Settings
from pipelines.store import heartbeats
from pipelines.store import nightly_runs as store
from pipelines.store.locks import HeldLock, is_free, try_lock

log = structlog.get_logger()

LEADER_LOCK = 0x434C_4F43  # "CLOC"
DEADLINE = timedelta(hours=3)
STAND_BY_S = 5.0
A_SECOND = timedelta(seconds=1)
LOOK_AGAIN = timedelta(minutes=10)


def run_scheduler(engine: sa.Engine, settings: Settings, stopped: Event) -> None:
    """Leads as soon as nobody else does, until the lead is lost or it is stopped.

    Args:
      engine: Database the pipelines own.
      settings: When the night runs, and in which zone.
      stopped: Ends it.

    Raises:
      SQLAlchemyError: the database went away.
    """
    told = False
    while not stopped.is_set():
        with try_lock(engine, LEADER_LOCK) as lock:
            if lock is not None:
                _lead(engine, settings, lock, stopped)
                return
        if not told:
            log.info("standing_by", because="another scheduler leads")
            told = True
        stopped.wait(STAND_BY_S)


def has_leader(engine: sa.Engine) -> bool:
    """Whether a scheduler is at work on this database."""
    with engine.connect() as connection:
        return not is_free(connection, LEADER_LOCK)


def _lead(engine: sa.Engine, settings: Settings, lock: HeldLock, stop: Event) -> None:
    """Runs the night every night while the lock is ours."""
    child = SubprocessRunner(DEADLINE, lambda pid: _silence(engine, pid))
    # One thread: a night and a look after the one before never run side by side.
    pool = ThreadPoolExecutor(1)
    scheduler = _scheduler(
        settings, ScheduledJobs(engine, settings, lock, child.run), pool
    )
    scheduler.start()
    log.info("leading", next=str(catch_up.next_nightly(settings, utc_now())))
    try:
        while _is_held(engine, lock) and not stop.wait(STAND_BY_S):
            _show_life(engine)
    finally:
        child.stop()
        # Not by the library: it waits for a look while it holds the lock that the look
        # wants to be planned again with.
        scheduler.shutdown(wait=False)
        pool.shutdown()


def _scheduler(
    settings: Settings, clock: ScheduledJobs, pool: ThreadPoolExecutor
) -> BackgroundScheduler:
    """Strikes every night, and looks at once and again some time after each look."""
    scheduler = BackgroundScheduler(timezone=settings.zone, executors={"default": pool})

    def poll() -> None:
        try:
            clock.poll()
        finally:
            again = utc_now() + LOOK_AGAIN
            scheduler.add_job(poll, "date", run_date=again, misfire_grace_time=None)

    scheduler.add_job(
        clock.run_due,
        NightlyTrigger(settings),
        id="nightly",
        max_instances=1,
        coalesce=True,
        # However late it wakes, the ledger and the policy say what is due; the library's
        # default would drop the night after one second.
        misfire_grace_time=None,
    )
    scheduler.add_job(poll, "date", misfire_grace_time=None)
    return scheduler


class NightlyTrigger(BaseTrigger):  # type: ignore[misc]
    """Strikes once on every local day, whatever the clocks do at that hour.

    The library's own trigger strikes twice where an hour comes twice, and leaves a day
    out after the clocks went forward.
    """

    def __init__(self, settings: Settings) -> None:
        """Strikes at the hour of the settings."""
        self._settings = settings

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime:
        """The moment after the previous one; from now on where there was none."""
        begin = now if previous is None else min(now, previous + A_SECOND)
        # In UTC: the library compares times of one zone by the wall clock.
        return catch_up.next_nightly(self._settings, begin).astimezone(UTC)


def _is_held(engine: sa.Engine, lock: HeldLock) -> bool:
    with engine.connect() as connection:
        held = lock.is_held(connection)
    if not held:
        log.warning("lead_lost", because="the session that held the lock ended")
    return held


def _show_life(engine: sa.Engine) -> None:
    """For who watches from elsewhere: a lead may be held by a process that hangs."""
    with engine.begin() as connection:
        heartbeats.beat(connection, "scheduler", this_process())


def _silence(engine: sa.Engine, pid: int) -> timedelta | None:
    host, _ = this_process()
    try:
        with engine.connect() as connection:
            return store.silence_of(connection, host, pid)
    except SQLAlchemyError:  # whether the database is there is watched by the leader
        return None
