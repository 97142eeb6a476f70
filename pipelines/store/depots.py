"""Statements for depots."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import sqlalchemy as sa

from pipelines.schema import demand_versions, depots
from pipelines.store import order_counts, score_totals, scores_due

FOLLOWED = ("timezone", "city", "opened_on", "closed_on", "closed_weekdays")
"""Columns of a depot on which counts, scores or sums of scores depend."""


@dataclass(frozen=True)
class KnownDepot:
    """A depot, and its newest day with known demand.

    Args:
      is_complete: Whether a depots file has described it.
      last_on: Newest day with known demand; None if there is none.
    """

    depot_id: str
    name: str
    city: str
    timezone: str
    country: str
    subdivision: str | None
    vans: int | None
    opened_on: date | None
    closed_on: date | None
    closed_weekdays: list[int]
    is_complete: bool
    last_on: date | None

    @property
    def has_started(self) -> bool:
        """Whether the depot has a count or an opening day; if not, it is not forecast."""
        return self.last_on is not None or self.opened_on is not None


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


# No first count is expected of a depot that is closed for good.
NOT_STARTED = """
select depot_id from depots d
where opened_on is null and closed_on is null and not exists (
    select from demand_versions v
    where v.depot_id = d.depot_id and v.superseded_at is null and v.orders is not null)
order by depot_id
"""


@dataclass(frozen=True)
class OddZone:
    """A depot whose clock is 3 hours or more from `usual`, its city's most frequent zone."""

    depot_id: str
    city: str
    timezone: str
    usual: str


def depot_ids(connection: sa.Connection) -> set[str]:
    """Every depot's id."""
    return set(connection.scalars(sa.select(depots.c.depot_id)))


def not_started(connection: sa.Connection) -> list[str]:
    """Ids of depots with neither a count nor an opening or closing day."""
    return list(connection.scalars(sa.text(NOT_STARTED)))


def far_from_their_city(connection: sa.Connection) -> list[OddZone]:
    """Depots whose clock is 3 hours or more from their city's most frequent zone, by id."""
    return [OddZone(*row) for row in connection.execute(sa.text(FAR_FROM_THEIR_CITY))]


LOCAL_TIMES = """
select timezone, moment, case when name is not null then moment at time zone timezone end
from (select distinct timezone from depots) zones
left join pg_timezone_names on name = timezone
cross join generate_series(cast(:now as timestamptz), cast(:now as timestamptz) + interval '1 year',
                           interval '1 day') as moment
"""


def zones_read_otherwise(connection: sa.Connection, now: datetime) -> list[str]:
    """Zones of depots in which the database and Python disagree on a local time of the coming year.

    Each has its own copy of the rules, which governments change; one may lack a zone.
    """
    rows = connection.execute(sa.text(LOCAL_TIMES), {"now": now})
    return sorted({zone for zone, moment, local in rows if _in(zone, moment) != local})


def _in(zone: str, moment: datetime) -> datetime | None:
    try:
        return moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    except ZoneInfoNotFoundError:
        return None


def known_depots(connection: sa.Connection) -> list[KnownDepot]:
    """Every depot, sorted by id."""
    days = demand_versions.c
    last_days = (
        sa.select(days.depot_id, sa.func.max(days.service_on).label("last_on"))
        .where(days.superseded_at.is_(None), days.orders.is_not(None))
        .group_by(days.depot_id)
        .subquery()
    )
    statement = (
        sa.select(depots, last_days.c.last_on)
        .join(last_days, last_days.c.depot_id == depots.c.depot_id, isouter=True)
        .order_by(depots.c.depot_id)
    )
    return [KnownDepot(**row) for row in connection.execute(statement).mappings()]


@contextmanager
def follow_changes(connection: sa.Connection) -> Iterator[None]:
    """Marks counts and scores of changed depots for renewal; wraps every update of depots.

    A changed time zone marks every day to be counted. A changed city or changed open days mark
    every forecast to be scored. A changed city also renews all sums of scores.
    """
    before = _followed_columns(connection)
    yield
    after = _followed_columns(connection)
    changed = {
        name
        for depot_id in before.keys() & after.keys()
        for name in FOLLOWED
        if getattr(before[depot_id], name) != getattr(after[depot_id], name)
    }
    if "timezone" in changed:
        order_counts.mark_all(connection)
    # The city matters because an event may close a city.
    if changed & {"city", "opened_on", "closed_on", "closed_weekdays"}:
        scores_due.mark_everything(connection)
    if "city" in changed:
        score_totals.renew_all(connection)


def _followed_columns(connection: sa.Connection) -> dict[str, Any]:
    columns = (depots.c[name] for name in ("depot_id", *FOLLOWED))
    return {row.depot_id: row for row in connection.execute(sa.select(*columns))}
