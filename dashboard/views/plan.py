"""The page "Plan": vans and drivers of a city's depots, and overrides."""

import streamlit as st

from dashboard import queries
from dashboard.components import parts, plan_forms
from dashboard.planning import planning
from dashboard.tables import html_grids, tables
from dashboard.text import formatting, plan_summaries

fresh = queries.freshness()
if fresh.origin_on is None:
    parts.stop_with(
        "No forecast has been made yet, so there is nothing to plan. Train a model "
        "with `harbor train`, then run `harbor forecast`."
    )
week = queries.fleet_week(fresh)
if week.empty:
    parts.stop_with("The newest forecast has no open depots. Run `harbor forecast`.")

city = parts.choose_city(list(week["city"].unique()))
week = week[week["city"] == city].sort_values(["name", "depot_id", "target_on"])
assumptions = plan_forms.assumptions_form(week, city)

plan = planning.make_plan(week, queries.overrides_ahead(fresh), assumptions)
days = planning.by_day(plan, assumptions)
parts.key_figures(plan_summaries.figures(days, assumptions))
sentence = plan_summaries.shortage_sentence(days, city)
st.markdown(formatting.escape_markdown(sentence))

st.html(html_grids.plan(plan, days))
assumed = plan_summaries.assumptions_text(city, assumptions)
st.caption(
    f"{formatting.escape_markdown(assumed)} Large: vans allocated; underlined: vans short. Small: planned orders, with “set” or “locked” where a "
    "planner overrode them."
)
parts.data_expander(lambda: tables.plan(plan), f"plan-{city}")

st.header("Override history")
history = queries.override_history(city, fresh)
if history.empty:
    st.caption("No overrides in this city yet.")
else:
    parts.small_table(
        tables.override_history(history, queries.zone()),
        f"overrides-{city}",
        on_wide=("Forecast then", "Action"),
    )

with st.container(key="plan-form"):
    st.header("Override a forecast")
    plan_forms.override_form(week, city)
