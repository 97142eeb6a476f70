"""Computes the service levels from the ledger: targets, good events and error budgets.

`deploy/SERVICE_LEVELS.md` says them to people.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from pipelines.settings import Settings
from pipelines.store import demand as demand_store
from pipelines.store import service_levels as store
from pipelines.store.service_levels import Answers

WINDOWS = (30, 90)
"""Days over which they are told."""
NIGHTS_READY = 0.99
"""Share of nights whose forecast is there in time."""
ANSWERED = 0.99
"""Share of probes that the dashboard answers."""
PROBES_A_DAY = 24 * 60
QUICK_S = 1.5
QUICK = 0.95
"""Share of its answers that come within `QUICK_S`: the p95."""
READY_AFTER = timedelta(minutes=30)
"""After the night's hour, where no other is set."""


@dataclass(frozen=True)
class NightDue:
    """One night there should have been.

    Args:
      origin_on: The last day its forecast may see.
      hour_at: When it should have begun.
      ready_by: When its forecast should have been there.
      ready_at: When it was; None where it never was.
    """

    origin_on: date
    hour_at: datetime
    ready_by: datetime
    ready_at: datetime | None = None

    @property
    def is_kept(self) -> bool:
        """Whether it was there in time."""
        return self.ready_at is not None and self.ready_at <= self.ready_by


@dataclass(frozen=True)
class Level:
    """One promise over some days.

    Args:
      name: Such as forecast_ready.
      days: Over how many.
      wanted: The share promised.
      of: How many nights, or probes, there were.
      kept: In how many of them it was kept.
      whole: How many there are in so many days; a young system has had fewer.
    """

    name: str
    days: int
    wanted: float
    of: int
    kept: int
    whole: int = 0

    @property
    def share(self) -> float | None:
        """The share kept; None where there was nothing to keep."""
        return None if self.of == 0 else self.kept / self.of

    @property
    def budget_left(self) -> float | None:
        """The part of the failures allowed that is left; below 0 it is overspent."""
        if self.of == 0:
            return None
        allowed = max(self.of, self.whole) * (1 - self.wanted)
        return 1 - (self.of - self.kept) / allowed


@dataclass(frozen=True)
class Levels:
    """Every promise over some days.

    Args:
      days: Over how many.
      nights: Those that should have been ready by now, oldest first.
      answers: Of the dashboard.
    """

    days: int
    nights: tuple[NightDue, ...]
    answers: Answers

    @property
    def all(self) -> tuple[Level, ...]:
        """The promises, one by one."""
        kept = sum(night.is_kept for night in self.nights)
        days, seen, due = self.days, self.answers, len(self.nights)
        probes = days * PROBES_A_DAY
        return (
            Level("forecast_ready", days, NIGHTS_READY, due, kept, whole=days),
            Level("dashboard_up", days, ANSWERED, seen.probes, seen.answered, probes),
            Level("dashboard_quick", days, QUICK, seen.answered, seen.quick, probes),
        )


def compute(
    connection: sa.Connection, settings: Settings, now: datetime, days: int
) -> Levels:
    """Computes every level over the newest days.

    Args:
      connection: For one short transaction.
      settings: When the night runs, and when its forecast must be there.
      now: With a time zone.
      days: Nights and days looked back.
    """
    since = now - timedelta(days=days)
    nights = _nights(connection, settings, since, now)
    return Levels(days, nights, store.answers(connection, since, QUICK_S))


def due_nights(
    settings: Settings, zones: Mapping[str, int], since: datetime, now: datetime
) -> list[NightDue]:
    """The nights that should have been ready between two moments, oldest first.

    Args:
      settings: When the night runs, and when its forecast must be there.
      zones: How many active depots lie in each; the fleet's own without any.
      since: The night's hour is no earlier.
      now: Its forecast should have been there by now.
    """
    first = since.astimezone(settings.zone).date()
    last = now.astimezone(settings.zone).date()
    every = (first + timedelta(days=n) for n in range((last - first).days + 1))
    nights = (_night_of(settings, zones, day) for day in every)
    return [each for each in nights if since <= each.hour_at and each.ready_by <= now]


def _night_of(settings: Settings, zones: Mapping[str, int], day: date) -> NightDue:
    """The night that begins on a day of the fleet's own zone."""
    hour_at = settings.night_on(day)
    if settings.ready_by is None:
        ready_by = hour_at + READY_AFTER
    else:
        ready_by = _at(settings.zone, day, settings.ready_by)
        if ready_by <= hour_at:
            next_day = day + timedelta(days=1)
            ready_by = _at(settings.zone, next_day, settings.ready_by)
    return NightDue(settings.origin_of(hour_at, zones), hour_at, ready_by)


def _at(zone: ZoneInfo, day: date, clock: str) -> datetime:
    return datetime.combine(day, time.fromisoformat(clock), zone)


def _nights(
    connection: sa.Connection, settings: Settings, since: datetime, now: datetime
) -> tuple[NightDue, ...]:
    """None is due before the first that ever began."""
    first = store.first_night_at(connection)
    if first is None:
        return ()
    zones = demand_store.zones(connection)
    due = due_nights(settings, zones, max(since, first), now)
    if not due:
        return ()
    ready = store.ready_at(connection, due[0].origin_on)
    return tuple(replace(each, ready_at=ready.get(each.origin_on)) for each in due)
