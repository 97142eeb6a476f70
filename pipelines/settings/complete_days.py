"""Which local day is over, in all the zones a fleet lies in."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo


def newest_whole_day(moment: datetime, zones: Mapping[str, int]) -> date:
    """The newest day that is over at half of the depots or more.

    Not at all of them: one depot far to the west, or one whose zone is mistyped, would
    hold the others a day back for ever. The day of such a depot counts once it is over
    there; until then its forecast starts from the day before.

    Args:
      moment: With a time zone.
      zones: How many depots lie in each zone; at least one.
    """
    over = {
        name: moment.astimezone(ZoneInfo(name)).date() - timedelta(days=1)
        for name in zones
    }

    def depots_past(day: date) -> int:
        return sum(zones[name] for name in zones if over[name] >= day)

    half = sum(zones.values()) / 2
    return max(day for day in over.values() if depots_past(day) >= half)
