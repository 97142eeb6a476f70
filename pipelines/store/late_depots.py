"""The depots of `schema.depot_freshness` that should have reported by a day."""

from dataclasses import dataclass
from datetime import date

import sqlalchemy as sa

from pipelines.schema.closures import CLOSURES
from pipelines.schema.depot_freshness import DEPOT_FRESHNESS, NEWEST_OPEN_DAY

FRESHNESS = f"with closures as ({CLOSURES}), fresh as ({DEPOT_FRESHNESS})"
# Whether `due_on`, which is not counted, has some orders or a daily count: a partial day.
IN_PART = """
exists (select from order_counts c
        where c.depot_id = fresh.depot_id and c.service_on = due_on
        union all
        select from daily_counts c
        where c.depot_id = fresh.depot_id and c.service_on = due_on and c.orders is not null)
"""
EXPECTED = f"""{FRESHNESS}
select depot_id, city, last_on, missing, is_late, is_late and {IN_PART} as is_in_part
from fresh where due_on is not null and not is_silent
order by city, depot_id
"""


@dataclass(frozen=True)
class ExpectedDepot:
    """A depot that should have reported by a day.

    Attributes:
      last_on: Its newest day with a count.
      missing: Number of its open days without a count after that one.
      is_in_part: Whether it is late and some of the orders have come.
    """

    depot_id: str
    city: str
    last_on: date
    missing: int
    is_late: bool
    is_in_part: bool


def expected(connection: sa.Connection, day: date) -> list[ExpectedDepot]:
    """Depots that should have reported by a day, late ones among them, sorted by city and id."""
    rows = connection.execute(sa.text(EXPECTED), {"as_of": day})
    return [ExpectedDepot(*row) for row in rows]


def newest_open_day(connection: sa.Connection, day: date) -> date:
    """The newest day up to `day` on which a depot was open: see `NEWEST_OPEN_DAY`. Else `day`."""
    return connection.scalar(sa.text(NEWEST_OPEN_DAY), {"as_of": day}) or day
