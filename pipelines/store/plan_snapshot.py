"""The snapshot of the data that a backfill plan was made from, to detect later changes."""

from datetime import date
from typing import Any

import sqlalchemy as sa

# Everything that decides what a hindcast from an origin up to `last` says, and how it is
# scored over the days up to `until`. What comes in for later days does not.
SNAPSHOT = """
select (select jsonb_build_array(count(*), extract(epoch from max(recorded_at)))
        from demand_versions
        where service_on <= :until) as counts,
       (select jsonb_build_array(count(*), md5(string_agg(e::text, ';' order by event_id)))
        from events e) as events,
       (select jsonb_build_array(count(*), md5(string_agg(d::text, ';' order by depot_id)))
        from depots d) as depots,
       (select coalesce(jsonb_agg(version order by version), '[]') from models
        where trained_through <= :last and pruned_at is null) as models
"""
# Forecasts that a waiting slot was planned to replace and that have changed since.
OVERWRITTEN = """
select s.origin_on
from backfill_slots s
left join lateral (
    select count(*) as rows, max(f.made_at) as newest from forecasts f
    where f.origin_on = s.origin_on and f.model_version = s.model_version
      and (cast(:depots as text[]) is null or f.depot_id = any(:depots))
) there on true
where s.backfill_id = :backfill_id and s.state = 'waiting' and s.step = 'forecast'
  and s.model_version is not null
  and (there.rows, there.newest) is distinct from (s.replaced_rows, s.newest_made_at)
order by s.origin_on
"""


def current(connection: sa.Connection, last: date, until: date) -> dict[str, Any]:
    """Counts and digests of the data that decide a plan's forecasts and scores.

    Args:
      connection: For one short transaction.
      last: The newest origin.
      until: The last day that is forecast from it.
    """
    found = connection.execute(sa.text(SNAPSHOT), {"last": last, "until": until})
    return dict(found.mappings().one())


def overwritten_since(
    connection: sa.Connection, backfill_id: int, depot_ids: list[str] | None
) -> list[date]:
    """Origins whose forecasts were made anew since the plan was."""
    asked = {"backfill_id": backfill_id, "depots": depot_ids}
    return list(connection.scalars(sa.text(OVERWRITTEN), asked))
