"""Parts of the page Plan: the depots in the grid, the address of a form, the history."""

from dataclasses import replace
from datetime import date

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.components import widgets
from dashboard.queries.freshness import Freshness
from dashboard.tables import display_tables, html_tables
from dashboard.text import formatting, plan_summaries
from pipelines.planning.city_settings import CitySettings
from pipelines.planning.van_plan import Plan

MAX_DEPOTS, MAX_CHANGES, MAX_CITIES = 120, 50, 3
"""Most depots in a city's grid (browsers are slow with more), rows of a table of changes, and buttons."""
FORMS = {"vans": "vans of a day", "orders": "change orders", "settings": "settings"}
"""Headings of a city's forms, by the URL parameter `form`."""


def depots_in_grid(plan: Plan, depot: str) -> Plan:
    """Limits a city's plan to the depots in the grid: in a large city, the shortest of vans.

    Args:
      plan: Plan of one city.
      depot: A depot_id that is always in the grid; '' for none.
    """
    depots = plan.depots
    n_depots = depots["depot_id"].nunique()
    if n_depots <= MAX_DEPOTS:
        return plan
    st.caption(
        f"{MAX_DEPOTS} of {n_depots:,} depots, those shortest of vans; find the others on page "
        "Depots. Totals cover all depots."
    )
    short = depots.groupby("depot_id")["short"].sum()
    shown = [*short.nlargest(MAX_DEPOTS).index, depot]
    return replace(plan, depots=depots[depots["depot_id"].isin(shown)])


def next_decision(
    days: pd.DataFrame, day: date | None, city: str = "", *, is_primary: bool = True
) -> None:
    """Buttons for the most urgent undecided day of `Plan.cities`, if any: one for each short city.

    The days of `city` come first, and its button alone; then those on `day`.
    """
    left = days[days["is_due"]]
    if left.empty:
        return
    by = ["is_another_city", "is_another_day", "target_on", "lacking"]
    in_order = left.assign(
        is_another_day=left["target_on"].dt.date != day,
        is_another_city=left["city"] != city,
        lacking=-left["short"],
    )
    in_order = in_order.sort_values(by, kind="stable")
    first_on = in_order["target_on"].iloc[0]
    of_day = in_order[in_order["target_on"] == first_on]
    first = of_day.head(1 if city else MAX_CITIES)[["city", "short"]]
    on = formatting.day(first_on)
    with st.container(horizontal=True, vertical_alignment="center", key="decide"):
        if len(first) > 1:
            st.caption(f"Decide on {on}:", width="content")
        for row, name, short in first.reset_index(drop=True).itertuples():
            address = formatting.plan_link(name, first_on, form="vans")
            label = f"{name} {short:,}" if len(first) > 1 else f"Decide on {name}, {on}"
            widgets.action(label, address, is_primary=is_primary and not row)
        if (more := len(of_day) - len(first)) and not city:
            st.caption(f"and {more:,} more", width="content")


def short_at_pace(days: pd.DataFrame) -> None:
    """Links to the undecided cities whose shortage is another at today's pace."""
    short = days[days["is_due"] & days["at_pace"].ne(days["needed"])]
    columns = short[["city", "target_on", "short_at_pace"]].itertuples(index=False)
    links = [f"{html_tables.city_name(city, day)} {n:,}" for city, day, n in columns]
    if told := formatting.listed(links, 5, "cities"):
        st.html(f'<p class="hf-note kept">Short at today\'s pace: {told}.</p>')


def changed_days(plan: Plan) -> None:
    """Tables of van decisions and changed orders of the days ahead; each row links to its form."""
    days, depots = plan.cities, plan.depots
    decided = days[days["made_by"].ne("")].sort_values("target_on")
    changed = depots[depots["is_set"]].sort_values(["target_on", "city", "name"])
    tables = (
        ("Decisions on vans", decided, display_tables.decided_days, ()),
        ("Changed orders", changed, display_tables.changed_days, ("City",)),
    )
    with st.container(key="plan-changes"):
        for name, rows, to_table, hidden in tables:
            if rows.empty:
                continue
            st.header(name)
            widgets.cut_notice(len(rows), MAX_CHANGES, "rows")
            shown = rows.head(MAX_CHANGES)
            table = to_table(shown, queries.zone())
            if days["city"].nunique() == 1:
                table = table.drop(columns="City")
            links = {str(table.columns[0]): display_tables.form_links(shown)}
            widgets.small_table(table, name, hidden, links)


def settings_note(settings: CitySettings, plan: Plan) -> None:
    """Shows a city's settings and who saved them, with a link to their form."""
    n_shifts = plan.shifts["shift"].nunique()
    text = plan_summaries.settings_text(settings, queries.zone(), n_shifts)
    label = "Set your own" if settings.is_estimated else "Change"
    link = formatting.plan_link(settings.city, form="settings")
    widgets.note(label, link, f"{text} ")


def day_of_address(days: pd.DataFrame, *, is_told: bool = True) -> date | None:
    """The day in the URL; None, with a message unless a form has its own, if it is not one ahead."""
    text = st.query_params.get("day", "")
    known = {f"{day:%Y-%m-%d}": day for day in days["target_on"].dt.date}
    if text and text not in known and is_told:
        name = formatting.escape_markdown(text)
        widgets.empty_state(f"{name} is not among the days ahead. Choose one here.")
    return known.get(text)


def form_of_address(depot: str, settings: CitySettings) -> str:
    """The key of `FORMS` in the URL; '' for none.

    A depot in the URL opens 'orders'; 'vans' becomes 'settings' if the city's vans are not known.
    """
    form = "orders" if depot else st.query_params.get("form", "")
    if form == "vans" and settings.vans is None:
        return "settings"
    return form if form in FORMS else ""


def history(city: str, freshness: Freshness) -> None:
    """Decisions and changes that planners saved for a city, or for all if it is '', newest first."""
    table = display_tables.changes(queries.changes(city, freshness), queries.zone())
    with st.expander("All changes until now"):
        if table.empty:
            st.caption("None yet.")
        else:
            widgets.small_table(table, "Changes")
