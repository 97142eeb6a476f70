"""Probes the dashboard: health, and the time of its first page's queries."""

import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

PATIENCE_S = 10
HEALTH = "/_stcore/health"
DAYS_SHOWN = timedelta(days=20)
FORTNIGHT = timedelta(days=14)


@dataclass(frozen=True)
class Page:
    """The statements of the dashboard's first page, in the order it sends them.

    Args:
      freshness: Says what there is to show.
      totals: Of the whole fleet by day.
      week: Of every depot.
    """

    freshness: str
    totals: str
    week: str


def probe(url: str, page: Page, engine: sa.Engine) -> float | None:
    """Seconds until the dashboard had answered and its first page's numbers were read.

    The pages themselves travel by websocket; what takes time in them is what they read,
    which is asked of the database as the dashboard does, with nothing kept from before.

    Args:
      url: Of the dashboard.
      page: What its first page asks.
      engine: One that only reads.

    Returns:
      None where it did not answer, or its numbers could not be read.
    """
    began = time.monotonic()
    try:
        with urllib.request.urlopen(url + HEALTH, timeout=PATIENCE_S) as told:  # noqa: S310 - settings let http and https through only
            told.read()
        with engine.connect() as connection:
            _read(connection, page)
    except (OSError, SQLAlchemyError):
        return None
    return time.monotonic() - began


def _read(connection: sa.Connection, page: Page) -> None:
    fresh = connection.execute(sa.text(page.freshness)).one()
    if fresh.origin_on is None or fresh.last_on is None:
        return
    asked = {
        "origin": fresh.origin_on,
        "model": fresh.model_version,
        "until": fresh.until_on,
    }
    since = fresh.origin_on - DAYS_SHOWN
    totals = {"city": "", "since": since, **asked}
    connection.execute(sa.text(page.totals), totals).fetchall()
    since = min(fresh.last_on, fresh.origin_on) - FORTNIGHT
    week = {"as_of": max(fresh.last_on, fresh.origin_on), "since": since, **asked}
    connection.execute(sa.text(page.week), week).fetchall()
