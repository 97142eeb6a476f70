"""Parts of the page Plan: one city's plan, transfers, the address of a cell, exports."""

from datetime import date, datetime
from functools import partial
from html import escape

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.components import plan_forms, widgets
from dashboard.planning import city_settings, fleet_plan, planning
from dashboard.planning.city_settings import CitySettings
from dashboard.queries.freshness import Freshness
from dashboard.tables import plan_grids, workbook
from dashboard.text import formatting, plan_summaries

MAX_DEPOTS = 50
"""Depots of a city in the grid at first; a browser is slow with hundreds."""


@st.cache_data(max_entries=64, show_spinner=False)
def city_plan(city: str, freshness: Freshness) -> pd.DataFrame:
    """A city's rows of `fleet_plan.plan`, by depot and day."""
    plan = fleet_plan.plan(freshness)
    own = plan[plan["city"] == city]
    return own.sort_values(["name", "depot_id", "target_on"], ignore_index=True)


def depots_in_grid(plan: pd.DataFrame, days: pd.DataFrame, depot: str) -> pd.DataFrame:
    """The rows of the depots in the grid; in a large city the planner finds or adds others.

    Args:
      plan: `city_plan`.
      days: Its rows of `fleet_plan.totals`.
      depot: A depot_id that is always in the grid; '' for none.

    Returns:
      Rows of `plan`: at first of the 50 depots shortest of vans.
    """
    n_depots = plan["depot_id"].nunique()
    if n_depots <= MAX_DEPOTS:
        return plan
    with st.container(horizontal=True, vertical_alignment="bottom", key="plan-find"):
        text = st.text_input(
            "Find depots", placeholder="Part of a name", width=320, key="find depots"
        ).strip()
        is_all = st.toggle(f"Show all {n_depots:,} depots")
    if text:
        is_shown = plan["name"].str.lower().str.contains(text.lower(), regex=False)
        n_shown = plan.loc[is_shown, "depot_id"].nunique()
        st.caption(formatting.escape_markdown(_of_search(text, n_shown, n_depots)))
    elif is_all:
        return plan
    else:
        short = workbook.with_short(plan, days).groupby("depot_id")["short"].sum()
        is_shown = plan["depot_id"].isin(short.nlargest(MAX_DEPOTS).index)
        st.caption(
            f"{MAX_DEPOTS} of {n_depots:,} depots, those shortest of vans first. Totals are "
            "of all depots."
        )
    return plan[is_shown | (plan["depot_id"] == depot)]


def _of_search(text: str, n_shown: int, n_depots: int) -> str:
    """Says how many depots have a text in their name."""
    if not n_shown:
        return f"No depot's name contains “{text}”. Clear the field to see the others."
    return (
        f"{n_shown:,} of {n_depots:,} depots have “{text}” in their name. Totals are of all "
        "depots."
    )


def transfers(plan: pd.DataFrame) -> None:
    """The vans that move between the depots of a city."""
    html = plan_grids.transfers(planning.transfers_by_day(plan))
    if html:
        st.subheader("Vans to move")
        st.html(html)


def depot_change_form(depot: str, freshness: Freshness) -> None:
    """The form for a change of one depot's planned orders, in an expander."""
    expander = st.expander(
        "Change orders",
        icon=":material/edit:",
        key=f"change {depot}",
        on_change="rerun",
    )
    if not expander.open:
        return
    name = city_of(depot, freshness)
    with expander:
        if name is None:
            st.markdown("This depot is closed for good, so there is nothing to plan.")
            return
        plan_forms.change_form(
            city_plan(name, freshness),
            city_settings.by_city(freshness),
            queries.city_bands(freshness),
            depot,
        )


def city_of(depot: str, freshness: Freshness) -> str | None:
    """City of a depot that is planned; None for one that is closed for good."""
    week = queries.fleet_week(freshness)
    cities = week.loc[week["depot_id"] == depot, "city"]
    return None if cities.empty else str(cities.iloc[0])


def settings_note(settings: CitySettings) -> None:
    """What a city plans with; leads to its form where nobody has set it."""
    text = plan_summaries.settings_text(settings, queries.zone())
    html = escape(text)
    if settings.made_at is None:
        stem = escape(text.removesuffix(f"{plan_summaries.ESTIMATED}."))
        link = escape(formatting.settings_link(settings.city))
        html = f'{stem}<a href="{link}" target="_self">{plan_summaries.ESTIMATED}</a>.'
    st.html(f'<p class="hf-note">{html}</p>')


def print_heading(days: pd.DataFrame) -> None:
    """A heading that is only printed: the city, its days, and when."""
    zone = queries.zone()
    heading = plan_summaries.print_heading(days, datetime.now(zone), zone)
    st.html(f'<p class="hf-print">{escape(heading)}</p>')


def cell_of_address(plan: pd.DataFrame) -> tuple[str, date | None]:
    """The depot and day named by the address; '' and None where it names none.

    A depot of another city, and a day that is not ahead, are explained.
    """
    depot = st.query_params.get("depot", "")
    if depot and depot not in set(plan["depot_id"]):
        name = formatting.escape_markdown(depot)
        widgets.empty_state(f"This city has no open depot “{name}”. Choose one here.")
    return depot, day_of_address(plan)


def day_of_address(days: pd.DataFrame) -> date | None:
    """The day named by the address; one that is not ahead is explained."""
    text = st.query_params.get("day", "")
    known = {f"{day:%Y-%m-%d}": day for day in days["target_on"].dt.date}
    if text and text not in known:
        name = formatting.escape_markdown(text)
        widgets.empty_state(f"{name} is not among the days ahead. Choose one here.")
    return known.get(text)


def workbook_button(name: str, freshness: Freshness, city: str = "") -> None:
    """A button that downloads the plan of a city, or of all (''), as Excel."""
    mime = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    make = partial(_workbook, city, freshness)
    widgets.download("Save as Excel", make, name, "xlsx", mime)


def _workbook(city: str, freshness: Freshness) -> bytes:
    plan, days = fleet_plan.plan(freshness), fleet_plan.totals(freshness)
    if city:
        plan, days = plan[plan["city"] == city], days[days["city"] == city]
    return workbook.plan(plan, days)
