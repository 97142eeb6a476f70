"""One scored day of the page "Accuracy": errors by city and depot, with notes."""

from collections.abc import Collection
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.components import days_ahead, score_filter, widgets
from dashboard.queries import ScoreFilter
from dashboard.queries.depot import HISTORY_DAYS
from dashboard.queries.freshness import Freshness
from dashboard.queries.scores import SCORED_DAYS
from dashboard.tables import display_tables, html_tables
from dashboard.tables.workbook import Sheets
from dashboard.text import formatting, summaries

MAX_DEPOTS, MAX_WORST, MAX_WORST_DAYS = 50, 10, 5
"""Maximum rows of a long table (Excel has them all), and of the two "furthest off" tables."""


def last_day(
    scope: ScoreFilter, day_on: date, freshness: Freshness
) -> tuple[pd.DataFrame | None, str]:
    """A day's rows of `queries.last_day` in the filter's city, and its headline, as in the message.

    For one depot and for hindcasts there are no rows; a depot's headline is its outcome.
    """
    if scope.depot:
        of_day = replace(scope, days_back=1, day_on=day_on)
        rows = queries.largest_errors(of_day, freshness).to_dict("records")
        return None, " ".join(map(summaries.outcome_sentence, rows))
    if not scope.live:
        return None, ""
    scored = queries.last_day(replace(freshness, last_on=day_on))
    here = days_ahead.of_city(scored, scope.city)
    today = datetime.now(queries.zone()).date()
    names = days_ahead.day_names(scope.city, freshness, HISTORY_DAYS)
    occasions = names.get(pd.Timestamp(day_on), "")
    return here, summaries.last_day_sentence(here, day_on, today, occasions)


def neighbours(day_on: date, days: Collection[date]) -> None:
    """Links to the days before and after a day that are among `score_filter.single_days`."""
    chosen = st.query_params.to_dict()
    with st.container(horizontal=True, key="neighbours"):
        for step, label in ((-1, "‹ {}"), (1, "{} ›")):
            if (day := day_on + step * formatting.A_DAY) in days:
                address = formatting.link("accuracy", **chosen | {"period": f"{day}"})
                widgets.note(label.format(formatting.day(day)), address)


def show(
    scope: ScoreFilter, scored: pd.DataFrame | None, freshness: Freshness
) -> Sheets:
    """Shows totals by city, and depots furthest off first; returns both as sheets.

    Totals are left out for one city, and where `scored` is None: for one depot and for hindcasts.
    """
    sheets: Sheets = {}
    misses = queries.largest_errors(scope, freshness)
    if scored is not None:
        # Actuals may have been corrected since the day was scored.
        known = scored[["depot_id", "actual"]].dropna()
        misses = known.merge(misses.drop(columns="actual"), on="depot_id")
        cities = display_tables.last_day_by_city(scored)
        sheets["By city"] = "Forecast and actual orders of each city", cities
    if misses.empty:
        widgets.stop_page(score_filter.NO_SCORES)
    if scored is None or scope.city:
        by_depot = st.container()
    else:
        by_city, by_depot = st.columns((0.35, 0.65), gap="large")
        with by_city:
            st.header("By city")
            of_day = partial(
                formatting.link, "accuracy", period=st.query_params["period"]
            )
            links = [of_day(city=each) for each in cities["City"]]
            widgets.small_table(cities, "By city", links={"City": links})
            st.caption(summaries.TOTALS_NOTE)
    name = "By depot" if not scope.depot else "Forecast and orders"
    with by_depot:
        st.header(name)
        table = show_misses(name, misses, scope, freshness)
        if scored is not None:
            every = days_ahead.of_city(queries.depots(freshness), scope.city)
            others = every.loc[~every["depot_id"].isin(misses["depot_id"]), "name"]
            if told := formatting.listed([*others]):
                st.caption(f"Closed or not scored: {told}.")
    sheets[name] = "Forecast and actual orders, furthest off first", table
    return sheets


def show_misses(
    name: str, misses: pd.DataFrame, scope: ScoreFilter, freshness: Freshness
) -> pd.DataFrame:
    """Shows the first rows of `queries.largest_errors` with notes; returns all rows."""
    widgets.cut_notice(len(misses), MAX_DEPOTS)
    st.caption(display_tables.MISSES_NOTE)
    unused = "Day" if scope.days_back == 1 else html_tables.ERROR_SHARE
    key, unused = ("Day", "Depot") if scope.depot else ("Depot", unused)
    table = display_tables.largest_errors(misses).drop(columns=unused)
    first, shown = misses.head(MAX_DEPOTS), table.head(MAX_DEPOTS)
    # Page Depot explains live forecasts only, of the last `SCORED_DAYS` days.
    last_on = freshness.last_on if scope.live else None
    since = last_on - timedelta(days=SCORED_DAYS - 1) if last_on else date.max
    links = {key: display_tables.why_links(first, since)}
    if scope.live and "Day" in table and not scope.depot:
        links["Day"] = display_tables.day_links(first, scope.city)
    widgets.small_table(shown, name, [html_tables.ERROR_SHARE], links=links)
    return table
