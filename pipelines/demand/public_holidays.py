"""Looks up public holidays by country and subdivision, and stores them."""

from datetime import date

import sqlalchemy as sa
import structlog

from forecaster.data.public_holidays import holidays_of
from pipelines.store.demand import first_day
from pipelines.store.holidays import add_holidays, regions, remove_others

log = structlog.get_logger()


def update(connection: sa.Connection, today: date) -> None:
    """Stores every depot's holidays, from the first year with demand through next year.

    Days that the library no longer lists, such as an estimate replaced by the actual day, are
    removed. An unlisted subdivision gets its country's holidays, and an unlisted country gets
    none, each with a warning: a missing calendar degrades a forecast but does not stop it.
    """
    first = first_day(connection) or today
    years = range(first.year, today.year + 2)
    for country, subdivision in regions(connection):
        days = holidays_of(country, subdivision, years, _warn)
        rows = [(country, subdivision, day, name) for day, name in days.items()]
        add_holidays(connection, rows)
        if days:
            span = date(years[0], 1, 1), date(years[-1], 12, 31)
            remove_others(connection, (country, subdivision), span, list(days))


def _warn(country: str, subdivision: str) -> None:
    log.warning("public_holidays_unknown", country=country, subdivision=subdivision)
