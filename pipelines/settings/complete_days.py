"""The newest complete local day of a fleet that spans time zones."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo


def newest_complete_day(now: datetime, zones: Mapping[str, int]) -> date:
    """The newest day that is over at half of the depots or more, by their number in each zone.

    Not at all of them: one depot far to the west, or one whose zone is mistyped, would hold the
    others a day back for ever. The day of such a depot counts once it is over there; until then
    its forecast starts from the day before.
    """
    complete_until = {
        name: now.astimezone(ZoneInfo(name)).date() - timedelta(days=1)
        for name in zones
    }

    def n_depots_complete(day: date) -> int:
        return sum(zones[name] for name in zones if complete_until[name] >= day)

    half = sum(zones.values()) / 2
    return max(day for day in complete_until.values() if n_depots_complete(day) >= half)
