"""Which origins know data of a time: a forecast runs in the night after its origin."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

# Data until this time of the morning after is known to an origin.
KNOWLEDGE_CUTOFF = time(12, 0)


def knowledge_cutoff(origin: date, zone: ZoneInfo) -> datetime:
    """Returns the time after which new data is not known to an origin."""
    return datetime.combine(origin + timedelta(days=1), KNOWLEDGE_CUTOFF, tzinfo=zone)


def first_origin(loaded_at: datetime, zone: ZoneInfo) -> date:
    """Returns the first origin for which data loaded at a time is known."""
    local = loaded_at.astimezone(zone)
    return local.date() - timedelta(days=1 if local.time() <= KNOWLEDGE_CUTOFF else 0)
