"""Statements for the inputs of a backfill plan: known data, stored forecasts, past durations."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa

from pipelines.schema import forecasts

CHOSEN_DEPOTS = """
select depot_id, city from depots
where depot_id = any(:depots) or city = any(:cities) order by depot_id
"""
# A change of an event matters to every day.
CORRECTIONS = """
select known_at, min(service_on) from demand_versions
where version > 1 and service_on <= :through
group by known_at
union all
select distinct known_at, date '0001-01-01' from event_versions where version > 1
"""
# Mean seconds of a step's five newest runs; of a hindcast, per row that it wrote.
PAST_SECONDS = """
select step, sum(seconds) / nullif(sum(units), 0) as seconds
from (
    select step, extract(epoch from finished_at - started_at)::float8 as seconds,
           case when step = 'hindcast' then (metrics ->> 'rows')::float8 else 1 end
               as units,
           row_number() over (partition by step order by run_id desc) as age
    from runs
    where state = 'done' and (step <> 'hindcast' or metrics ? 'rows')
      and step in ('train', 'hindcast', 'score')
) past
where age <= 5
group by step
having sum(units) > 0
"""


def stored_forecasts(
    connection: sa.Connection, first: date, last: date, depot_ids: Sequence[str] | None
) -> dict[tuple[date, str], sa.Row[Any]]:
    """Stored forecasts by origin and model: rows, newest_made_at, live (whether any is)."""
    statement = (
        sa.select(
            forecasts.c.origin_on,
            forecasts.c.model_version,
            sa.func.count().label("rows"),
            sa.func.max(forecasts.c.made_at).label("newest_made_at"),
            sa.func.bool_or(forecasts.c.is_live).label("live"),
        )
        .where(forecasts.c.origin_on.between(first, last))
        .group_by(forecasts.c.origin_on, forecasts.c.model_version)
    )
    if depot_ids is not None:
        statement = statement.where(forecasts.c.depot_id.in_(depot_ids))
    rows = connection.execute(statement)
    return {(row.origin_on, row.model_version): row for row in rows}


def corrections(
    connection: sa.Connection, through: date
) -> list[tuple[datetime, date]]:
    """Timestamps of corrections of counts and events, each with the earliest day concerned."""
    rows = connection.execute(sa.text(CORRECTIONS), {"through": through})
    return [(known_at, earliest_on) for known_at, earliest_on in rows]


def announced(connection: sa.Connection) -> list[date]:
    """Days on which an event was announced, as its file says in `known_from`."""
    statement = (
        "select distinct known_from from event_versions where known_from is not null"
    )
    return list(connection.scalars(sa.text(statement)))


def first_counts(connection: sa.Connection) -> list[date]:
    """Days from which on panels have a depot that has no opening day: that of its first count."""
    statement = (
        "select distinct min(service_on) from demand_versions join depots using (depot_id) "
        "where opened_on is null and superseded_at is null and orders is not null "
        "group by depot_id"
    )
    return list(connection.scalars(sa.text(statement)))


def first_observed(connection: sa.Connection) -> date | None:
    """The earliest day of which any depot's demand is known."""
    return connection.scalar(
        sa.text(
            "select min(service_on) from demand_versions "
            "where superseded_at is null and orders is not null"
        )
    )


def newest_origin(connection: sa.Connection) -> date | None:
    """The newest origin of which there is a forecast."""
    return connection.scalar(sa.select(sa.func.max(forecasts.c.origin_on)))


def chosen_depots(
    connection: sa.Connection, depots: Iterable[str], cities: Iterable[str]
) -> dict[str, str]:
    """Depots named, or lying in a city named, with their cities, in the order of ids."""
    parameters = {"depots": list(depots), "cities": list(cities)}
    rows = connection.execute(sa.text(CHOSEN_DEPOTS), parameters)
    return {row.depot_id: row.city for row in rows}


def count_depots(connection: sa.Connection) -> int:
    """Number of depots."""
    return int(connection.scalar(sa.text("select count(*) from depots")) or 0)


def past_seconds(connection: sa.Connection) -> dict[str, float]:
    """Seconds of past runs by step; of a hindcast, per row of forecasts."""
    rows = connection.execute(sa.text(PAST_SECONDS))
    return {row.step: row.seconds for row in rows}
