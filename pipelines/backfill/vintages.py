"""Which origins knew the same: their panels differ by later days only."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from forecaster.inference.predict import MOST_ORIGINS
from pipelines.demand.panels import knowledge_cutoff


@dataclass(frozen=True)
class Correction:
    """Counts that became known after the first: when, and the earliest day they are of."""

    known_at: datetime
    earliest_on: date


@dataclass(frozen=True)
class Learnt:
    """What became known in the course of time, beside each day's first count.

    Attributes:
      corrections: In the order of `known_at`.
      announced: Origins that were the first to know of an event, or of its correction.
      zone: The fleet's own.
    """

    corrections: Sequence[Correction]
    announced: frozenset[date]
    zone: ZoneInfo

    def changes_between(self, origin: date, later: date) -> bool:
        """Whether the later origin knows anything else of the earlier one's past."""
        told = any(origin < day <= later for day in self.announced)
        moments = [correction.known_at for correction in self.corrections]
        first = bisect_right(moments, knowledge_cutoff(origin, self.zone))
        end = bisect_right(moments, knowledge_cutoff(later, self.zone))
        return told or any(
            correction.earliest_on <= origin
            for correction in self.corrections[first:end]
        )


def stretches(
    origins: Sequence[date], learnt: Learnt, most: int = MOST_ORIGINS
) -> list[list[date]]:
    """Cuts origins where one learns what the one before it did not know.

    The panel of a stretch's last origin, cut at another of its origins, is the panel of
    that one.

    Args:
      origins: In order.
      learnt: What became known when.
      most: Days a stretch may span.
    """
    found: list[list[date]] = []
    for origin in origins:
        if (
            found
            and (origin - found[-1][0]).days < most
            and not learnt.changes_between(found[-1][-1], origin)
        ):
            found[-1].append(origin)
        else:
            found.append([origin])
    return found
