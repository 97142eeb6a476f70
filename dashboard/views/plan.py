"""The page "Plan": vans and drivers of a city's depots, and overrides."""

import streamlit as st

from dashboard import queries
from dashboard.components import parts, plan_forms
from dashboard.planning import overrides, planning
from dashboard.tables import plan_tables
from dashboard.text import fleet_time, formatting

fresh = queries.freshness()
if fresh.origin_on is None:
    parts.stop_with(
        "No forecast has been made yet, so there is nothing to plan. Train a model "
        "with `harbor train`, then run `harbor forecast`."
    )
week = queries.fleet_week(fresh)
if week.empty:
    parts.stop_with("The newest forecast has no open depots. Run `harbor forecast`.")

cities = list(week["city"].unique())
city = st.pills(
    "City",
    cities,
    default=cities[0],
    required=True,
    format_func=formatting.escape_markdown,
    key="city",
    bind="query-params",
)
here = week[week["city"] == city].sort_values(["name", "depot_id", "target_on"])
assumptions = plan_forms.assumptions_form(here, city)

plan = planning.make_plan(here, queries.overrides_ahead(fresh), assumptions)
days = planning.by_day(plan, assumptions)
parts.key_figures(plan_tables.figures(days, assumptions))
st.markdown(formatting.escape_markdown(plan_tables.sentence(days, city)))

st.html(plan_tables.grid(plan, days))
st.caption(
    f"{formatting.escape_markdown(plan_tables.assumptions_text(city, assumptions))} Large: vans "
    "allocated; underlined: vans short. Small: planned orders, with “set” or “locked” where a "
    "planner overrode them."
)
parts.data_expander(lambda: plan_tables.table(plan), f"plan-{city}")

st.header("Override history")
history = queries.override_history(city, fresh)
if history.empty:
    st.caption("No overrides in this city yet.")
else:
    parts.small_table(
        plan_tables.history(history, fleet_time.zone()),
        f"overrides-{city}",
        on_wide=("Forecast then", "Action"),
    )

with st.container(key="plan-form"):
    st.header("Override a forecast")
    saved = plan_forms.override_form(here, city)
if saved:
    overrides.add(saved)
    plan_forms.store_confirmation(saved)
    st.rerun()
