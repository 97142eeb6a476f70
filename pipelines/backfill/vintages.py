"""Groups origins by data vintage: within a group, panels differ by later days only."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from forecaster.inference.predict import MAX_ORIGINS
from pipelines.demand.panels import noon_after


@dataclass(frozen=True)
class Correction:
    """Revised counts: when they became known, and the earliest day they revise."""

    known_at: datetime
    earliest_on: date


@dataclass(frozen=True)
class VintageChanges:
    """Data that became known later than each day's first count.

    Attributes:
      corrections: Revised counts, in the order of `known_at`.
      announced: First origins that knew of an event or of its revision.
      zone: The fleet's time zone.
    """

    corrections: Sequence[Correction]
    announced: frozenset[date]
    zone: ZoneInfo

    def changes_between(self, origin: date, later: date) -> bool:
        """Whether the later origin has other data for the days up to the earlier one."""
        announced = any(origin < day <= later for day in self.announced)
        known_at = [correction.known_at for correction in self.corrections]
        first = bisect_right(known_at, noon_after(origin, self.zone))
        end = bisect_right(known_at, noon_after(later, self.zone))
        return announced or any(
            correction.earliest_on <= origin
            for correction in self.corrections[first:end]
        )


def group_by_vintage(
    origins: Sequence[date], changes: VintageChanges, max_days: int = MAX_ORIGINS
) -> list[list[date]]:
    """Groups consecutive origins that have the same data for their common past.

    The panel of a group's last origin, cut at another of its origins, equals the panel of
    that origin.

    Args:
      origins: Origins, earliest first.
      changes: Corrections and announcements, by the time they became known.
      max_days: Days that a group may span.
    """
    groups: list[list[date]] = []
    for origin in origins:
        if (
            groups
            and (origin - groups[-1][0]).days < max_days
            and not changes.changes_between(groups[-1][-1], origin)
        ):
            groups[-1].append(origin)
        else:
            groups.append([origin])
    return groups
