"""The newest nightly run whose forecast should be ready, with its deadline."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from pipelines.settings import Settings

READY_AFTER = timedelta(minutes=30)
"""Time from the start of a night to its deadline, if HARBOR_READY_BY is not set."""
MAX_DAYS_BACK = 2
"""A deadline is at most a day after the start of its night, which is at most today's."""


@dataclass(frozen=True)
class DueNight:
    """A nightly run that was due; its forecast may see no day after `origin_on`."""

    origin_on: date
    starts_at: datetime
    ready_by: datetime


def newest_due_night(
    settings: Settings, zones: Mapping[str, int], now: datetime
) -> DueNight:
    """The newest night whose deadline has passed, by the active depots of each zone."""
    today = now.astimezone(settings.zone).date()
    days = (today - timedelta(days=n) for n in range(MAX_DAYS_BACK + 1))
    nights = (_night_of(settings, zones, day) for day in days)
    return next(night for night in nights if night.ready_by <= now)


def _night_of(settings: Settings, zones: Mapping[str, int], day: date) -> DueNight:
    """The night that begins on a day of the fleet's own zone."""
    starts_at = settings.night_on(day)
    origin_on = settings.origin_of(starts_at, zones)
    if settings.ready_by is None:
        return DueNight(origin_on, starts_at, starts_at + READY_AFTER)
    clock = time.fromisoformat(settings.ready_by)
    ready_by = datetime.combine(day, clock, settings.zone)
    if ready_by <= starts_at:
        ready_by = datetime.combine(day + timedelta(days=1), clock, settings.zone)
    return DueNight(origin_on, starts_at, ready_by)
