"""The page "Plan": vans and drivers of a city's depots, and overrides."""

import streamlit as st

from dashboard import queries
from dashboard.components import plan_forms, widgets
from dashboard.planning import planning
from dashboard.tables import html_grids, tables
from dashboard.text import formatting, plan_summaries

freshness = queries.freshness()
if freshness.origin_on is None:
    widgets.stop_page(
        "No forecast has been made yet, so there is nothing to plan. Train a model "
        "with `harbor train`, then run `harbor forecast`."
    )
week = queries.fleet_week(freshness)
if week.empty:
    widgets.stop_page("The newest forecast has no open depots. Run `harbor forecast`.")

city = widgets.choose_city(list(week["city"].unique()))
week = week[week["city"] == city].sort_values(["name", "depot_id", "target_on"])
assumptions = plan_forms.assumptions_form(week, city)

plan = planning.make_plan(week, queries.overrides_ahead(freshness), assumptions)
days = planning.by_day(plan, assumptions)
widgets.key_figures(plan_summaries.figures(days, assumptions))
sentence = plan_summaries.shortage_sentence(days, city)
st.markdown(formatting.escape_markdown(sentence))

st.html(html_grids.plan(plan, days))
assumed = plan_summaries.assumptions_text(city, assumptions)
st.caption(
    f"{formatting.escape_markdown(assumed)} Large: vans allocated; underlined: vans short. Small: planned orders, with “set” or “locked” where a "
    "planner overrode them."
)
widgets.data_expander(lambda: tables.plan(plan), f"plan-{city}")

st.header("Override history")
history = queries.override_history(city, freshness)
if history.empty:
    st.caption("No overrides in this city yet.")
else:
    widgets.small_table(
        tables.override_history(history, queries.zone()),
        f"overrides-{city}",
        hidden_on_phones=("Forecast at override", "Action"),
    )

with st.container(key="plan-form"):
    st.header("Override a forecast")
    plan_forms.override_form(week, city)
