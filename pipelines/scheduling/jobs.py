"""What the leader does when its clock strikes; whatever is due, the ledger says."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import SQLAlchemyError

from forecaster.errors import HarborError
from pipelines.demand import feed_freshness
from pipelines.nightly.run import NIGHT_LOCK
from pipelines.runs.ledger import recorded
from pipelines.scheduling import catch_up
from pipelines.scheduling.catch_up import Due
from pipelines.scheduling.subprocess_runner import harbor
from pipelines.settings import Settings
from pipelines.store import nightly_runs as store
from pipelines.store.locks import HeldLock, is_free

log = structlog.get_logger()

MOST_TRIES = 3
"""Of one origin by one scheduler; the next night tries no more than the policy says."""
MOST_LATE_TRIES = 12
"""The same where a feed is late: its files come one by one, and some are broken."""

Now = Callable[[], datetime]


def utc_now() -> datetime:
    """The time, with a zone."""
    return datetime.now(UTC)


class Clock:
    """What the leader does when its clock strikes; whatever is due, the ledger says."""

    def __init__(
        self,
        engine: sa.Engine,
        settings: Settings,
        lock: HeldLock,
        run: Callable[[list[str]], int],
        now: Now = utc_now,
    ) -> None:
        """Nothing is done yet.

        Args:
          engine: Database the pipelines own.
          settings: When the night runs, and what becomes of missed ones.
          lock: The leader's; without it nothing is written down.
          run: Runs a command to its end, and gives its exit status.
          now: The time, with a zone.
        """
        self._engine, self._settings, self._lock = engine, settings, lock
        self._run, self._now = run, now
        self._tries: dict[date, int] = {}
        self._written_down: set[date] = set()

    def strike(self) -> None:
        """At the night's hour: what was missed by policy, and the night in any case."""
        with _warned():
            hour = catch_up.last_hour(self._settings, self._now())
            origin = catch_up.origin_at(self._engine, self._settings, hour)
            self._tries.clear()
            self._run_missed(but=origin)
            self._run_night(origin)

    def look(self) -> None:
        """Between the nights: those missed or failed, and one whose feed came late."""
        with _warned():
            if self._a_night_runs():
                return
            self._run_missed()
            self._run_late()

    def _a_night_runs(self) -> bool:
        with self._engine.connect() as connection:
            return not is_free(connection, NIGHT_LOCK)

    def _run_missed(self, but: date | None = None) -> None:
        due = catch_up.find_due(self._engine, self._settings, self._now())
        if not due.missed <= self._written_down:
            self._write_down(due)
        for origin in due.run:
            if origin != but and self._tries.get(origin, 0) < MOST_TRIES:
                self._run_night(origin)

    def _run_late(self) -> None:
        origin = feed_freshness.late_origin_with_new_files(
            self._engine, self._settings.inbox, self._now()
        )
        if origin is not None and self._tries.get(origin, 0) < MOST_LATE_TRIES:
            self._run_night(origin)

    def _run_night(self, origin: date) -> None:
        self._tries[origin] = self._tries.get(origin, 0) + 1
        status = self._run(harbor("nightly", "--origin", str(origin), "--leash"))
        log.info("nightly_ended", origin=str(origin), status=status)

    def _write_down(self, due: Due) -> None:
        policy = self._settings.missed_nights
        self._written_down |= due.missed
        with recorded(self._engine, "schedule", lock=self._lock) as run:
            reason = (
                "No scheduler ran at its hour, or it failed, and the policy for missed "
                f"nights is {policy!r}. 'harbor nightly --origin DAY' runs it."
            )
            with run.engine.begin() as connection:
                store.leave_out(connection, list(due.leave_out), run.run_id, reason)
            run.counts |= {
                "policy": policy,
                "run": [str(day) for day in due.run],
                "left_out": [str(day) for day in due.leave_out],
            }


@contextmanager
def _warned() -> Iterator[None]:
    """The clock goes on when the database is away; the next look finds what is due."""
    try:
        yield
    except (SQLAlchemyError, HarborError) as error:
        log.warning("look_failed", reason=str(error).strip().splitlines()[0])
