"""Cached parts of the page "Days ahead", and the names of days, which page Plan also shows.

Rendering a thousand depots takes longer than querying them, so the HTML is cached too,
keyed by `Freshness`.
"""

from collections.abc import Mapping
from datetime import date
from itertools import groupby

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.planning import city_settings
from dashboard.queries.depot import HISTORY_DAYS
from dashboard.queries.freshness import Freshness
from dashboard.tables import html_brief, html_grids
from dashboard.text import brief, formatting, plan_summaries, summaries
from pipelines.planning.days_ahead import FLEET_DAYS

OCCASIONS = "Holidays and events"
SPANS = {"3 weeks": FLEET_DAYS, "13 months": HISTORY_DAYS, OCCASIONS: HISTORY_DAYS}
"""Days of history in the chart or list of page Days ahead, by the label of the choice."""


@st.cache_data(max_entries=4, show_spinner=False)
def cities(freshness: Freshness) -> list[str]:
    """Names of the cities with forecast depots, sorted."""
    return list(queries.fleet_week(freshness)["city"].unique())


@st.cache_data(max_entries=64, show_spinner=False)
def brief_html(
    city: str, freshness: Freshness, today: date, due_on: date, days: pd.DataFrame
) -> str:
    """The brief of a city, or of all (''), from `Plan.cities`; orders up to `due_on` are due."""
    assert freshness.last_on is not None, "requires known demand"
    shown = (queries.fleet_week, queries.fleet_events, queries.last_day)
    every = [query(freshness) for query in shown]
    days, week, events, scored = [of_city(rows, city) for rows in (days, *every)]
    is_scored = scored["point"].notna().any()
    occasions = day_names(city, freshness).get(pd.Timestamp(freshness.last_on), "")
    address = formatting.link("accuracy", period=f"{freshness.last_on}", city=city)
    return html_brief.brief(
        brief.decisions(days, week, events, today, freshness.newest, queries.zone()),
        plan_summaries.short_days(days),
        summaries.last_day_sentence(scored, freshness.last_on, today, occasions),
        address if is_scored else "",
        brief.estimated_cities(days, city_settings.by_city(freshness)),
        is_current=freshness.origin >= due_on,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def grid_html(city: str, freshness: Freshness) -> str:
    """HTML of the depots × days grid of a city, or of all cities ('')."""
    depots = ranked(city, freshness)
    shown = {"": city} | {each: each for each in depots["city"].unique()}
    names = {key: day_names(own, freshness) for key, own in shown.items()}
    events = queries.fleet_events(freshness, HISTORY_DAYS)
    before = brief.names_of_last_year(events, depots["city"].nunique(), city)
    return html_grids.fleet_grid(depots, names, before)


@st.cache_data(max_entries=64, show_spinner=False)
def day_names(
    city: str, freshness: Freshness, n_days: int = FLEET_DAYS
) -> dict[pd.Timestamp, str]:
    """Names of each day's holidays and events in a city, or in all cities ('')."""
    if freshness.origin_on is None:
        return {}
    events = queries.fleet_events(freshness, n_days)
    n_cities = len(cities(freshness))
    return brief.day_names(events, n_cities, city)


def show_day_names(names: Mapping[pd.Timestamp, str], rows: pd.DataFrame) -> None:
    """Shows `of_some_cities`, and names for which the grid has no room: '▲ Fri 27 Nov: Black Friday.'."""
    if some := summaries.of_some_cities(rows):
        st.caption(formatting.escape_markdown(some))
    days = rows["target_on"].drop_duplicates().sort_values()
    runs = [(name, list(run)) for name, run in groupby(days, names.get) if name]
    listed = "; ".join(
        f"{formatting.day_range(run[0], run[-1])}: {name}" for name, run in runs
    )
    if listed:
        with st.container(key="names-of-days"):
            st.caption(formatting.escape_markdown(f"▲ {listed}."))


def last_week_note(names: Mapping[pd.Timestamp, str], first: pd.Timestamp) -> str:
    """Markdown on the `day_names` before `first`: 'The last 7 days had Pay Day.'; '' without names."""
    week = pd.date_range(end=first - formatting.A_DAY, periods=summaries.WEEK_DAYS)
    told = formatting.listed([*dict.fromkeys(filter(None, map(names.get, week)))])
    return formatting.escape_markdown(f"The last 7 days had {told}." if told else "")


def daily_totals(city: str, freshness: Freshness, n_days: int) -> pd.DataFrame:
    """`queries.daily_totals` with `notes`, the holidays and events of each day."""
    totals = queries.daily_totals(city, freshness, n_days)
    names = day_names(city, freshness, n_days)
    return totals.assign(notes=[names.get(day, "") for day in totals["day_on"]])


def ranked(city: str, freshness: Freshness) -> pd.DataFrame:
    """Rows of `queries.fleet_week` of a city, or of all (''), sorted by `rank`."""
    return rank(of_city(queries.fleet_week(freshness), city))


def of_city(rows: pd.DataFrame, city: str) -> pd.DataFrame:
    """The rows of a city, or all ('')."""
    return rows[rows["city"] == city] if city and len(rows) else rows


def rank(week: pd.DataFrame) -> pd.DataFrame:
    """Sorts rows of `queries.fleet_week` by city, depots with missing data first, then by name."""
    has_all = ~(week["is_late"] | week["is_silent"])
    by = ["city", "has_all", "name", "depot_id", "target_on"]
    in_order = week.assign(has_all=has_all).sort_values(by, ignore_index=True)
    return in_order.drop(columns="has_all")
