"""The page "Days ahead": the brief, and forecasts of all depots."""

from datetime import datetime

import streamlit as st

from dashboard import queries
from dashboard.charts import charts
from dashboard.components import days_ahead, widgets
from dashboard.tables import tables
from dashboard.text import formatting, ranking, summaries

DEMO = (
    "**Demo.** The fleet is invented, and its last nights ran within a minute, on a simulated "
    "clock: a late feed, a corrected file and a failed night are on [Pipeline](pipeline), a "
    "rejected challenger on [Models](models), planners’ changes on [Plan](plan) and "
    "[Accuracy](accuracy)."
)

freshness = queries.freshness()
if freshness.origin_on is None:
    advice = summaries.first_forecast_advice(freshness.champion)
    widgets.stop_page(f"No forecast has been made yet. {advice}")

cities = days_ahead.cities(freshness)
if not cities:
    widgets.stop_page("The newest forecast has no open depots. Run `harbor forecast`.")

st.html(days_ahead.brief_html(freshness, datetime.now(queries.zone()).date()))
if freshness.is_demo:
    st.caption(DEMO)
figures_place = st.container()
st.header("By depot")
city_column, order_column = st.columns([2, 3], gap="medium")
with city_column:
    city = widgets.choose_city(cities)
with order_column:
    order = st.pills(
        "Sort by",
        list(ranking.SORT_ORDERS),
        default=ranking.URGENT,
        required=True,
        key="first",
        bind="query-params",
        wrap=True,
    )
figures, grid, totals_note = days_ahead.figures_and_grid(city, order, freshness)
with figures_place:
    widgets.key_figures(figures)
st.html(grid)
shade = "Brighter" if st.context.theme.type == "dark" else "Darker"
events = days_ahead.events_sentence(city, freshness)
if events:
    st.caption(formatting.escape_markdown(events))
st.caption(
    f"Planned orders per day. {shade} = busier, for each depot. First in each city: "
    f"{ranking.SORT_ORDERS[order]}. The reason is under each name. ≈ Forecast from similar depots. "
    f"Click a name for details. {totals_note}"
)
widgets.data_expander(
    lambda: tables.fleet_week(days_ahead.ranked(city, order, freshness)), "days-ahead"
)

st.header("By day")
totals = days_ahead.daily_totals(city, freshness)
widgets.chart(
    charts.daily_totals,
    totals,
    f"Orders per day: the last three weeks, and {formatting.next_days(freshness.horizon)} as "
    "planned. Triangles mark holidays and events; paler bars have depots with missing data. "
    "Thin line: the 80 % band of the total, not the depots' bands added up.",
    lambda: tables.daily_totals(totals),
    "daily-totals",
)
