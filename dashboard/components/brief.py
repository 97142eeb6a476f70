"""The morning brief on the page "Days ahead", cached because it looks at every depot."""

from datetime import date

import streamlit as st

from dashboard import queries
from dashboard.planning import city_settings, shortage
from dashboard.queries.freshness import Freshness
from dashboard.tables import html_brief
from dashboard.text import brief


@st.cache_data(max_entries=4, show_spinner=False)
def html(freshness: Freshness, today: date) -> str:
    """The brief as HTML; requires a forecast."""
    assert freshness.last_on is not None, "requires known demand"
    days = shortage.totals(freshness)
    decisions = brief.decisions(
        days,
        queries.fleet_week(freshness),
        queries.fleet_events(freshness),
        today,
        freshness.newest,
    )
    scored = queries.last_day(freshness)
    return html_brief.brief(
        decisions,
        brief.last_day_sentence(scored, freshness.last_on, today),
        "" if scored["point"].isna().all() else str(scored["depot_id"].iloc[0]),
        brief.caution(days, city_settings.by_city(freshness)),
    )
