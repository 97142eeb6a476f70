"""What a backfill is laid out from: what is known, what is there, what took how long."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa

from pipelines.schema import forecasts


def failed_before(
    connection: sa.Connection, first: date, last: date
) -> dict[date, str]:
    """Origins whose newest attempt to forecast failed, and why."""
    found = connection.execute(
        sa.text(
            "select origin_on, error from ("
            " select distinct on (origin_on) origin_on, state, error from backfill_slots"
            " where step = 'forecast' and state in ('done', 'failed')"
            " and origin_on between :first and :last"
            " order by origin_on, finished_at desc) newest where state = 'failed'"
        ),
        {"first": first, "last": last},
    )
    return {row.origin_on: str(row.error) for row in found}


def held_forecasts(
    connection: sa.Connection, first: date, last: date, depot_ids: Sequence[str] | None
) -> dict[tuple[date, str], sa.Row[Any]]:
    """What is there already, by origin and model: rows, newest_made_at, live."""
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
    found = connection.execute(statement)
    return {(row.origin_on, row.model_version): row for row in found}


def corrections(
    connection: sa.Connection, through: date
) -> list[tuple[datetime, date]]:
    """When later counts of days up to one became known, with the earliest such day."""
    found = connection.execute(
        sa.text(
            "select known_at, min(service_on) from demand_versions "
            "where version > 1 and service_on <= :through group by known_at "
            "order by known_at"
        ),
        {"through": through},
    )
    return [(known_at, earliest_on) for known_at, earliest_on in found]


def announced(connection: sa.Connection) -> frozenset[date]:
    """Days on which an event was announced, as its file said."""
    found = connection.scalars(
        sa.text(
            "select distinct known_from from event_versions "
            "where known_from is not null"
        )
    )
    return frozenset(found)


def events_changed(connection: sa.Connection) -> frozenset[datetime]:
    """When corrections and withdrawals of events arrived."""
    found = connection.scalars(
        sa.text("select distinct known_at from event_versions where version > 1")
    )
    return frozenset(found)


def first_observed(connection: sa.Connection) -> date | None:
    """The earliest day of which any depot's demand is known."""
    return connection.scalar(
        sa.text(
            "select min(service_on) from demand_versions "
            "where superseded_at is null and orders is not null"
        )
    )


def chosen_depots(
    connection: sa.Connection, depots: Iterable[str], cities: Iterable[str]
) -> list[str]:
    """Depots named, or lying in a city named, in the order of their ids."""
    return list(
        connection.scalars(
            sa.text(
                "select depot_id from depots "
                "where depot_id = any(:depots) or city = any(:cities) order by depot_id"
            ),
            {"depots": list(depots), "cities": list(cities)},
        )
    )


def count_depots(connection: sa.Connection) -> int:
    """How many depots there are."""
    return int(connection.scalar(sa.text("select count(*) from depots")) or 0)


def seconds_a_row(connection: sa.Connection) -> float | None:
    """What a forecast row of a hindcast took lately; None where none was made."""
    return connection.scalar(
        sa.text(
            "select sum(seconds) / nullif(sum(made), 0) from ("
            " select extract(epoch from finished_at - started_at)::float8 as seconds,"
            " (metrics->>'rows')::float8 as made from runs"
            " where step = 'hindcast' and state = 'done' and metrics ? 'rows'"
            " order by run_id desc limit 20) lately"
        )
    )


def seconds_a_run(connection: sa.Connection, step: str) -> float | None:
    """What a run of a step took lately; None where none is done."""
    return connection.scalar(
        sa.text(
            "select avg(seconds) from ("
            " select extract(epoch from finished_at - started_at)::float8 as seconds"
            " from runs where step = :step and state = 'done'"
            " order by run_id desc limit 5) lately"
        ),
        {"step": step},
    )
