"""The validated request of a backfill: origins, depots and steps."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Any, Self

import sqlalchemy as sa

from forecaster.errors import BadInputError, NoDataError
from pipelines.store import backfill_inputs

STEPS = ("ingest", "demand", "train", "forecast", "score")
"""Steps of a backfill, in execution order."""
DEFAULT_STEPS = ("forecast", "score")
ONLY = ("missing", "failed", "all")


@dataclass(frozen=True)
class BackfillRequest:
    """A request for a backfill: origins, depots, steps and slots.

    Args:
      first: First origin.
      last: Last origin.
      depots: Ids of the depots to forecast; every depot if `cities` is empty too.
      cities: Cities whose depots are forecast as well.
      what: Steps, from `STEPS`.
      only: Slots to run: `missing` a forecast, `failed` last time, or `all`.
      newest_first: Whether the newest origin is forecast first.

    Raises:
      BadInputError: `last` is before `first`, or a step or option is unknown.
    """

    first: date
    last: date
    depots: tuple[str, ...] = ()
    cities: tuple[str, ...] = ()
    what: tuple[str, ...] = DEFAULT_STEPS
    only: str = "missing"
    newest_first: bool = False

    def __post_init__(self) -> None:
        """Validates the fields."""
        if self.last < self.first:
            raise BadInputError(
                f"--to is {self.last}, but must not lie before --from ({self.first}). "
                "Swap them."
            )
        if unknown := [step for step in self.what if step not in STEPS]:
            raise BadInputError(
                f"--what names {', '.join(unknown)}, but its steps are "
                f"{', '.join(STEPS)}. Choose from these."
            )
        if not self.what:
            raise BadInputError(
                f"--what is empty. Choose from {', '.join(STEPS)}, as in --what "
                f"{','.join(DEFAULT_STEPS)}."
            )
        if self.only not in ONLY:
            raise BadInputError(
                f"--only is {self.only!r}, but must be one of {', '.join(ONLY)}."
            )

    @property
    def origins(self) -> list[date]:
        """Origins in the requested order."""
        days = range((self.last - self.first).days + 1)
        origins = [self.first + timedelta(days=day) for day in days]
        return origins[::-1] if self.newest_first else origins

    def depot_ids(self, connection: sa.Connection) -> list[str] | None:
        """Ids of the depots to forecast; None for every depot.

        Raises:
          NoDataError: a depot is unknown, or a city has none.
        """
        if not (self.depots or self.cities):
            return None
        for depot in self.depots:
            if not backfill_inputs.chosen_depots(connection, [depot], []):
                raise NoDataError(f"There is no depot {depot!r}. Check --depot.")
        for city in self.cities:
            if not backfill_inputs.chosen_depots(connection, [], [city]):
                raise NoDataError(f"There is no depot in {city!r}. Check --city.")
        return backfill_inputs.chosen_depots(connection, self.depots, self.cities)

    def to_json(self) -> dict[str, Any]:
        """The request as stored with the plan."""
        days = {"first": self.first.isoformat(), "last": self.last.isoformat()}
        return asdict(self) | days

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """A request from what `to_json` returned."""
        return cls(
            first=date.fromisoformat(stored["first"]),
            last=date.fromisoformat(stored["last"]),
            depots=tuple(stored["depots"]),
            cities=tuple(stored["cities"]),
            what=tuple(stored["what"]),
            only=stored["only"],
            newest_first=stored["newest_first"],
        )
