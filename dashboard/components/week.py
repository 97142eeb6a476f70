"""What the page of the days ahead is put together from, kept until the numbers change.

A thousand depots by seven days take longer to write out than to look up, so what is
written is kept too, under the `Freshness` it was written under.
"""

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.queries.freshness import Freshness
from dashboard.tables import html_grids
from dashboard.text import ranking, summaries
from dashboard.text.summaries import Figures

EVERYWHERE = "All cities"


@st.cache_data(max_entries=4, show_spinner=False)
def cities(fresh: Freshness) -> list[str]:
    """Cities with a depot that is forecast, by name.

    Args:
      fresh: With a forecast.
    """
    return list(queries.fleet_week(fresh)["city"].unique())


@st.cache_data(max_entries=64, show_spinner=False)
def figures(city: str, fresh: Freshness) -> Figures:
    """The days ahead of a city, or of `EVERYWHERE`, in a few numbers.

    Args:
      city: One of `cities`, or `EVERYWHERE`.
      fresh: With a forecast.
    """
    return summaries.week_figures(_here(city, fresh))


@st.cache_data(max_entries=64, show_spinner=False)
def grid(city: str, order: str, fresh: Freshness) -> str:
    """The depots of a city, or of `EVERYWHERE`, by day, as HTML.

    Args:
      city: One of `cities`, or `EVERYWHERE`.
      order: One of `attention.MEANS`.
      fresh: With a forecast.
    """
    return html_grids.week(ranking.ranked(_here(city, fresh), order))


def rows(city: str, order: str, fresh: Freshness) -> pd.DataFrame:
    """The numbers of `grid`, every depot of them.

    Args:
      city: One of `cities`, or `EVERYWHERE`.
      order: One of `attention.MEANS`.
      fresh: With a forecast.
    """
    return ranking.ranked(_here(city, fresh), order)


def _here(city: str, fresh: Freshness) -> pd.DataFrame:
    week = queries.fleet_week(fresh)
    return week if city == EVERYWHERE else week[week["city"] == city]
