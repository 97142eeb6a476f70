"""The page "Days ahead": the brief, and forecasts of all depots."""

from datetime import datetime

import streamlit as st

from dashboard import queries
from dashboard.charts import forecast_charts
from dashboard.components import (
    days_ahead,
    first_forecast,
    page_head,
    running_day,
    widgets,
)
from dashboard.planning import van_plan
from dashboard.tables import workbook
from dashboard.text import formatting, summaries

freshness = queries.freshness()
if freshness.origin_on is None:
    first_forecast.stop_page("No forecast has been made yet.", freshness.champion)

cities = days_ahead.cities(freshness)
if not cities:
    widgets.stop_page(first_forecast.NO_OPEN_DEPOTS)

now = datetime.now(queries.zone())
due_on = queries.due_on(now, freshness)
heading = st.container()
brief, today = st.columns([3, 2], gap="large")
with st.container(horizontal=True, gap="medium"):
    city = widgets.choose_city(cities)
    span = widgets.choose_pill("History", "history", list(days_ahead.SPANS))
own = days_ahead.of_city(queries.fleet_week(freshness), city)
period = formatting.day_range(*own["target_on"].agg(["min", "max"]))
with heading:
    page_head.print_heading(f"{city or 'Days ahead'}, {period}")
with brief:
    days = van_plan.fleet_plan(freshness).cities
    st.html(days_ahead.brief_html(city, freshness, now.date(), due_on, days))
with today:
    if so_far := running_day.today_so_far(city, queries.clock(), freshness):
        st.html(so_far)
page_head.save_as_excel(
    "days-ahead",
    lambda: workbook.week_sheets(days_ahead.ranked(city, freshness)),
    freshness,
)

# Hidden in print, which has room only for the depots.
with st.container(key="by-day-of-fleet"):
    st.header("By day")
    totals = days_ahead.daily_totals(city, freshness, days_ahead.SPANS[span])
    if span == days_ahead.OCCASIONS:
        widgets.past_occasions(totals, is_open=True)
    else:
        widgets.chart(
            forecast_charts.daily_totals,
            totals,
            f"Orders per day: the last {span}, and {formatting.next_days(own['target_on'].nunique())} as "
            "planned. Triangles: holidays and events. Paler: days with missing data. Thin lines: "
            "the totals' 80 % bands.",
        )

st.header("By depot")
names = days_ahead.day_names(city, freshness)
with st.container(key="grid-legend"):
    notes = ["Stronger colour: a depot's busier days.", summaries.TOTALS_NOTE]
    notes += ["≈: from similar depots."] if own["basis"].eq("cold_start").any() else []
    notes.append(days_ahead.last_week_note(names, own["target_on"].min()))
    st.caption(" ".join(notes).strip())
st.html(days_ahead.grid_html(city, freshness))
days_ahead.show_day_names(names, own)
