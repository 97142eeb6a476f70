"""Which nightly runs are due: the newest, and by policy those that were missed.

Only the ledger of runs decides, so it does not matter which scheduler checks, or for how
long none was running.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import assert_never

import sqlalchemy as sa

from pipelines.database.engine import snapshot
from pipelines.settings import Settings
from pipelines.settings.nightly import MissedNights
from pipelines.store import demand as demand_store
from pipelines.store import nightly_runs as store
from pipelines.store.nightly_runs import NightsKept

GRACE_PERIOD = timedelta(hours=6)
"""A nightly run that starts within this period is late, not missed."""
DAYS_AHEAD = 366
MAX_CATCH_UP = 31
"""Missed nightly runs to catch up with; nobody would see the forecasts of older ones."""


@dataclass(frozen=True)
class Due:
    """Origins without a nightly run, divided by policy; oldest first.

    Args:
      run: Origins to run.
      leave_out: Origins to skip.
      on_time: The origin in `run` that is late but within the grace period.
    """

    run: tuple[date, ...] = ()
    leave_out: tuple[date, ...] = ()
    on_time: date | None = None

    @property
    def missed(self) -> set[date]:
        """Missed origins: all but the one within the grace period."""
        return {*self.run, *self.leave_out} - {self.on_time}


def nightly_at(settings: Settings, day: date) -> datetime:
    """When the nightly run of a local day starts, in the fleet's time zone.

    A time that a clock change skips is moved forward by the change; of a time that occurs
    twice, the first is used. So every day has exactly one nightly run.
    """
    local = datetime.combine(day, time(), settings.zone) + settings.night_after_midnight
    return local.astimezone(UTC).astimezone(settings.zone)


def next_nightly(settings: Settings, now: datetime) -> datetime:
    """When the next nightly run starts, in the fleet's time zone."""
    today = now.astimezone(settings.zone).date()
    starts = (nightly_at(settings, today + timedelta(days=n)) for n in range(-1, 3))
    # In UTC: times in one zone compare by wall clock, which a clock change sets back.
    return next(start for start in starts if start.astimezone(UTC) >= now)


def last_nightly(settings: Settings, now: datetime) -> datetime:
    """When the newest nightly run should have started, in the fleet's time zone."""
    today = now.astimezone(settings.zone).date()
    starts = (nightly_at(settings, today - timedelta(days=n)) for n in range(-1, 3))
    return next(start for start in starts if start.astimezone(UTC) <= now)


def nights_at_clock_change(settings: Settings, now: datetime) -> list[datetime]:
    """Nightly runs of the next year whose local time is skipped or occurs twice."""
    first = next_nightly(settings, now).date()
    starts = [
        nightly_at(settings, first + timedelta(days=n)) for n in range(DAYS_AHEAD)
    ]
    return [start for start in starts if _is_at_clock_change(settings, start)]


def _is_at_clock_change(settings: Settings, start: datetime) -> bool:
    wall = timedelta(hours=start.hour, minutes=start.minute)
    occurs_twice = start.utcoffset() != start.replace(fold=1).utcoffset()
    return wall != settings.night_after_midnight or occurs_twice


def origin_at(engine: sa.Engine, settings: Settings, hour: datetime) -> date:
    """The origin of the nightly run that starts at an hour: see `Settings.origin_of`."""
    with engine.connect() as connection:
        return _origin_at(connection, settings, hour)


def _origin_at(connection: sa.Connection, settings: Settings, hour: datetime) -> date:
    return settings.origin_of(hour, demand_store.zones(connection))


def find_due(engine: sa.Engine, settings: Settings, now: datetime) -> Due:
    """Compares the nightly runs there should be with those recorded.

    Args:
      engine: Database the pipelines own.
      settings: Time of the nightly run, and the policy for missed ones.
      now: With a time zone.
    """
    hour = last_nightly(settings, now)
    with snapshot(engine) as connection:
        newest = _origin_at(connection, settings, hour)
        recorded = store.nights_kept(connection)
    on_time = now - hour <= GRACE_PERIOD
    missing = missing_origins(recorded, newest, on_time)
    return apply_policy(missing, newest if on_time else None, settings.missed_nights)


def missing_origins(recorded: NightsKept, newest: date, on_time: bool) -> list[date]:
    """Origins without a nightly run since the newest that had one, oldest first.

    Args:
      recorded: The nightly runs recorded.
      newest: Origin of the newest nightly run there should be.
      on_time: Whether that run is within the grace period; if no nightly run was ever
        started, none before it was missed.
    """
    if recorded.settled_on is not None:
        first = recorded.settled_on + timedelta(days=1)
    elif recorded.first_on is not None:
        first = recorded.first_on
    else:
        first = newest if on_time else newest + timedelta(days=1)
    first = max(first, newest - timedelta(days=MAX_CATCH_UP - 1))
    return [first + timedelta(days=day) for day in range((newest - first).days + 1)]


def apply_policy(
    missing: list[date], on_time: date | None, policy: MissedNights
) -> Due:
    """Decides which missing origins are run, from the policy; no I/O.

    Args:
      missing: Origins without a nightly run, oldest first.
      on_time: The one among them that is within the grace period, if any.
      policy: Policy for missed nightly runs.
    """
    match policy:
        case "all":
            run = missing
        case "latest":
            run = missing[-1:]
        case "skip":
            run = [origin for origin in missing if origin == on_time]
        case _:
            assert_never(policy)
    skipped = [origin for origin in missing if origin not in run]
    return Due(tuple(run), tuple(skipped), on_time)
