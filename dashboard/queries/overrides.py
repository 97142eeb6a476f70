"""Queries of what planners have written: overrides, and the settings of cities."""

from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from dashboard.sql import fleet as sql

MAX_OVERRIDES = 50
BUSY_DAY_WINDOW = timedelta(weeks=8)
"""Days whose orders show a busy day."""


@st.cache_data(max_entries=4, show_spinner=False)
def city_settings(freshness: Freshness) -> pd.DataFrame:
    """The newest saved settings of each city that has any.

    Returns:
      settings_id, city, vans, orders_per_van, service_level (fraction), drivers_per_van,
      made_by, made_at.
    """
    return read(sql.CITY_SETTINGS)


@st.cache_data(max_entries=4, show_spinner=False)
def busy_day_orders(freshness: Freshness) -> pd.DataFrame:
    """Orders of each city on a busy day: the 90th percentile of the last eight weeks' days.

    Returns:
      city, orders (per day).
    """
    return read(
        sql.BUSY_DAY_ORDERS,
        numbers=["orders"],
        since=freshness.newest - BUSY_DAY_WINDOW + timedelta(days=1),
        until=freshness.newest,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def override_history(city: str, freshness: Freshness) -> pd.DataFrame:
    """The newest 50 overrides of a city, or of all (''), newest first.

    Returns:
      override_id, depot_id, name, target_on, orders (the planner's number; NaN: the model's
      again), undoes (the override that it took back; NaN for none), point (the model's
      forecast when it was saved), reason, made_by, made_at.
    """
    return read(
        sql.OVERRIDE_HISTORY,
        numbers=["orders", "undoes", "point"],
        days=["target_on"],
        city=city,
        row_limit=MAX_OVERRIDES,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def newest_change(planner: str, city: str, freshness: Freshness) -> pd.DataFrame:
    """What a planner changed last in a city, together, of the days ahead; requires a forecast.

    Returns:
      A row for each override: override_id, depot_id, name, target_on, orders, undoes and
      made_at as in `override_history`. None of days that somebody changed since.
    """
    return read(
        sql.NEWEST_CHANGE,
        numbers=["orders", "undoes"],
        days=["target_on"],
        planner=planner.strip(),
        city=city,
        origin=freshness.origin,
    )
