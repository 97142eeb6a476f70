"""Counts orders into daily demand per depot and local service day."""

from datetime import date, datetime, timedelta

import sqlalchemy as sa
import structlog

from forecaster.errors import BadInputError, NoDataError
from pipelines.demand import public_holidays
from pipelines.runs.ledger import Run
from pipelines.settings.days import newest_complete_day
from pipelines.store import demand
from pipelines.store.demand import DemandChange

log = structlog.get_logger()

MAX_FEED_DELAY_DAYS = 14
"""Maximum days from the newest demand to an origin; with more, the feed counts as ended."""


def rebuild(
    engine: sa.Engine, now: datetime, look_back_days: int | None = None
) -> DemandChange:
    """Recounts demand and updates public holidays; safe to repeat: only changes add versions.

    A depot-day is counted once it is over at the depot and at half of the active depots.
    Corrections, which reach back `look_back_days` from the newest day (None: without a limit),
    become known at `now`. Public holidays are updated here, so that reading a panel never writes,
    and in a transaction of their own, because counts do not need them.
    """
    with engine.begin() as connection:
        today = first_incomplete_day(connection, now)
        change = demand.recount(connection, today, now, look_back_days)
    with engine.begin() as connection:
        public_holidays.update(connection, now.date())
    return change


def rebuild_in(
    run: Run, now: datetime, look_back_days: int | None = None
) -> DemandChange:
    """Recounts demand as a step of a run, and records the number of changes."""
    change = rebuild(run.engine, now, look_back_days)
    run.metrics |= {"new": change.new, "corrected": change.corrected}
    if change.partial:
        run.metrics["partial_days"] = change.partial
        log.warning("partial_days", depot_days=change.partial)
    return change


def default_origin(engine: sa.Engine) -> date:
    """Returns the newest day for which any depot has demand; only complete days are counted.

    Raises:
      NoDataError: there is no demand yet.
    """
    with engine.connect() as connection:
        return newest_demand_day(connection)


def newest_demand_day(connection: sa.Connection) -> date:
    """Returns the newest day for which any depot has demand.

    Raises:
      NoDataError: there is no demand yet.
    """
    last_day_on = demand.last_day(connection)
    if last_day_on is None:
        raise NoDataError(
            "There is no demand yet. Load orders with 'harbor ingest PATH', then run "
            "'harbor train'."
        )
    return last_day_on


def require_complete_day(
    engine: sa.Engine, day: date, now: datetime, zone: str
) -> None:
    """Refuses a day that no depot has completed: its model would be the newest till it ends.

    In a fleet without depots, `zone` decides whether the day is over.

    Raises:
      BadInputError: the day is not over at any depot.
    """
    with engine.connect() as connection:
        names = demand.zones(connection) or {zone: 1}
    last_day_on = max(newest_complete_day(now, {name: 1}) for name in names)
    if day > last_day_on:
        raise BadInputError(
            f"The day is {day}, but it is not over at any depot; the newest day that "
            f"is over is {last_day_on}. Choose that day or an earlier one."
        )


def require_recent_demand(engine: sa.Engine, origin: date) -> None:
    """Refuses an origin more than `MAX_FEED_DELAY_DAYS` after the newest demand, or before all.

    Raises:
      NoDataError: there is no demand up to the origin, or it ends more than two weeks before.
    """
    with engine.connect() as connection:
        last_day_on = newest_demand_day(connection)
        first_day_on = demand.first_day(connection)
    if first_day_on is not None and origin < first_day_on:
        raise NoDataError(
            f"There is no demand up to {origin}: the earliest orders are of {first_day_on}. "
            "Load earlier orders, or choose a later origin."
        )
    if (origin - last_day_on).days > MAX_FEED_DELAY_DAYS:
        raise NoDataError(
            f"The origin is {origin}, but the newest orders are of {last_day_on}, more than "
            f"{MAX_FEED_DELAY_DAYS} days before. Load newer orders, or choose an earlier "
            "origin."
        )


def first_incomplete_day(connection: sa.Connection, now: datetime) -> date:
    """Returns the first day that is not over at half of the active depots."""
    zones = demand.zones(connection) or {"UTC": 1}
    return newest_complete_day(now, zones) + timedelta(days=1)
