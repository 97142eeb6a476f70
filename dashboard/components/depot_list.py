"""The depots of the fleet with their next orders, to choose one: page Depot without one."""

from datetime import datetime

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.queries.freshness import Freshness
from dashboard.tables import html_grids
from dashboard.text import formatting

MAX_DEPOTS = 1000
"""Depots in the list; the box above it finds them all."""


def depot_list(depots: pd.DataFrame, freshness: Freshness) -> None:
    """The depots of each city, with the orders planned for tomorrow and for all days ahead.

    Args:
      depots: `queries.depots`.
      freshness: Of the forecast; without one the list has names alone.
    """
    shown, heads = depots.head(MAX_DEPOTS).copy(), []
    week = pd.DataFrame()
    if freshness.origin_on is not None:
        week = queries.fleet_week(freshness)
    if not week.empty:
        today = pd.Timestamp(datetime.now(queries.zone()).date())
        tomorrow = min(today + formatting.A_DAY, week["target_on"].max())
        of_day = week[week["target_on"] == tomorrow]
        all_days = formatting.count(week["target_on"].nunique(), "day")
        heads = [formatting.day(tomorrow), all_days]
        st.caption("Orders planned for tomorrow, and for all days ahead.")
        for head, rows in zip(heads, (of_day, week), strict=True):
            orders = rows.groupby("depot_id")["point"].sum()
            shown[head] = shown["depot_id"].map(orders)
    if len(shown) < len(depots):
        more = len(depots) - len(shown)
        st.caption(f"Not in this list: {more:,} more depots. The box above finds them.")
    st.html(html_grids.depots(shown, heads))
