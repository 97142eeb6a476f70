"""The cached parts of the page "Days ahead".

Rendering a thousand depots takes longer than querying them, so the HTML is cached too,
keyed by `Freshness`.
"""

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.queries.freshness import Freshness
from dashboard.tables import html_grids
from dashboard.text import ranking, summaries
from dashboard.text.summaries import Figures

ALL_CITIES = "All cities"


@st.cache_data(max_entries=4, show_spinner=False)
def cities(freshness: Freshness) -> list[str]:
    """Names of the cities with forecast depots, sorted."""
    return list(queries.fleet_week(freshness)["city"].unique())


@st.cache_data(max_entries=64, show_spinner=False)
def figures_and_grid(
    city: str, order: str, freshness: Freshness
) -> tuple[Figures, str]:
    """Key figures and grid of one of `cities` or `ALL_CITIES`, in a sort order."""
    depots = ranked(city, order, freshness)
    return summaries.week_figures(depots), html_grids.week(depots)


def ranked(city: str, order: str, freshness: Freshness) -> pd.DataFrame:
    """The days ahead of one of `cities` or `ALL_CITIES`, in a sort order."""
    week = queries.fleet_week(freshness)
    if city != ALL_CITIES:
        week = week[week["city"] == city]
    return ranking.rank(week, order)
