"""Sums over `schema.depot_freshness`: late depots by city, on a day."""

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
BY_CITY = f"""{FRESHNESS}
select city, count(*) as expected, count(*) filter (where is_late) as late,
       count(*) filter (where is_late and {IN_PART}) as in_part
from fresh where due_on is not null and not is_silent
group by city
order by city
"""
MISSING_DAYS = f"{FRESHNESS} select depot_id, missing from fresh where is_late"
OLDEST = f"{FRESHNESS} select min(last_on) from fresh where is_late"


@dataclass(frozen=True)
class CityFreshness:
    """Numbers of a city's depots on a day: depots that should have reported, and late depots.

    `in_part` is the number of late depots whose orders have come in part.
    """

    city: str
    expected: int
    late: int
    in_part: int


def by_city(connection: sa.Connection, day: date) -> list[CityFreshness]:
    """Cities with depots that should have reported by a day, sorted by name."""
    rows = connection.execute(sa.text(BY_CITY), {"as_of": day})
    return [CityFreshness(*row) for row in rows]


def missing_days(connection: sa.Connection, day: date) -> dict[str, int]:
    """Number of open days without a count, up to a day, by late depot."""
    rows = connection.execute(sa.text(MISSING_DAYS), {"as_of": day})
    return {row.depot_id: row.missing for row in rows}


def oldest_day(connection: sa.Connection, day: date) -> date:
    """The last counted day of the late depot that is furthest behind; `day` if none is late."""
    return connection.scalar(sa.text(OLDEST), {"as_of": day}) or day


def newest_open_day(connection: sa.Connection, day: date) -> date:
    """The newest day up to `day` on which a depot was open: see `NEWEST_OPEN_DAY`. Else `day`."""
    return connection.scalar(sa.text(NEWEST_OPEN_DAY), {"as_of": day}) or day
