"""The page "Plan": vans and drivers of every city and depot, and planners' changes."""

import streamlit as st

from dashboard import queries
from dashboard.components import (
    name_field,
    plan_forms,
    plan_parts,
    saved_change,
    settings_form,
    widgets,
)
from dashboard.planning import city_settings, fleet_plan
from dashboard.tables import plan_grids, tables
from dashboard.text import formatting, plan_summaries, summaries

freshness = queries.freshness()
if freshness.origin_on is None:
    advice = summaries.first_forecast_advice(freshness.champion)
    widgets.stop_page(
        f"No forecast has been made yet, so there is nothing to plan. {advice}"
    )
if queries.fleet_week(freshness).empty:
    widgets.stop_page("The newest forecast has no open depots. Run `harbor forecast`.")

settings = city_settings.by_city(freshness)
days = fleet_plan.totals(freshness)
city = widgets.choose_city(list(settings))

if not city:
    sentence = plan_summaries.fleet_sentence(days)
    st.markdown(formatting.escape_markdown(sentence))
    widgets.key_figures(plan_summaries.figures(days))
    st.html(plan_grids.cities(days, settings, plan_parts.day_of_address(days)))
    st.caption(
        "Vans needed per day; underlined: vans short. In percent, where it is below 99: the "
        "chance that the city's vans carry all orders, if they may be moved between its "
        "depots."
    )
    with st.container(key="screen-only"):
        st.caption("Click a city or a day for its depots, settings and changes.")
    widgets.data_expander(lambda: tables.plan(fleet_plan.plan(freshness)), "plan")
    plan_parts.workbook_button("plan", freshness)
    st.stop()

# A printed or saved sheet is named by it.
st.set_page_config(page_title=f"{city} · Plan · Harbor Fleet")
own_days = days[days["city"] == city]
plan = plan_parts.city_plan(city, freshness)
depot, day = plan_parts.cell_of_address(plan)
plan_parts.print_heading(own_days)
top = st.container()
st.markdown(formatting.escape_markdown(plan_summaries.city_sentence(own_days, city)))
widgets.key_figures(plan_summaries.figures(own_days))
plan_parts.settings_note(settings[city])
shown = plan_parts.depots_in_grid(plan, own_days, depot)
st.html(plan_grids.depots(shown, own_days, day))
shortage = plan_summaries.shortage_sentence(plan, own_days)
if shortage:
    st.caption(shortage)
st.caption(
    "Large: vans assigned; underlined: vans "
    "short. Small: planned orders, with “set” where a planner changed them. "
    f"{summaries.totals_note(plan)}"
)
with st.container(key="screen-only"):
    st.caption("Click a cell to change its orders.")
plan_parts.transfers(plan)
widgets.data_expander(lambda: tables.plan(plan), f"plan-{city}")
plan_parts.workbook_button(f"plan-{city}", freshness, city)

# What was clicked is changed at the top of the page.
is_open = st.query_params.get("form") == "settings"
with top if is_open else st.container():
    settings_form.settings_form(settings[city], is_open=is_open)
place = top if depot else st.container()
with place.container(key="plan-form"):
    st.header("Change orders")
    bands = queries.city_bands(freshness)
    plan_forms.change_form(plan, settings, bands, depot, day)

with st.container(key="plan-history"):
    st.header("Override history")
    history = queries.override_history(city, freshness)
    if history.empty:
        st.caption("No overrides in this city yet.")
    else:
        saved_change.newest_change(name_field.known_name(), city)
        widgets.small_table(
            tables.override_history(history, queries.zone()),
            f"overrides-{city}",
            hidden_on_phones=("Forecast at override",),
        )
