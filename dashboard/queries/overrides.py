"""Queries of what planners have written: overrides, and the settings of cities."""

from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from dashboard.sql import fleet as sql

MAX_OVERRIDES = 50
EIGHT_WEEKS = timedelta(days=55)


@st.cache_data(max_entries=4, show_spinner=False)
def city_settings(freshness: Freshness) -> pd.DataFrame:
    """The newest saved settings of each city that has any.

    Returns:
      settings_id, city, vans, orders_per_van, service_level (fraction), drivers_per_van,
      made_by, made_at.
    """
    return read(sql.CITY_SETTINGS)


@st.cache_data(max_entries=4, show_spinner=False)
def busy_days(freshness: Freshness) -> pd.DataFrame:
    """Returns the 90th percentile of each city's daily orders of eight weeks: city, orders."""
    return read(
        sql.BUSY_DAYS,
        numbers=["orders"],
        since=freshness.newest - EIGHT_WEEKS,
        until=freshness.newest,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def override_history(city: str, freshness: Freshness) -> pd.DataFrame:
    """The newest 50 overrides of a city, or of all (''), newest first.

    Returns:
      override_id, depot_id, name, target_on, action, orders, point (of the forecast shown
      then), reason, made_by, made_at.
    """
    return read(
        sql.OVERRIDE_HISTORY,
        numbers=["orders", "point"],
        days=["target_on"],
        city=city,
        row_limit=MAX_OVERRIDES,
    )
