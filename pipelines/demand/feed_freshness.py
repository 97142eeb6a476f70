"""Depots whose orders of the origin's day are missing."""

from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from forecaster.errors import shortened_list
from pipelines.store import late_depots


@dataclass(frozen=True)
class Lateness:
    """Late depots by city: those without demand on their last open day up to `day_on`.

    `expected` counts the depots that were open and had reported in the two weeks before;
    `in_part` counts the late depots some of whose orders have arrived; `missing_days` is the
    number of open days without a count, up to `day_on`, by late depot.
    """

    day_on: date
    expected: int
    late_depots: dict[str, int]
    in_part: int
    missing_days: dict[str, int]

    @property
    def n_late(self) -> int:
        """Number of late depots."""
        return sum(self.late_depots.values())

    @property
    def is_late(self) -> bool:
        """Whether any depot is late."""
        return self.n_late > 0

    def metrics(self) -> dict[str, Any]:
        """Returns metrics that mark a run's forecast as made with depots late; {} if none is."""
        if not self.is_late:
            return {}
        return {"late_depots": self.n_late, "late_cities": dict(self.late_depots)}

    def sentence(self) -> str:
        """Returns a sentence on the late depots and what to do."""
        cities = [f"{city} ({number})" for city, number in self.late_depots.items()]
        if not self.in_part:
            how = "have not come"
        elif self.in_part < self.n_late:
            how = f"have not come, or only in part ({self.in_part}),"
        else:
            how = "have come only in part"
        return (
            f"The orders due by {self.day_on} {how} from {self.n_late} of "
            f"{self.expected} depots: {shortened_list(cities)}. The forecast "
            "was made from what there is; put the file into the inbox, and run 'harbor "
            "nightly' again if no scheduler does."
        )


def read_lateness(connection: sa.Connection, origin: date) -> Lateness:
    """Reads which depots are late on the origin's day; see `schema.depot_freshness`."""
    expected = late_depots.expected(connection, origin)
    late = [each for each in expected if each.is_late]
    return Lateness(
        origin,
        expected=len(expected),
        late_depots=dict(Counter(each.city for each in late)),
        in_part=sum(each.is_in_part for each in late),
        missing_days={each.depot_id: each.missing for each in late},
    )
