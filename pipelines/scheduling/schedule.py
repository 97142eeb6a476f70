"""The scheduler of the nightly run.

APScheduler starts the jobs: a `CronTrigger` at the hour of the night, and every ten minutes
a check for a night that was missed, that failed, or whose feed came late. A session-level
advisory lock elects one leader among the schedulers of a database; the others stand by. Each
night runs in a child process with a deadline. The ledger of runs records which nights are
done, so that a new scheduler can catch up: after any downtime, its next check runs the newest
night; earlier ones need 'harbor backfill'. Only the count of attempts is kept in memory.
"""

import logging
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from threading import Event

import sqlalchemy as sa
import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger

from pipelines.database.engine import snapshot
from pipelines.nightly.run import NIGHTLY_LOCK
from pipelines.runs.locks import LostRunError, is_held, try_lock
from pipelines.scheduling import late_nights
from pipelines.scheduling.late_nights import RERUN_WINDOW
from pipelines.settings import Settings
from pipelines.store import demand, runs

log = structlog.get_logger()

LEADER_LOCK = 0x434C_4F43  # "CLOC"
DEADLINE = timedelta(hours=3)
"""Time after which a nightly run is stopped; the next check starts it again."""
GRACE_PERIOD_S = 60.0
"""Time between SIGTERM and SIGKILL, for the run to record its end and the database to stop."""
LEADER_POLL_S = 5.0
CLOCK_TOLERANCE = timedelta(minutes=1)
"""Time by which the clock may be set back, or the database's clock be ahead, without effect."""
CATCH_UP_MINUTES = 10
GRACE_PERIOD = timedelta(hours=6)
"""Time after which an unfinished night counts as missed; a fleet's first night is then skipped."""
MAX_ATTEMPTS = 3
"""Attempts of one scheduler to run a missed or failed night, per origin."""
MAX_LATE_ATTEMPTS = 12
"""Attempts per origin with a late feed; more than usual, because files arrive one by one."""


def utc_now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


def run_scheduler(engine: sa.Engine, settings: Settings, stopped: Event) -> None:
    """Waits until no scheduler leads, then runs the jobs until it loses the lead or is stopped.

    Raises:
      SQLAlchemyError: the database went away.
    """
    if has_leader(engine):
        log.info("standing_by", reason="another scheduler leads")
    while has_leader(engine) and not stopped.wait(LEADER_POLL_S):
        pass
    with try_lock(engine, LEADER_LOCK) as lock:
        # If another scheduler took the lock first, the caller starts over.
        if lock is not None and not stopped.is_set():
            _lead(engine, settings, lock, stopped)


def has_leader(engine: sa.Engine) -> bool:
    """Whether a scheduler is running on this database."""
    return is_held(engine, LEADER_LOCK)


def origin_at(engine: sa.Engine, settings: Settings, hour: datetime) -> date:
    """The origin of the nightly run that starts at an hour: see `Settings.origin_of`."""
    with engine.connect() as connection:
        return settings.origin_of(hour, demand.zones(connection))


def due_origin(engine: sa.Engine, settings: Settings, now: datetime) -> date | None:
    """The origin of the newest night that was due; None if it is done, or a skipped first night.

    If the last nightly run began later than now, the clock was ahead. The newest due night then
    runs again, which records the true time in the ledger: nights that were done too early no
    longer count, even if no scheduler is running when they are due.
    """
    hour = settings.last_night(now)
    with snapshot(engine) as connection:
        origin = settings.origin_of(hour, demand.zones(connection))
        nights = runs.recorded_nights(connection)
    if nights.first_origin is None and now - hour > GRACE_PERIOD:
        return None
    was_ahead = (
        nights.last_began_at is not None
        and nights.last_began_at > now + CLOCK_TOLERANCE
    )
    is_done = (
        not was_ahead
        and nights.newest_completed_origin is not None
        and nights.newest_completed_origin >= origin
    )
    return None if is_done else origin


def unpublished_origin(engine: sa.Engine, now: datetime) -> date | None:
    """The origin of the newest night that is done, if publishing its forecast failed; else None.

    None, too, once that night began more than a day ago: the next night publishes what is missing.
    """
    with engine.connect() as connection:
        night = runs.newest_night(connection, ["done"], of_newest_origin=True)
    if night is None or "unpublished" not in (night["metrics"] or {}):
        return None
    origin: date = night["origin_on"]
    return origin if now - night["started_at"] <= RERUN_WINDOW else None


class NightlyJobs:
    """Starts the nightly runs that the ledger of runs shows as due."""

    def __init__(
        self,
        engine: sa.Engine,
        settings: Settings,
        run: Callable[[Sequence[str]], int | None],
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Creates the jobs; `run` returns the exit status of a command, None if not started."""
        self._engine, self._settings, self._run, self._now = engine, settings, run, now
        self._attempts: Counter[date] = Counter()

    def start_night(self) -> None:
        """Runs the night, at its hour.

        Does nothing if the night is done and no data has arrived since.
        """
        self._attempts.clear()
        hour = self._settings.last_night(self._now())
        self._run_night(origin_at(self._engine, self._settings, hour))

    def catch_up(self) -> None:
        """Runs the newest night if it was missed or failed, or if its feed came late.

        Called every `CATCH_UP_MINUTES`. A night that failed, or could not publish its forecast,
        has up to `MAX_ATTEMPTS` attempts, including the one at its hour; then it is given up, and
        the next night does its work. A night with a late feed has up to `MAX_LATE_ATTEMPTS`.
        """
        now, limit = self._now(), MAX_ATTEMPTS
        origin = due_origin(self._engine, self._settings, now)
        if origin is None:
            origin = unpublished_origin(self._engine, now)
            if origin is not None and self._attempts[origin] >= limit:
                # Publishing is given up; a late feed is not.
                origin = None
        if origin is None:
            limit = MAX_LATE_ATTEMPTS
            origin = late_nights.late_origin_with_new_files(
                self._engine, self._settings.inbox, now
            )
        if origin is None or self._attempts[origin] >= limit:
            return
        is_last = self._run_night(origin) and self._attempts[origin] == limit
        if is_last and due_origin(self._engine, self._settings, now) == origin:
            upcoming = str(self._settings.next_night(now))
            log.warning(
                "night_given_up", origin=str(origin), attempts=limit, next=upcoming
            )

    def _run_night(self, origin: date) -> bool:
        """Runs a night; returns False if another is running: a later check then runs this one."""
        if is_held(self._engine, NIGHTLY_LOCK):
            return False
        self._attempts[origin] += 1
        command = [sys.executable, "-m", "pipelines", "nightly", "--origin"]
        status = self._run([*command, str(origin)])
        log.info("nightly_ended", origin=str(origin), status=status)
        return True


def _lead(engine: sa.Engine, settings: Settings, lock: sa.Engine, stop: Event) -> None:
    runner = SubprocessRunner(DEADLINE)
    jobs = NightlyJobs(engine, settings, runner.run)
    before = utc_now()
    scheduler = _scheduler(settings, jobs)
    scheduler.start()
    log.info("leading", next=str(settings.next_night(before)))
    try:
        while _still_holds(lock) and not stop.wait(LEADER_POLL_S):
            now = utc_now()
            if now < before - CLOCK_TOLERANCE:
                log.warning("clock_set_back", was=str(before), now=str(now))
                _add_jobs(scheduler, settings, jobs)
            before = now
    finally:
        runner.stop()
        scheduler.shutdown()


def _scheduler(settings: Settings, jobs: NightlyJobs) -> BackgroundScheduler:
    # No warning about checks that are skipped because a night is running.
    logging.getLogger("apscheduler.scheduler").setLevel(logging.ERROR)
    scheduler = BackgroundScheduler(
        timezone=settings.zone,
        # One thread, so that one night runs at a time.
        executors={"default": ThreadPoolExecutor(1)},
        job_defaults={
            "coalesce": True,
            "max_instances": 1,
            # The library would drop a job that wakes a second late.
            "misfire_grace_time": None,
        },
    )
    _add_jobs(scheduler, settings, jobs)
    return scheduler


def _add_jobs(
    scheduler: BackgroundScheduler, settings: Settings, jobs: NightlyJobs
) -> None:
    """Adds the jobs, or reschedules them.

    The library plans a job's next run when the job fires. A job that fired while the clock was
    ahead would not fire again before that later time.
    """
    # If a clock change skips the hour, the library may skip the day. If it repeats the hour,
    # the job fires twice, and the second time the night is already done.
    hour, minute = settings.nightly_at.split(":")
    at_night = CronTrigger(hour=hour, minute=minute, timezone=settings.zone)
    scheduler.add_job(jobs.start_night, at_night, id="night", replace_existing=True)
    scheduler.add_job(
        jobs.catch_up,
        "interval",
        id="catch-up",
        minutes=CATCH_UP_MINUTES,
        next_run_time=utc_now(),
        replace_existing=True,
    )


def _still_holds(lock: sa.Engine) -> bool:
    try:
        with lock.connect() as connection:
            connection.execute(sa.select(1))
    except LostRunError:
        log.warning("lead_lost", reason="the session that held the lock ended")
        return False
    return True


class SubprocessRunner:
    """Runs one command at a time, and ends it at its deadline."""

    def __init__(self, deadline: timedelta) -> None:
        self._deadline = deadline
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = Event()

    def run(self, command: Sequence[str]) -> int | None:
        """Runs a command until it ends or reaches the deadline; returns its exit status.

        If `stop` has been called, the command is not started, and None is returned.
        """
        if self._stopped.is_set():
            return None
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as self._process:  # noqa: S603 - our own program, no shell
            if self._stopped.is_set():
                terminate(self._process)
            try:
                return self._process.wait(self._deadline.total_seconds())
            except subprocess.TimeoutExpired:
                pid, deadline = self._process.pid, str(self._deadline)
                log.warning(
                    "subprocess_ended", pid=pid, reason=f"not done in {deadline}"
                )
                terminate(self._process)
                return self._process.returncode

    def stop(self) -> None:
        """Ends the running command; no command is started after that."""
        self._stopped.set()
        process = self._process
        if process is not None and process.poll() is None:
            terminate(process)


def terminate(process: subprocess.Popen[bytes]) -> None:
    """Sends SIGTERM, and SIGKILL after the grace period."""
    process.terminate()
    try:
        process.wait(GRACE_PERIOD_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
