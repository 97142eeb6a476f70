"""The validated request of a backfill: origins, depots and options."""

from dataclasses import dataclass
from datetime import date, timedelta

import sqlalchemy as sa

from forecaster.errors import BadInputError, NoDataError
from pipelines.store import backfill

MAX_ORIGINS = 3660
"""Ten years; a longer range is taken as a mistyped year."""


@dataclass(frozen=True)
class BackfillRequest:
    """A request for hindcasts: first and last origin, depots and options.

    Args:
      depots: Ids of depots; without depots and cities, every depot is forecast.

    Raises:
      BadInputError: `last` is before `first`, or there are more than `MAX_ORIGINS` origins.
    """

    first: date
    last: date
    depots: tuple[str, ...] = ()
    cities: tuple[str, ...] = ()
    train: bool = False
    again: bool = False

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise BadInputError(
                f"--to is {self.last}, but must not lie before --from ({self.first}). "
                "Swap them."
            )
        n_origins = (self.last - self.first).days + 1
        if n_origins > MAX_ORIGINS:
            raise BadInputError(
                f"--from is {self.first} and --to is {self.last}, {n_origins:,} days, but a "
                f"backfill has {MAX_ORIGINS:,} at most. Correct the year, or split the range."
            )

    @property
    def origins(self) -> list[date]:
        """Origins, earliest first."""
        days = range((self.last - self.first).days + 1)
        return [self.first + timedelta(days=day) for day in days]

    def depot_ids(self, connection: sa.Connection) -> list[str] | None:
        """Returns the ids of the depots to forecast; None for every depot.

        Raises:
          NoDataError: a depot is unknown, or a city has none.
        """
        if not (self.depots or self.cities):
            return None
        chosen = backfill.chosen_depots(connection, self.depots, self.cities)
        for depot in sorted(set(self.depots) - set(chosen)):
            raise NoDataError(f"There is no depot {depot!r}. Check --depot.")
        for city in sorted(set(self.cities) - set(chosen.values())):
            raise NoDataError(f"There is no depot in {city!r}. Check --city.")
        return list(chosen)
