"""Statements for backfills: stored forecasts of past origins, and data that arrived since."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from pipelines.schema import forecasts
from pipelines.settings.days import first_origin

BACKFILL_LOCK = 0x4241_434B  # "BACK"

CHOSEN_DEPOTS = """
select depot_id, city from depots
where depot_id = any(:depots) or city = any(:cities) order by depot_id
"""
# Stored forecasts by origin and model. Forecasts of the fleet are complete if they have totals;
# forecasts of chosen depots, if no depot that had demand by the origin is missing.
STORED = """
with started as (
    select depot_id, min(service_on) as first_on from demand_versions
    where depot_id = any(:depots) and superseded_at is null and orders is not null
    group by depot_id
)
select f.origin_on, f.model_version, count(*) as rows, bool_or(f.is_live) as is_live,
       case when cast(:depots as text[]) is null then exists (
           select from forecast_totals t
           where (t.city, t.origin_on, t.model_version)
                 = ('', f.origin_on, f.model_version))
       else not exists (
           select from started s where s.first_on <= f.origin_on and not exists (
               select from forecasts o
               where (o.depot_id, o.origin_on, o.model_version)
                     = (s.depot_id, f.origin_on, f.model_version)))
       end as is_complete,
       case when bool_and(r.run_id is not null) then min(r.started_at) end as data_as_of
from forecasts f left join runs r using (run_id)
where f.origin_on between :first and :last
  and (cast(:depots as text[]) is null or f.depot_id = any(:depots))
group by f.origin_on, f.model_version
"""
# Withdrawn counts too: an origin before the withdrawal knew them.
STARTED_DAYS = """
select case when d.opened_on is null then own.first_on else date '0001-01-01' end
from depots d cross join lateral (
    select min(service_on) as first_on from demand_versions v
    where v.depot_id = d.depot_id and v.orders is not null
) own
where (cast(:depots as text[]) is null or d.depot_id = any(:depots))
  and coalesce(d.opened_on, own.first_on) is not null
"""
# Data that arrived after a time, and the first origin that knows the data. Whenever it was loaded,
# a first count is known on the next morning, and a first version of an event or signal from its
# `known_from`. A correction is known from its load (`known_at`), and a depot's description to every
# origin. Origins read events and signals up to `:days_ahead` days ahead.
ARRIVALS = """
select max(recorded_at) as arrived_at, case when version > 1 then known_at end as known_at,
       min(service_on) as first_on
from demand_versions
where recorded_at > :since and service_on <= :last
group by case when version = 1 then service_on end, 2
union all
select known_at, case when version > 1 then known_at end,
       greatest(case when version = 1 then known_from end,
                case when starts_on > date '0001-12-31' then starts_on - :days_ahead end,
                date '0001-01-01')
from event_versions where known_at > :since
union all
select known_at, case when version > 1 then known_at end,
       greatest(min(known_from),
                case when min(day_on) > date '0001-12-31' then min(day_on) - :days_ahead
                end)
from signal_versions where known_at > :since and version > 0
group by known_at, case when version = 1 then known_from end, 2
union all
select arrived_at, null, date '0001-01-01' from (
    select loaded_at as arrived_at from files where kind = 'depots' and accepted > 0
    union all
    select q.replayed_at from quarantine q join files f using (file_id)
    where f.kind = 'depots'
) described where arrived_at > :since
"""


@dataclass(frozen=True)
class StoredForecast:
    """The stored forecasts of one origin and model, of the whole fleet or of chosen depots.

    Args:
      is_live: Whether any of them is live.
      is_complete: Whether the fleet has totals, or every chosen depot with demand has forecasts.
      data_as_of: Start of their earliest run; their data had arrived by then. None without a run.
    """

    rows: int
    is_live: bool
    is_complete: bool
    data_as_of: datetime | None


@dataclass(frozen=True)
class Arrival:
    """The time at which data arrived, and the first origin that knows the data."""

    arrived_at: datetime
    first_origin_on: date


def stored_forecasts(
    connection: sa.Connection, first: date, last: date, depot_ids: Sequence[str] | None
) -> dict[tuple[date, str], StoredForecast]:
    """Stored forecasts by origin and model; of all depots if `depot_ids` is None."""
    parameters = {"first": first, "last": last, "depots": depot_ids}
    return {
        (origin_on, version): StoredForecast(*columns)
        for origin_on, version, *columns in connection.execute(
            sa.text(STORED), parameters
        )
    }


def arrivals(
    connection: sa.Connection,
    since: datetime,
    last: date,
    days_ahead: int,
    zone: ZoneInfo,
) -> list[Arrival]:
    """Arrivals of data after `since`; counts only of days up to `last`.

    An origin reads the calendar of `days_ahead` days ahead. `zone`, the fleet's time zone, decides
    which origin is the first to know a correction.
    """
    parameters = {"since": since, "last": last, "days_ahead": days_ahead}
    rows = connection.execute(sa.text(ARRIVALS), parameters)
    return [
        Arrival(
            arrived_at,
            first_on
            if known_at is None
            else max(first_on, first_origin(known_at, zone)),
        )
        for arrived_at, known_at, first_on in rows
    ]


def started_days(
    connection: sa.Connection, depot_ids: Sequence[str] | None
) -> list[date]:
    """First origin whose panel has each depot, sorted; `date.min` for one with an opening day.

    Depots without an opening day and without a count are left out. `depot_ids` None: every depot.
    """
    return sorted(connection.scalars(sa.text(STARTED_DAYS), {"depots": depot_ids}))


def newest_origin(connection: sa.Connection) -> date | None:
    """The newest origin with a forecast."""
    return connection.scalar(sa.select(sa.func.max(forecasts.c.origin_on)))


def chosen_depots(
    connection: sa.Connection, depots: Iterable[str], cities: Iterable[str]
) -> dict[str, str]:
    """City by depot id, for the given depots and all depots of the given cities, sorted by id."""
    parameters = {"depots": list(depots), "cities": list(cities)}
    rows = connection.execute(sa.text(CHOSEN_DEPOTS), parameters)
    return {row.depot_id: row.city for row in rows}
