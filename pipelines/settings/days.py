"""The newest complete day of a fleet across time zones, and the first origin that may use data."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

KNOWLEDGE_CUTOFF = time(12, 0)
"""Data loaded by this time on the day after an origin counts as known to that origin, whose
forecast runs early that day."""


def newest_complete_day(now: datetime, zones: Mapping[str, int]) -> date:
    """Returns the newest day that is over at half of the depots or more; `zones` counts them by zone.

    Not all depots are required: one far to the west, or one with a mistyped zone, would hold the
    others back by a day for ever. A day of such a depot is counted once it is over there; until
    then its forecast starts from the day before.
    """
    complete_until = {
        name: now.astimezone(ZoneInfo(name)).date() - timedelta(days=1)
        for name in zones
    }

    def n_depots_complete(day: date) -> int:
        return sum(zones[name] for name in zones if complete_until[name] >= day)

    half = sum(zones.values()) / 2
    return max(day for day in complete_until.values() if n_depots_complete(day) >= half)


def knowledge_cutoff(origin: date, zone: ZoneInfo) -> datetime:
    """Returns the time after which new data is not known to an origin."""
    return datetime.combine(origin + timedelta(days=1), KNOWLEDGE_CUTOFF, tzinfo=zone)


def first_origin(loaded_at: datetime, zone: ZoneInfo) -> date:
    """Returns the first origin for which data loaded at a time is known."""
    local = loaded_at.astimezone(zone)
    return local.date() - timedelta(days=1 if local.time() <= KNOWLEDGE_CUTOFF else 0)
