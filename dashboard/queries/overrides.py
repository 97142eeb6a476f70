"""Queries of the planners' overrides."""

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from dashboard.sql import fleet as sql

MAX_OVERRIDES = 50


@st.cache_data(max_entries=4, show_spinner=False)
def overrides_ahead(freshness: Freshness) -> pd.DataFrame:
    """The latest override of each overridden day ahead; requires a forecast.

    Returns:
      depot_id, target_on, action ('set', 'lock', 'unlock', 'withdraw'), orders (NaN where
      withdrawn), reason, made_by, made_at.
    """
    return read(
        sql.OVERRIDES_AHEAD,
        numbers=["orders"],
        days=["target_on"],
        origin=freshness.origin,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def override_history(city: str, freshness: Freshness) -> pd.DataFrame:
    """The newest 50 overrides of a city, or of all (''), newest first.

    Returns:
      override_id, depot_id, name, target_on, action, orders, p50 (of the forecast shown
      then), reason, made_by, made_at.
    """
    return read(
        sql.OVERRIDE_HISTORY,
        numbers=["orders", "p50"],
        days=["target_on"],
        city=city,
        row_limit=MAX_OVERRIDES,
    )
