"""The jobs that the leading scheduler runs: due, missed and late nightly runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import SQLAlchemyError

from forecaster.errors import HarborError
from pipelines.demand import feed_freshness
from pipelines.nightly.run import NIGHTLY_LOCK
from pipelines.runs.ledger import recorded
from pipelines.scheduling import catch_up
from pipelines.scheduling.catch_up import Due
from pipelines.scheduling.subprocess_runner import harbor_command
from pipelines.settings import Settings
from pipelines.store import nightly_runs as store
from pipelines.store.locks import HeldLock, is_free

log = structlog.get_logger()

MAX_ATTEMPTS = 3
"""Attempts per origin and scheduler; the next nightly run follows the policy."""
MAX_LATE_ATTEMPTS = 12
"""The same for a late feed, whose files arrive one by one."""

Now = Callable[[], datetime]


def utc_now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


class ScheduledJobs:
    """Starts the nightly runs that the ledger of runs shows as due."""

    def __init__(
        self,
        engine: sa.Engine,
        settings: Settings,
        lock: HeldLock,
        run: Callable[[list[str]], int],
        now: Now = utc_now,
    ) -> None:
        """Creates the jobs.

        Args:
          engine: Database the pipelines own.
          settings: Time of the nightly run, and the policy for missed ones.
          lock: The leader's lock, needed to record anything.
          run: Runs a command to its end and returns its exit status.
          now: Returns the current time, with a time zone.
        """
        self._engine, self._settings, self._lock = engine, settings, lock
        self._run, self._now = run, now
        self._attempts: dict[date, int] = {}
        self._recorded: set[date] = set()

    def run_due(self) -> None:
        """Runs missed nightly runs by policy, then the due one; called at its time."""
        with _errors_logged():
            hour = catch_up.last_nightly(self._settings, self._now())
            origin = catch_up.origin_at(self._engine, self._settings, hour)
            self._attempts.clear()
            self._run_missed(exclude=origin)
            self._run_nightly(origin)

    def poll(self) -> None:
        """Runs missed and failed nightly runs, and one whose feed came late."""
        with _errors_logged():
            if self._is_nightly_running():
                return
            self._run_missed()
            self._run_late()

    def _is_nightly_running(self) -> bool:
        with self._engine.connect() as connection:
            return not is_free(connection, NIGHTLY_LOCK)

    def _run_missed(self, exclude: date | None = None) -> None:
        due = catch_up.find_due(self._engine, self._settings, self._now())
        if not due.missed <= self._recorded:
            self._record_policy(due)
        for origin in due.run:
            if origin != exclude and self._attempts.get(origin, 0) < MAX_ATTEMPTS:
                self._run_nightly(origin)

    def _run_late(self) -> None:
        origin = feed_freshness.late_night_with_news(
            self._engine, self._settings.inbox, self._now()
        )
        if origin is not None and self._attempts.get(origin, 0) < MAX_LATE_ATTEMPTS:
            self._run_nightly(origin)

    def _run_nightly(self, origin: date) -> None:
        self._attempts[origin] = self._attempts.get(origin, 0) + 1
        status = self._run(
            harbor_command("nightly", "--origin", str(origin), "--exit-with-parent")
        )
        log.info("nightly_ended", origin=str(origin), status=status)

    def _record_policy(self, due: Due) -> None:
        policy = self._settings.missed_nights
        self._recorded |= due.missed
        with recorded(self._engine, "schedule", lock=self._lock) as run:
            reason = (
                "No scheduler ran at its hour, or it failed, and the policy for missed "
                f"nights is {policy!r}. 'harbor nightly --origin DAY' runs it."
            )
            with run.engine.begin() as connection:
                store.leave_out(connection, list(due.leave_out), run.run_id, reason)
            run.metrics |= {
                "policy": policy,
                "run": [str(day) for day in due.run],
                "left_out": [str(day) for day in due.leave_out],
            }


@contextmanager
def _errors_logged() -> Iterator[None]:
    """Logs errors, such as a lost database; the next poll finds what is due."""
    try:
        yield
    except (SQLAlchemyError, HarborError) as error:
        log.warning("poll_failed", reason=str(error).strip().splitlines()[0])
