"""Which nights are due now: the newest, and by policy those that were missed.

The ledger alone knows what has run, so it does not matter which scheduler asks, or how
long none did.
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

ON_TIME = timedelta(hours=6)
"""A night that begins so late after its hour is late, not missed."""
A_YEAR = 366
MOST_MISSED = 31
"""Nights that are caught up with at most; of older ones nobody would see the forecast."""


@dataclass(frozen=True)
class Due:
    """Origins without a night, and what is to become of them; oldest first.

    Args:
      run: Those whose night is to be run.
      leave_out: Those that go without.
      on_time: Of the first, the one whose hour is not long past: it was not missed.
    """

    run: tuple[date, ...] = ()
    leave_out: tuple[date, ...] = ()
    on_time: date | None = None

    @property
    def missed(self) -> set[date]:
        """Origins about which the policy decided."""
        return {*self.run, *self.leave_out} - {self.on_time}


def nightly_at(settings: Settings, day: date) -> datetime:
    """When the night of a local day runs, in the fleet's own zone.

    An hour that the clocks leave out is taken as much later as they go forward; of one
    that comes twice, the first. So every day has one night.
    """
    asked = datetime.combine(day, time(), settings.zone) + settings.night_after_midnight
    return asked.astimezone(UTC).astimezone(settings.zone)


def next_nightly(settings: Settings, now: datetime) -> datetime:
    """The next moment, from now on, at which the night runs; in the fleet's own zone."""
    today = now.astimezone(settings.zone).date()
    nights = (nightly_at(settings, today + timedelta(days=n)) for n in range(-1, 3))
    # In UTC: times of one zone are compared by the wall clock, which a change sets back.
    return next(night for night in nights if night.astimezone(UTC) >= now)


def last_nightly(settings: Settings, now: datetime) -> datetime:
    """The newest moment up to now at which a night should have begun."""
    today = now.astimezone(settings.zone).date()
    nights = (nightly_at(settings, today - timedelta(days=n)) for n in range(-1, 3))
    return next(night for night in nights if night.astimezone(UTC) <= now)


def nights_at_clock_change(settings: Settings, now: datetime) -> list[datetime]:
    """Nights of the year ahead whose hour the clocks leave out, or bring twice."""
    first = next_nightly(settings, now).date()
    nights = [nightly_at(settings, first + timedelta(days=n)) for n in range(A_YEAR)]
    return [night for night in nights if _is_odd(settings, night)]


def _is_odd(settings: Settings, night: datetime) -> bool:
    wall = timedelta(hours=night.hour, minutes=night.minute)
    comes_twice = night.utcoffset() != night.replace(fold=1).utcoffset()
    return wall != settings.night_after_midnight or comes_twice


def origin_at(engine: sa.Engine, settings: Settings, hour: datetime) -> date:
    """The origin of a night of that hour: see `Settings.origin_of`."""
    with engine.connect() as connection:
        return _origin_at(connection, settings, hour)


def _origin_at(connection: sa.Connection, settings: Settings, hour: datetime) -> date:
    return settings.origin_of(hour, demand_store.zones(connection))


def find_due(engine: sa.Engine, settings: Settings, now: datetime) -> Due:
    """Compares the nights there should be with those that the ledger has.

    Args:
      engine: Database the pipelines own.
      settings: When the night runs, and what becomes of missed ones.
      now: With a time zone.
    """
    hour = last_nightly(settings, now)
    with snapshot(engine) as connection:
        newest = _origin_at(connection, settings, hour)
        kept = store.nights_kept(connection)
    on_time = now - hour <= ON_TIME
    missing = missing_origins(kept, newest, on_time)
    return decide(missing, newest if on_time else None, settings.missed_nights)


def missing_origins(kept: NightsKept, newest: date, on_time: bool) -> list[date]:
    """Origins without a night since the newest that had one, oldest first.

    Args:
      kept: What the ledger has.
      newest: Of the newest night there should be.
      on_time: Whether that night is not missed yet; where none was ever begun, nothing
        was missed before it.
    """
    if kept.settled_on is not None:
        first = kept.settled_on + timedelta(days=1)
    elif kept.first_on is not None:
        first = kept.first_on
    else:
        first = newest if on_time else newest + timedelta(days=1)
    first = max(first, newest - timedelta(days=MOST_MISSED - 1))
    return [first + timedelta(days=day) for day in range((newest - first).days + 1)]


def decide(missing: list[date], on_time: date | None, policy: MissedNights) -> Due:
    """The rule alone.

    Args:
      missing: Origins without a night, oldest first.
      on_time: Of these, the one whose night is late and not missed, if there is one.
      policy: What becomes of the others.
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
    left_out = [origin for origin in missing if origin not in run]
    return Due(tuple(run), tuple(left_out), on_time)
