"""Which local day is over, in all the zones a fleet lies in."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo


def newest_whole_day(moment: datetime, zones: Iterable[ZoneInfo]) -> date:
    """The newest day that is over in every one of the zones.

    Where it is still evening, that is the day before yesterday of a place to the east.

    Args:
      moment: With a time zone.
      zones: At least one.
    """
    today = min(moment.astimezone(zone).date() for zone in zones)
    return today - timedelta(days=1)
