"""Who has reported a day."""

from datetime import date
from typing import Any

import sqlalchemy as sa

from pipelines.schema.closures import CLOSURES, is_closed

# Depots that were open on the day and reported in the fortnight before, by city.
REPORTS = f"""
with closures as ({CLOSURES})
select d.city, count(*) as expected, count(v.depot_id) as reported
from depots d
left join demand_versions v
  on v.depot_id = d.depot_id and v.service_on = :day
 and v.superseded_at is null and v.orders is not null
where not {is_closed("cast(:day as date)")}
  and exists (
      select from demand_versions b
      where b.depot_id = d.depot_id and b.superseded_at is null
        and b.orders is not null
        and b.service_on between cast(:day as date) - 14 and cast(:day as date))
group by d.city
order by d.city
"""


def reports_of(connection: sa.Connection, day: date) -> list[sa.Row[Any]]:
    """Each city with how many depots should have reported a day, and how many did."""
    return list(connection.execute(sa.text(REPORTS), {"day": day}))
