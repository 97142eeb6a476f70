"""Plan: vans and drivers for each depot of a city, and what planners know better."""

import streamlit as st

from dashboard import queries
from dashboard.components import parts, plan_forms
from dashboard.planning import overrides, planning
from dashboard.tables import plan_tables
from dashboard.text import fleet_time
from dashboard.text import formatting as say

fresh = queries.freshness()
if fresh.origin_on is None:
    parts.nothing(
        "No forecast has been made yet, so there is nothing to plan. Train a model "
        "with `harbor train`, then run `harbor forecast`."
    )
week = queries.fleet_week(fresh)
if week.empty:
    parts.nothing("The newest forecast has no open depots. Run `harbor forecast`.")

cities = list(week["city"].unique())
city = st.pills(
    "City",
    cities,
    default=cities[0],
    required=True,
    format_func=say.plain,
    key="city",
    bind="query-params",
)
here = week[week["city"] == city].sort_values(["name", "depot_id", "target_on"])
assumed = plan_forms.ask_assumptions(here, city)

plan = planning.make(here, queries.overrides_ahead(fresh), assumed)
days = planning.by_day(plan, assumed)
parts.figures(plan_tables.figures(days, assumed))
st.markdown(say.plain(plan_tables.sentence(days, city)))

st.html(plan_tables.grid(plan, days))
st.caption(
    f"{say.plain(plan_tables.assumptions(city, assumed))} Large: vans "
    "allocated; underlined: vans short. Small: planned orders, with “set” or “locked” where a "
    "planner overrode them."
)
parts.behind(lambda: plan_tables.table(plan), f"plan-{city}")

st.header("Override history")
history = queries.override_history(city, fresh)
if history.empty:
    st.caption("No overrides in this city yet.")
else:
    parts.small(
        plan_tables.history(history, fleet_time.zone()),
        f"overrides-{city}",
        on_wide=("Forecast then", "Action"),
    )

with st.container(key="plan-form"):
    st.header("Override a forecast")
    asked = plan_forms.ask_override(here, city)
if asked:
    overrides.add(asked)
    plan_forms.say_next_time(asked)
    st.rerun()
