"""Of one depot: its days, what was said of them, what is on."""

from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from dashboard.queries.rows import known
from dashboard.queries.sql import depot as statements
from dashboard.queries.sql import fleet as fleet_statements
from dashboard.queries.types import Before, Lateness, News

HISTORY_DAYS = 56
PAST_DAYS = 28
EVENT_DAYS = 28
FORTNIGHT = timedelta(days=14)
FORECAST = ("p10", "p50", "p90")


@st.cache_data(max_entries=4, show_spinner=False)
def depots(fresh: Freshness) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """Every depot, by city and name.

    Args:
      fresh: Part of the cache's key and of nothing else.

    Returns:
      depot_id, label (name, city and id in one).
    """
    return read(fleet_statements.DEPOTS)


@st.cache_data(max_entries=128, show_spinner=False)
def news(depot: str, fresh: Freshness) -> News:
    """Whether a depot's orders have come, and what came since the forecast before.

    Args:
      depot: A depot_id that exists.
      fresh: With known demand; a forecast may be missing.
    """
    row = read(
        statements.NEWS,
        depot=depot,
        as_of=fresh.newest,
        since=fresh.oldest_news - FORTNIGHT,
        origin=fresh.origin_on,
        until=fresh.until_on,
    ).iloc[0]
    late = Lateness(
        last_on=known(row["last_on"]),
        due_on=known(row["due_on"]),
        is_late=bool(row["is_late"]),
    )
    gated = bool(row["is_gated"])
    if known(row["before_on"]) is None:
        return News(late, None, gated)
    events = tuple(row["new_events"])
    before = Before(
        row["before_on"], row["before_model"], int(row["corrected"]), events
    )
    return News(late, before, gated)


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
        statements.DEPOT_DAYS,
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
    """What was last said of each of 28 past days, beside what happened.

    Args:
      depot: A depot_id.
      fresh: Part of the cache's key and of nothing else.

    Returns:
      target_on, origin_on, actual, p10, p50, p90, is_live, model_version, oldest day
      first. Live forecasts only; hindcasts only where the depot has no live one.
    """
    return read(
        statements.PAST_FORECASTS,
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
        statements.EVENTS_AHEAD,
        days=["starts_on", "ends_on"],
        depot=depot,
        first=fresh.newest + timedelta(days=1),
        until=fresh.newest + timedelta(days=EVENT_DAYS),
    )
