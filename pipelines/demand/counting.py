"""Orders to daily demand per depot and local service day."""

from datetime import date, datetime, timedelta

import sqlalchemy as sa
import structlog

from forecaster.errors import BadInputError, NoDataError
from pipelines.demand import public_holidays
from pipelines.runs.ledger import Run
from pipelines.settings.complete_days import newest_whole_day
from pipelines.store import demand as store
from pipelines.store.demand import DemandChange

log = structlog.get_logger()

LATEST_FEED_DAYS = 14


def rebuild(
    engine: sa.Engine, now: datetime, look_back_days: int | None = None
) -> DemandChange:
    """Counts demand anew; safe to repeat, for only differences become versions.

    The public holidays of its days and of the days ahead are looked up here too, so that
    whoever reads a panel need not write.

    Args:
      engine: Database the pipelines own.
      now: With a zone. A day of a depot counts once it is over there and at half of the
        active depots; a correction becomes known now.
      look_back_days: Corrections so far before the newest day are made; all without.
    """
    with engine.begin() as connection:
        today = first_day_not_over(connection, now)
        change = store.recount(connection, today, now, look_back_days)
        public_holidays.add_missing(connection, now.date())
    return change


def rebuild_in(
    run: Run, now: datetime, look_back_days: int | None = None
) -> DemandChange:
    """Counts demand anew as a part of a run, which tells what was corrected.

    Args:
      run: Counts the depot-days that are new, and those that are otherwise now.
      now: As of `rebuild`.
      look_back_days: As of `rebuild`.
    """
    change = rebuild(run.engine, now, look_back_days)
    run.metrics |= {"new": change.new, "corrected": change.corrected}
    for day in change.days:
        log.info("demand_corrected", **vars(day))
    return change


def default_origin(engine: sa.Engine) -> date:
    """The last complete local day in the data; days not over are never counted.

    Raises:
      NoDataError: there is no demand yet.
    """
    with engine.connect() as connection:
        return newest_counted(connection)


def newest_counted(connection: sa.Connection) -> date:
    """The newest day of which any depot's demand is known.

    Raises:
      NoDataError: there is no demand yet.
    """
    newest = store.last_day(connection)
    if newest is None:
        raise NoDataError(
            "There is no demand yet. Load orders with 'harbor ingest PATH', then run "
            "'harbor train'."
        )
    return newest


def require_over(engine: sa.Engine, day: date, now: datetime, zone: str) -> None:
    """Refuses a day that is over at no depot: a model of it would outrank all till then.

    Args:
      engine: Database the pipelines own.
      day: Asked for by a person.
      now: With a zone.
      zone: The fleet's own, where there is no depot yet.

    Raises:
      BadInputError: it lies ahead.
    """
    with engine.connect() as connection:
        names = store.zones(connection) or {zone: 1}
    newest = max(newest_whole_day(now, {name: 1}) for name in names)
    if day > newest:
        raise BadInputError(
            f"The day is {day}, but it is not over at any depot; the newest day that "
            f"is over is {newest}. Choose that day or an earlier one."
        )


def require_counted(engine: sa.Engine, origin: date) -> None:
    """Refuses an origin that lies long after the data; a late feed of days is carried.

    Raises:
      NoDataError: there is no demand, or it ends more than two weeks before the origin.
    """
    newest = default_origin(engine)
    if (origin - newest).days > LATEST_FEED_DAYS:
        raise NoDataError(
            f"The origin is {origin}, but the newest orders are of {newest}, more than "
            f"{LATEST_FEED_DAYS} days before. Load newer orders, or choose an earlier "
            "origin."
        )


def first_day_not_over(connection: sa.Connection, now: datetime) -> date:
    """The first day that is not over at half of the active depots."""
    zones = store.zones(connection) or {"UTC": 1}
    return newest_whole_day(now, zones) + timedelta(days=1)
