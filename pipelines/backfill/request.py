"""What somebody asks of a backfill, checked at the door."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Any, Self

import sqlalchemy as sa

from forecaster.errors import BadInputError, NoDataError
from pipelines.store import backfill_inputs as ground

STEPS = ("ingest", "demand", "train", "forecast", "score")
"""In the order in which they are done."""
USUAL = ("forecast", "score")
ONLY = ("missing", "failed", "all")


@dataclass(frozen=True)
class BackfillRequest:
    """Which origins, for whom, which steps, and which of the slots.

    Args:
      first: First origin.
      last: Last origin.
      depots: Ids whose forecasts are written; with `cities`, none means every depot.
      cities: Whose depots are.
      what: Steps, of `STEPS`.
      only: Slots without a forecast, slots that failed last time, or all of them.
      newest_first: Whether the last origin is forecast first.

    Raises:
      BadInputError: `last` lies before `first`, or a word is unknown.
    """

    first: date
    last: date
    depots: tuple[str, ...] = ()
    cities: tuple[str, ...] = ()
    what: tuple[str, ...] = USUAL
    only: str = "missing"
    newest_first: bool = False

    def __post_init__(self) -> None:
        """Checks at the door."""
        if self.last < self.first:
            raise BadInputError(
                f"--to is {self.last}, but must not lie before --from ({self.first}). "
                "Swap them."
            )
        if strange := [step for step in self.what if step not in STEPS]:
            raise BadInputError(
                f"--what names {', '.join(strange)}, but its steps are "
                f"{', '.join(STEPS)}. Choose from these."
            )
        if not self.what:
            raise BadInputError(
                f"--what is empty. Choose from {', '.join(STEPS)}, as in --what "
                f"{','.join(USUAL)}."
            )
        if self.only not in ONLY:
            raise BadInputError(
                f"--only is {self.only!r}, but must be one of {', '.join(ONLY)}."
            )

    @property
    def origins(self) -> list[date]:
        """In the order in which they are wanted."""
        days = range((self.last - self.first).days + 1)
        found = [self.first + timedelta(days=day) for day in days]
        return found[::-1] if self.newest_first else found

    def depot_ids(self, connection: sa.Connection) -> list[str] | None:
        """Depots whose forecasts are written; None for every depot.

        Raises:
          NoDataError: a depot is unknown, or a city has none.
        """
        if not (self.depots or self.cities):
            return None
        for depot in self.depots:
            if not ground.chosen_depots(connection, [depot], []):
                raise NoDataError(f"There is no depot {depot!r}. Check --depot.")
        for city in self.cities:
            if not ground.chosen_depots(connection, [], [city]):
                raise NoDataError(f"There is no depot in {city!r}. Check --city.")
        return ground.chosen_depots(connection, self.depots, self.cities)

    def to_json(self) -> dict[str, Any]:
        """For the plan's row."""
        days = {"first": self.first.isoformat(), "last": self.last.isoformat()}
        return asdict(self) | days

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """As `to_json` wrote it."""
        return cls(
            first=date.fromisoformat(kept["first"]),
            last=date.fromisoformat(kept["last"]),
            depots=tuple(kept["depots"]),
            cities=tuple(kept["cities"]),
            what=tuple(kept["what"]),
            only=kept["only"],
            newest_first=kept["newest_first"],
        )
