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
        "No forecast has been made yet, so there is nothing to plan for. Train a model "
        "with `harbor train`, then run `harbor forecast`."
    )
week = queries.fleet_week(fresh)
if week.empty:
    parts.nothing(
        "The newest forecast has none of the depots that are open. Run `harbor forecast`."
    )

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
    f"{say.plain(plan_tables.assumptions(city, assumed))} Large: vans of the city; "
    "underlined: how many more it would need. Small: orders planned, with “set” or “locked” where a "
    "planner did so."
)
parts.behind(lambda: plan_tables.table(plan), f"plan-{city}")

st.header("What was changed by hand")
history = queries.override_history(city, fresh)
if history.empty:
    st.caption("Nobody has changed a number of this city yet.")
else:
    parts.small(
        plan_tables.history(history, fleet_time.zone()),
        f"changes-{city}",
        on_wide=("Forecast then", "What"),
    )

with st.container(key="plan-form"):
    st.header("Change a number")
    asked = plan_forms.ask_override(here, city)
if asked:
    overrides.add(asked)
    plan_forms.say_next_time(asked)
    st.rerun()
