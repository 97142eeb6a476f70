"""The filters of the page "Accuracy", all in its address."""

from datetime import date, datetime

import streamlit as st

from dashboard import queries
from dashboard.components import widgets
from dashboard.queries import ScoreFilter
from dashboard.queries.freshness import Freshness
from dashboard.text import formatting

ALL = "all"
PERIODS = {
    "1": "last day",
    "7": "last 7 days",
    "28": "last 4 weeks",
    "56": "last 8 weeks",
    "182": "last 26 weeks",
}
"""Periods that can be chosen: days back, and their words."""
DEFAULT_PERIOD = "56"
NOT_SCORED = (
    "No {} has been scored yet. Scores appear the night after the forecast day; `harbor "
    "backfill --from DAY --to DAY` makes and scores hindcasts of past days."
)
NO_SCORES = "No scores for this choice. Choose a longer period, another city or depot."


def score_filter(live: bool, newest_on: date, freshness: Freshness) -> ScoreFilter:
    """Shows the filters by city, period and depot; returns what they let through.

    `newest_on` is the newest day that is scored.
    """
    depots = queries.depots(freshness)
    periods = {days: words.capitalize() for days, words in PERIODS.items()}
    today = datetime.now(queries.zone()).date()
    periods["1"] = formatting.past_day(newest_on, today)
    with st.container(horizontal=True):
        city = widgets.choose_city(sorted(depots["city"].unique()))
        period = widgets.choose_from_url(
            "Period", "period", periods, DEFAULT_PERIOD, width=160
        )
        if city:
            depots = depots[depots["city"] == city]
        labels = {ALL: "All depots"}
        labels |= dict(zip(depots["depot_id"], depots["label"], strict=True))
        depot = widgets.choose_from_url("Depot", "depot", labels, ALL, width=340)
    return ScoreFilter(live, city, "" if depot == ALL else depot, int(period))
