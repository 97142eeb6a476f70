"""The query of the running day."""

from datetime import datetime

import pandas as pd
import streamlit as st

from dashboard.queries.database import read
from dashboard.queries.freshness import Freshness
from pipelines.schema.running_day import RUNNING_DAY


@st.cache_data(max_entries=4, show_spinner=False)
def running_depots(now: datetime, freshness: Freshness) -> pd.DataFrame:
    """The depots of which orders of the running day have come: see `today.running_cities`."""
    if not freshness.has_hours:
        return pd.DataFrame()
    return read(
        RUNNING_DAY,
        numbers=["part"],
        days=["target_on"],
        now=now,
        origin=freshness.origin,
        model=freshness.model,
    )
