"""The plan of the whole fleet, cached; requires a forecast."""

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.planning import city_settings, planning
from dashboard.queries.freshness import Freshness


@st.cache_data(max_entries=4, show_spinner=False)
def plan(freshness: Freshness) -> pd.DataFrame:
    """`planning.make_plan` of the whole fleet with its settings."""
    week = queries.fleet_week(freshness)
    return planning.make_plan(week, city_settings.by_city(freshness))


@st.cache_data(max_entries=4, show_spinner=False)
def totals(freshness: Freshness) -> pd.DataFrame:
    """`planning.by_city` of the whole fleet."""
    settings = city_settings.by_city(freshness)
    return planning.by_city(plan(freshness), settings, queries.city_bands(freshness))
