"""Of the planners' overrides."""

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from dashboard.queries.sql import overrides as statements

MOST_OVERRIDES = 50


@st.cache_data(max_entries=4, show_spinner=False)
def overrides_ahead(fresh: Freshness) -> pd.DataFrame:
    """How planners left each day ahead that one of them has touched.

    Args:
      fresh: With a forecast.

    Returns:
      depot_id, target_on, action (the last one: 'set', 'lock', 'unlock', 'withdraw'),
      orders (planned; NaN where it was taken back), reason, made_by, made_at.
    """
    return read(
        statements.OVERRIDES_AHEAD,
        numbers=["orders"],
        days=["target_on"],
        origin=fresh.origin,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def override_history(city: str, fresh: Freshness) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """Everything planners did, newest first; 50 at most.

    Args:
      city: Its name, or '' for the whole fleet.
      fresh: Part of the cache's key and of nothing else.

    Returns:
      override_id, depot_id, name, target_on, action, orders, p50 (of the forecast shown
      then), reason, made_by, made_at.
    """
    return read(
        statements.OVERRIDE_HISTORY,
        numbers=["orders", "p50"],
        days=["target_on"],
        city=city,
        most=MOST_OVERRIDES,
    )
