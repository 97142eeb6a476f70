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
      override_id, depot_id, name, target_on, action, orders (the planner's number), point
      (the model's forecast when it was saved), reason, made_by, made_at.
    """
    return read(
        sql.OVERRIDE_HISTORY,
        numbers=["orders", "point"],
        days=["target_on"],
        city=city,
        row_limit=MAX_OVERRIDES,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def last_change(planner: str, freshness: Freshness) -> pd.DataFrame:
    """What a planner saved last, as long as it can be undone; requires a forecast.

    Returns:
      A row for each override: saved_id, action, saved_orders (NaN where withdrawn), saved_point
      (the model's number of then), reason, made_at, name (of the depot); of its day before:
      depot_id, target_on, point, model_point, override_id (NaN without one), is_set,
      is_locked, basis. Empty where the forecast has changed since, or somebody a day.
    """
    return read(
        sql.LAST_CHANGE,
        numbers=["saved_orders", "saved_point", "point", "model_point", "override_id"],
        days=["target_on"],
        planner=planner.strip(),
        origin=freshness.origin,
        model=freshness.model,
    )
