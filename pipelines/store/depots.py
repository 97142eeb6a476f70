"""Depots."""

from dataclasses import dataclass

import sqlalchemy as sa

from pipelines.schema import depots

FAR_FROM_THEIR_CITY = """
with usual as (
    select city, mode() within group (order by timezone) as timezone
    from depots group by city
)
select d.depot_id, d.city, d.timezone, usual.timezone
from depots d join usual using (city)
where abs(extract(epoch from (now() at time zone d.timezone)
                             - (now() at time zone usual.timezone))) >= 3 * 3600
order by d.depot_id
"""


@dataclass(frozen=True)
class OddZone:
    """A depot whose clock is hours away from that of most depots of its city.

    Args:
      depot_id: The depot.
      city: Its city.
      timezone: Its zone.
      usual: The zone of most depots of the city.
    """

    depot_id: str
    city: str
    timezone: str
    usual: str


def depot_ids(connection: sa.Connection) -> set[str]:
    """Every depot's id."""
    return set(connection.scalars(sa.select(depots.c.depot_id)))


def far_from_their_city(connection: sa.Connection) -> list[OddZone]:
    """Depots whose clock is 3 hours or more from that of most depots of their city."""
    return [OddZone(*row) for row in connection.execute(sa.text(FAR_FROM_THEIR_CITY))]
