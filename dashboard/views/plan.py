"""The page "Plan": vans and drivers of every city and depot, and planners' changes."""

import streamlit as st

from dashboard import queries
from dashboard.components import (
    days_ahead,
    first_forecast,
    page_head,
    plan_forms,
    plan_parts,
    running_day,
    saved_change,
    settings_form,
    van_form,
    widgets,
)
from dashboard.planning import city_settings, van_plan
from dashboard.tables import plan_grids, workbook
from dashboard.text import formatting, plan_summaries

freshness = queries.freshness()
if freshness.origin_on is None:
    first_forecast.stop_page(
        "No forecast has been made yet, so there is nothing to plan.",
        freshness.champion,
    )
if queries.fleet_week(freshness).empty:
    widgets.stop_page(first_forecast.NO_OPEN_DEPOTS)

settings = city_settings.by_city(freshness)
city = widgets.choose_city(list(settings))

plan = van_plan.city_plan(city, freshness) if city else van_plan.fleet_plan(freshness)
page_head.save_as_excel(
    f"plan-{city}" if city else "plan",
    lambda: workbook.plan_sheets(plan, queries.zone()),
    freshness,
)
period = formatting.day_range(*plan.cities["target_on"].agg(["min", "max"]))
page_head.print_heading(f"{city or widgets.ALL_CITIES}, {period}")
days = plan.cities
names = days_ahead.day_names(city, freshness)
if not city:
    widgets.answer(plan_summaries.overview(plan))
    day = plan_parts.day_of_address(days)
    plan_parts.short_at_pace(days)
    plan_parts.next_decision(days, day=day)
    st.caption(
        "Vans needed; below, vans short (red: to decide), chances of full delivery, late orders. "
        "Cities lend each other no vans."
    )
    st.html(plan_grids.cities(days, settings, day, names))
    days_ahead.show_day_names(names, days)
    plan_parts.changed_days(plan)
    plan_parts.history(city, freshness)
    st.stop()

page_head.rename(city)
# The browser names a printed or saved page by its title.
st.set_page_config(page_title=f"{city} · Plan · Harbor Fleet")
depot = st.query_params.get("depot", "")
form = plan_parts.form_of_address(depot, settings[city])
day = plan_parts.day_of_address(plan.depots, is_told=form in ("", "settings"))
panel = st.container()
widgets.answer(plan_summaries.overview(plan))
if form != "vans":
    clock = queries.clock()
    today = running_day.on_the_way(days, clock, freshness)
    lacking = running_day.depots_without_vans(city, plan.depots, clock, freshness)
    for sentence in today.values():
        told = formatting.escape_markdown(" ".join([sentence, *lacking]))
        st.caption(f"Today: {told}")
marked = day or plan_summaries.first_to_look_at(days)
with st.container(horizontal=True, key="screen-only"):
    of_day = days[days["target_on"].dt.date == marked]
    is_due = bool(of_day["is_due"].any())
    decide = f"Decide on {formatting.day(marked) if is_due else 'vans'}"
    for kind, heading in (("vans", decide), ("orders", "Change orders")):
        address = formatting.plan_link(city, marked, form=kind)
        widgets.action(heading, address, is_primary=kind == "vans" and is_due)
plan_parts.settings_note(settings[city], plan)
newest = st.container(key="plan-newest")
st.html(plan_grids.depots(plan_parts.depots_in_grid(plan, depot), marked, names))
days_ahead.show_day_names(names, days)
if need := plan_summaries.need_sentence(plan, settings[city], marked):
    st.caption(need)
if moves := plan_grids.transfers(van_plan.transfers_by_day(plan.depots)):
    st.header("Vans to move")
    st.html(moves)
    st.caption(plan_summaries.MOVES_NOTE)
plan_parts.changed_days(plan)

if form:
    with panel.container(key="plan-panel"), st.container(key="plan-form"):
        with st.container(horizontal=True, horizontal_alignment="distribute"):
            st.header(f"{city}: {plan_parts.FORMS[form]}", width="content")
            widgets.note("Close", formatting.plan_link(city, day))
        page_head.run(plan_forms.KEYBOARD)
        if form == "settings":
            settings_form.settings_form(settings[city], plan, freshness)
        elif form == "vans":
            van_form.van_form(plan, freshness, day)
        else:
            plan_forms.change_form(city, freshness)

with newest:
    # A confirmation in the open form has its own Undo.
    if not (form and getattr(saved_change.of_session(), form).sentence):
        saved_change.newest_change(city)
with st.container(key="plan-history"):
    plan_parts.history(city, freshness)
    with st.expander("How this is calculated"):
        st.markdown(plan_summaries.rules(plan, settings[city]))
