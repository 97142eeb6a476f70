"""Cached parts of the page "Days ahead".

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
def cities(fresh: Freshness) -> list[str]:
    """Names of the cities with forecast depots, sorted.

    Args:
      fresh: With a forecast.
    """
    return list(queries.fleet_week(fresh)["city"].unique())


@st.cache_data(max_entries=64, show_spinner=False)
def figures(city: str, fresh: Freshness) -> Figures:
    """Key figures of a city, or of `ALL_CITIES`.

    Args:
      city: One of `cities`, or `ALL_CITIES`.
      fresh: With a forecast.
    """
    return summaries.week_figures(_here(city, fresh))


@st.cache_data(max_entries=64, show_spinner=False)
def grid(city: str, order: str, fresh: Freshness) -> str:
    """The depots × days grid of a city, or of `ALL_CITIES`, as HTML.

    Args:
      city: One of `cities`, or `ALL_CITIES`.
      order: One of `ranking.SORT_ORDERS`.
      fresh: With a forecast.
    """
    return html_grids.week(ranking.rank(_here(city, fresh), order))


def rows(city: str, order: str, fresh: Freshness) -> pd.DataFrame:
    """The data of `grid`, including depots cut from the HTML.

    Args:
      city: One of `cities`, or `ALL_CITIES`.
      order: One of `ranking.SORT_ORDERS`.
      fresh: With a forecast.
    """
    return ranking.rank(_here(city, fresh), order)


def _here(city: str, fresh: Freshness) -> pd.DataFrame:
    week = queries.fleet_week(fresh)
    return week if city == ALL_CITIES else week[week["city"] == city]
