"""Queries of one depot: days, past forecasts, events and status."""

from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from dashboard.queries.rows import none_if_null
from dashboard.queries.types import DepotStatus, FeedFreshness, PreviousForecast
from dashboard.sql import depot as sql
from dashboard.sql import fleet as fleet_sql

HISTORY_DAYS = 56
PAST_DAYS = 28
EVENT_DAYS = 28
FORTNIGHT = timedelta(days=14)
FORECAST = ("p10", "p50", "p90")


@st.cache_data(max_entries=4, show_spinner=False)
def depots(fresh: Freshness) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """Every depot, by city and name.

    Args:
      fresh: Only keys the cache.

    Returns:
      depot_id, label (name, city and id in one).
    """
    return read(fleet_sql.DEPOTS)


@st.cache_data(max_entries=128, show_spinner=False)
def depot_status(depot: str, fresh: Freshness) -> DepotStatus:
    """A depot's feed freshness, previous forecast and fallback state.

    Args:
      depot: A depot_id that exists.
      fresh: With known demand; a forecast may be missing.
    """
    row = read(
        sql.DEPOT_STATUS,
        depot=depot,
        as_of=fresh.newest,
        since=fresh.lagging_day - FORTNIGHT,
        origin=fresh.origin_on,
        until=fresh.until_on,
    ).iloc[0]
    feed = FeedFreshness(
        last_on=none_if_null(row["last_on"]),
        due_on=none_if_null(row["due_on"]),
        is_late=bool(row["is_late"]),
    )
    is_fallback = bool(row["is_fallback"])
    if none_if_null(row["before_on"]) is None:
        return DepotStatus(feed, None, is_fallback)
    events = tuple(row["new_events"])
    previous = PreviousForecast(
        row["before_on"], row["before_model"], int(row["corrected"]), events
    )
    return DepotStatus(feed, previous, is_fallback)


@st.cache_data(max_entries=128, show_spinner=False)
def depot_days(depot: str, fresh: Freshness) -> pd.DataFrame:
    """The last 8 weeks of one depot and the days ahead, a row for each day.

    Args:
      depot: A depot_id.
      fresh: With known demand; a forecast may be missing.

    Returns:
      day_on, actual (NaN where not observed), p10, p50, p90 (NaN for days past), basis,
      is_closed (known to be), events (kinds of events, a list), holidays (names, a
      list), p50_before (of the forecast before; NaN where it is of other days), planned
      (orders that a planner set for a day ahead, else NaN), reason, made_by.
    """
    until = fresh.until if fresh.origin_on is not None else fresh.newest
    since = fresh.newest - timedelta(days=HISTORY_DAYS - 1)
    return read(
        sql.DEPOT_DAYS,
        numbers=["actual", *FORECAST, "p50_before", "planned"],
        days=["day_on"],
        depot=depot,
        since=since,
        until=max(fresh.newest, until),
        origin=fresh.origin_on,
        model=fresh.model,
    )


@st.cache_data(max_entries=128, show_spinner=False)
def past_forecasts(depot: str, fresh: Freshness) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """The last forecast of each of 28 past days, with the actuals.

    Args:
      depot: A depot_id.
      fresh: Only keys the cache.

    Returns:
      target_on, origin_on, actual, p10, p50, p90, is_live, model_version, oldest day
      first. Live forecasts only; hindcasts only where the depot has no live one.
    """
    return read(
        sql.PAST_FORECASTS,
        numbers=["actual", *FORECAST],
        days=["target_on", "origin_on"],
        depot=depot,
        days_back=PAST_DAYS,
    )


@st.cache_data(max_entries=128, show_spinner=False)
def events_ahead(depot: str, fresh: Freshness) -> pd.DataFrame:
    """Holidays and events of a depot in the 28 days after the newest one.

    Args:
      depot: A depot_id.
      fresh: With known demand.

    Returns:
      what, is_holiday (then `what` is its name, else a kind), starts_on, ends_on, scope
      ('this depot', 'all of CITY', 'everywhere', 'public holiday').
    """
    return read(
        sql.EVENTS_AHEAD,
        days=["starts_on", "ends_on"],
        depot=depot,
        first=fresh.newest + timedelta(days=1),
        until=fresh.newest + timedelta(days=EVENT_DAYS),
    )
