"""Reads a monitoring snapshot from the database, or the reason why it cannot be read."""

from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from forecaster.errors import DatabaseError
from pipelines.database import migrate
from pipelines.database.engine import (
    UNREACHABLE_ADVICE,
    connection_error_message,
    snapshot,
)
from pipelines.forecasting.live_accuracy import LOOK_BACK_DAYS
from pipelines.monitoring import service_levels
from pipelines.monitoring.service_levels import Levels
from pipelines.runs.error_messages import describe_error
from pipelines.runs.locks import is_free
from pipelines.scheduling import schedule
from pipelines.settings import Settings
from pipelines.store import accuracy, feed_freshness
from pipelines.store import monitoring as store
from pipelines.store.accuracy import PartScores

log = structlog.get_logger()

MONTH = timedelta(days=30)
SLOW_PAUSE = timedelta(minutes=5)
"""Between two slow looks, whatever happens: a night has the database first."""
SLOW_ANEW = timedelta(hours=1)
"""After so long the slow look is taken again, although nothing seems to have happened."""
SLOW_SECONDS = 60
PARTS = ("city", "horizon")
CHANGE = ("ingest", "demand", "score")
"""Steps that change what the slow look reads."""

Runs = dict[str, dict[str, dict[str, Any]]]
"""Of each step the newest run in each state."""


@dataclass(frozen=True)
class SlowSnapshot:
    """What takes longer to read, and is read anew only after something came or was scored.

    Args:
      key: What the ledger said when it was read.
      read_at: When.
      rows: Counts of rows and files.
      accuracy: Of what was shown and both baselines.
      parts: Of what was shown, by city and by day ahead, as sums.
      late: Depots that lack the day that is due.
      oldest_on: The newest day of the late depot that is furthest behind.
    """

    key: tuple[object, ...]
    read_at: datetime
    rows: dict[str, int]
    accuracy: list[dict[str, Any]]
    parts: dict[str, list[PartScores]]
    late: int
    oldest_on: date | None


@dataclass(frozen=True)
class Snapshot:
    """What was seen at one moment.

    Args:
      at: When, with a time zone.
      trouble: Why nothing else is known, in one sentence; None where all is.
      schema_is_current: Whether the tables are this program's; None where not known.
    """

    at: datetime
    trouble: str | None = None
    schema_is_current: bool | None = None
    runs: Runs = field(default_factory=dict)
    tallies: dict[str, Any] = field(default_factory=dict)
    backfills: dict[str, dict[str, int]] = field(default_factory=dict)
    compiling: tuple[int, int, int] | None = None
    scheduler_leads: bool = False
    due_on: date | None = None
    levels: tuple[Levels, ...] = ()
    slow: SlowSnapshot | None = None

    def metrics(self, step: str) -> dict[str, Any] | None:
        """What the newest run of a step that was done counted; None without one."""
        done = self.runs.get(step, {}).get("done")
        return None if done is None else done["metrics"]

    @property
    def not_ready(self) -> str | None:
        """Why nobody should be sent here yet; None where they may."""
        if self.trouble is not None:
            return self.trouble
        if self.tallies["origin_on"] is None:
            return "There is no forecast yet. Run 'harbor train' and 'harbor forecast'."
        return None


def take(
    engine: sa.Engine, settings: Settings, now: datetime, before: SlowSnapshot | None
) -> Snapshot:
    """Looks at the database; never raises because of what it finds there.

    Args:
      engine: One that only reads.
      settings: Say what is due, and when.
      now: With a time zone.
      before: What need not be read anew unless something has happened.
    """
    try:
        migrate.require_current(engine)
        with snapshot(engine) as connection:
            seen = _read(connection, settings, now)
    except DatabaseError as error:
        return Snapshot(now, str(error), schema_is_current=False)
    except OperationalError as error:
        return Snapshot(
            now,
            f"The database does not answer: {connection_error_message(error)}. "
            f"{UNREACHABLE_ADVICE}.",
        )
    except SQLAlchemyError as error:
        return Snapshot(now, describe_error(error))
    return replace(seen, slow=_slow(engine, seen, before))


def _read(connection: sa.Connection, settings: Settings, now: datetime) -> Snapshot:
    tallies = store.tallies(connection)
    due_on = settings.due_on(now, tallies["zones"] or {})
    return Snapshot(
        now,
        schema_is_current=True,
        runs=_by_step(store.newest_runs(connection)),
        tallies=tallies,
        backfills=store.open_backfills(connection),
        compiling=store.compiling(connection, now - MONTH),
        scheduler_leads=not is_free(connection, schedule.LEADER_LOCK),
        due_on=due_on,
        levels=tuple(
            service_levels.compute(connection, settings, now, days)
            for days in service_levels.WINDOWS
        ),
    )


def _slow(
    engine: sa.Engine, seen: Snapshot, before: SlowSnapshot | None
) -> SlowSnapshot | None:
    """Read in a transaction of its own: one that takes too long takes nothing else away."""
    done = (seen.runs.get(step, {}).get("done") for step in CHANGE)
    key = (
        seen.tallies["file_at"],
        seen.due_on,
        *(run and run["run_id"] for run in done),
    )
    if before is not None:
        age = seen.at - before.read_at
        if age < SLOW_PAUSE or (before.key == key and age < SLOW_ANEW):
            return before
    assert seen.due_on is not None, "it was looked at"
    try:
        with snapshot(engine) as connection:
            connection.execute(
                sa.text(f"set local statement_timeout = '{SLOW_SECONDS}s'")
            )
            return _read_slow(connection, key, seen.at, seen.due_on)
    except SQLAlchemyError as error:
        log.warning("slow_look_failed", reason=describe_error(error))
        return before


def _read_slow(
    connection: sa.Connection, key: tuple[object, ...], at: datetime, due_on: date
) -> SlowSnapshot:
    cities = feed_freshness.by_city(connection, due_on)
    return SlowSnapshot(
        key,
        at,
        rows=store.rows_and_files(connection),
        accuracy=accuracy.whole_fleet(connection, LOOK_BACK_DAYS),
        parts={
            part: accuracy.by_part(connection, part, LOOK_BACK_DAYS) for part in PARTS
        },
        late=sum(city.late for city in cities),
        oldest_on=feed_freshness.oldest_day(connection, due_on),
    )


def _by_step(found: list[dict[str, Any]]) -> Runs:
    runs: Runs = {}
    for run in found:
        runs.setdefault(run["step"], {})[run["state"]] = run
    return runs
