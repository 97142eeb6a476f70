"""The filters of the page "Accuracy", all kept in its URL."""

from datetime import date, datetime

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.components import days_ahead, widgets
from dashboard.queries import ScoreFilter
from dashboard.queries.depot import HISTORY_DAYS
from dashboard.queries.freshness import Freshness
from dashboard.queries.scores import SCORED_DAYS
from dashboard.text import formatting

ALL = "all"
PERIODS = {7: "Last 7 days", 28: "Last 4 weeks", 56: "Last 8 weeks", 182: "Last 26 weeks"}  # fmt: skip
"""Labels of the periods that can be chosen besides the last day, by number of days."""
NOT_SCORED = (
    "No {} has been scored yet. Scores appear the night after the forecast day; `harbor "
    "backfill --from DAY --to DAY` makes and scores hindcasts of past days."
)
NO_SCORES = "No scores for this choice. Choose another period, city or depot."


def single_days(first_on: date, newest_on: date) -> list[date]:
    """The single days that can be chosen, newest first."""
    every = (newest_on - n * formatting.A_DAY for n in range(max(PERIODS)))
    return [day for day in every if day >= first_on]


def score_filter(
    live: bool, first_on: date, newest_on: date, freshness: Freshness
) -> ScoreFilter:
    """Shows the filters by city, period and depot; returns the chosen filter.

    A period is a number of days, or one day as an ISO date. `first_on` and `newest_on` are the
    first and the last scored day.
    """
    depots = queries.depots(freshness)
    own = depots.set_index("depot_id")["city"].get(st.query_params.get("depot"))
    if own and "city" not in st.query_params and st.session_state[widgets.IS_NEW_PAGE]:
        st.query_params["city"] = own
    today = datetime.now(queries.zone()).date()
    # Of periods with the same scored days, one is offered.
    n_days, default = (newest_on - first_on).days + 1, f"{SCORED_DAYS}"
    periods = {
        f"{days}": words
        for days, words in PERIODS.items()
        if days < n_days or n_days > SCORED_DAYS or days == SCORED_DAYS
    }
    if 1 < n_days < SCORED_DAYS:
        periods[default] = f"All {n_days} days"
    with st.container(horizontal=True, key="score-filter"):
        city = widgets.choose_city(sorted(depots["city"].unique()))
        names = days_ahead.day_names(city, freshness, HISTORY_DAYS)
        days = {}
        for day in single_days(first_on, newest_on):
            label = formatting.past_day(day, today), names.get(pd.Timestamp(day))
            days[f"{day}"] = " · ".join(filter(None, label))
        # The newest day comes first, the others follow the longer periods.
        every = {f"{newest_on}": days[f"{newest_on}"]} | periods | days
        period = widgets.choose_from_url("Period", "period", every, default, width=260)
        if city:
            depots = depots[depots["city"] == city]
        labels = {ALL: "All depots"}
        labels |= dict(zip(depots["depot_id"], depots["label"], strict=True))
        depot = widgets.choose_from_url("Depot", "depot", labels, ALL, width=340)
    depot = "" if depot == ALL else depot
    if period.isdecimal():
        return ScoreFilter(live, city, depot, int(period))
    return ScoreFilter(live, city, depot, 1, date.fromisoformat(period))
