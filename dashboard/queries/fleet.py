"""Queries of the whole fleet: freshness, totals, and depots by day."""

from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from dashboard.queries.rows import none_if_null
from dashboard.sql import fleet as sql

FLEET_DAYS = 21
FORECAST = ("p10", "p50", "p90")
COMPARED = ("week_before", "change", "p50_before", "revised")
FORTNIGHT = timedelta(days=14)


@st.cache_data(ttl=2, max_entries=1, show_spinner=False)
def freshness() -> Freshness:
    """Freshness of data and forecast; refreshed every two seconds."""
    row = read(sql.FRESHNESS).iloc[0]
    return Freshness(
        depots=int(row["depots"]),
        last_on=none_if_null(row["last_on"]),
        champion=none_if_null(row["champion"]),
        origin_on=none_if_null(row["origin_on"]),
        until_on=none_if_null(row["until_on"]),
        model=none_if_null(row["model_version"]),
        trained_through=none_if_null(row["trained_through"]),
        filename=none_if_null(row["filename"]),
        sha256=none_if_null(row["sha256"]),
        made_at=none_if_null(row["made_at"]),
        worked_at=none_if_null(row["worked_at"]),
        last_override=none_if_null(row["last_override"]),
        late_cities=tuple((none_if_null(row["late_cities"]) or {}).items()),
        alarms=tuple(row["alarms"] or ()),
        zones=tuple((none_if_null(row["zones"]) or {}).items()),
    )


@st.cache_data(max_entries=64, show_spinner=False)
def daily_totals(city: str, fresh: Freshness) -> pd.DataFrame:
    """Orders of all depots together, or of one city's, by day.

    Args:
      city: Its name, or '' for the whole fleet.
      fresh: With a forecast.

    Returns:
      day_on, actual (NaN for days ahead, and for a day of which no depot's count is
      known), p50 (sum of the depots' medians; NaN for days past), p10 and p90 (the 80 %
      band of the total itself; NaN where it was not forecast), missing (depots that
      were open, had been counted before, and have no count of that day): every one of
      the 21 days up to the origin and of the days forecast.
    """
    return read(
        sql.DAILY_TOTALS,
        numbers=["actual", *FORECAST],
        days=["day_on"],
        city=city,
        since=fresh.origin - timedelta(days=FLEET_DAYS - 1),
        origin=fresh.origin,
        model=fresh.model,
        until=fresh.until,
    )


@st.cache_data(max_entries=4, show_spinner=False)
def fleet_week(fresh: Freshness) -> pd.DataFrame:
    """The days ahead of every depot, by city and name.

    Args:
      fresh: With a forecast.

    Returns:
      One row per depot and day. depot_id, name, city, vans, last_on (its newest day of
      known demand), is_late (that is older than it should be), is_silent (it was open,
      and has had none for a fortnight, or never), target_on, p10, p50,
      p90, basis ('model', 'cold_start', 'closed'), week_before (orders seven days before
      that day, NaN where not known or where it was closed on either), change (of the
      depot's days against those same days, a fraction), p50_before (what the forecast
      before said of that day, NaN where it did not), before_on (the origin of that one,
      NaT where there is none), revised (of the depot's days against those, a fraction;
      0 where they differ by less than half an order a day).
    """
    return read(
        sql.FLEET_WEEK,
        numbers=["vans", *FORECAST, *COMPARED],
        days=["last_on", "target_on", "before_on"],
        as_of=fresh.newest,
        since=fresh.lagging_day - FORTNIGHT,
        origin=fresh.origin,
        model=fresh.model,
        until=fresh.until,
    )
