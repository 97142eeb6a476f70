"""The validated request of a backfill: origins, depots and steps."""

from dataclasses import dataclass
from datetime import date, timedelta

import sqlalchemy as sa
from pydantic import TypeAdapter

from forecaster.errors import BadInputError, NoDataError
from pipelines.store import backfill_inputs

STEPS = ("train", "forecast", "score")
"""Steps of a backfill, in execution order."""
DEFAULT_STEPS = ("forecast", "score")
ONLY = ("missing", "all")
MAX_ORIGINS = 3660
"""Ten years; longer is a year mistyped."""


@dataclass(frozen=True)
class BackfillRequest:
    """A request for a backfill: first and last origin, depots, steps and slots.

    Without depots and cities, every depot is forecast; `only` those origins that are `missing` a
    forecast, or `all`.

    Raises:
      BadInputError: `last` is before `first` or more than `MAX_ORIGINS` days after it, or a
        step or option is unknown.
    """

    first: date
    last: date
    depots: tuple[str, ...] = ()
    cities: tuple[str, ...] = ()
    what: tuple[str, ...] = DEFAULT_STEPS
    only: str = "missing"

    def __post_init__(self) -> None:
        """Validates the fields."""
        if self.last < self.first:
            raise BadInputError(
                f"--to is {self.last}, but must not lie before --from ({self.first}). "
                "Swap them."
            )
        n_origins = (self.last - self.first).days + 1
        if n_origins > MAX_ORIGINS:
            raise BadInputError(
                f"--from is {self.first} and --to is {self.last}, {n_origins:,} days, but a "
                f"backfill has {MAX_ORIGINS:,} at most. Correct the year, or make several."
            )
        if not self.what or not set(self.what) <= set(STEPS):
            raise BadInputError(
                f"--what is {','.join(self.what)!r}, but must name steps of "
                f"{', '.join(STEPS)}, as in --what {','.join(DEFAULT_STEPS)}."
            )
        if self.only not in ONLY:
            raise BadInputError(
                f"--only is {self.only!r}, but must be one of {', '.join(ONLY)}."
            )

    @property
    def origins(self) -> list[date]:
        """Origins, earliest first."""
        days = range((self.last - self.first).days + 1)
        return [self.first + timedelta(days=day) for day in days]

    def depot_ids(self, connection: sa.Connection) -> list[str] | None:
        """Ids of the depots to forecast; None for every depot.

        Raises:
          NoDataError: a depot is unknown, or a city has none.
        """
        if not (self.depots or self.cities):
            return None
        chosen = backfill_inputs.chosen_depots(connection, self.depots, self.cities)
        for depot in sorted(set(self.depots) - set(chosen)):
            raise NoDataError(f"There is no depot {depot!r}. Check --depot.")
        for city in sorted(set(self.cities) - set(chosen.values())):
            raise NoDataError(f"There is no depot in {city!r}. Check --city.")
        return list(chosen)


REQUEST_JSON = TypeAdapter(BackfillRequest)
"""Converts a request to the JSON stored with its plan, and back."""
