"""The days ahead of every depot, by city, with what needs attention first."""

import streamlit as st

from dashboard import charts, findings, grids, parts, queries, tables
from dashboard import wording as say

EVERYWHERE = "All cities"

fresh = queries.freshness()
if fresh.origin_on is None:
    parts.nothing(
        "No forecast has been made yet. Train a model with `harbor train`, then run "
        "`harbor forecast`; `harbor nightly` does both."
    )

week = queries.fleet_week(fresh)
if week.empty:
    parts.nothing(
        "The newest forecast has none of the depots that are open. Run `harbor forecast`."
    )

cities = list(week["city"].unique())
city = st.pills(
    "City",
    [EVERYWHERE, *cities],
    default=EVERYWHERE,
    required=True,
    format_func=say.plain,
    key="city",
    bind="query-params",
)
here = week if city == EVERYWHERE else week[week["city"] == city]

parts.figures(findings.week_figures(here))

st.header("By depot")
st.caption(
    "Orders forecast per day. The stronger a cell, the busier that day is for its depot. "
    "In each city, depots whose orders are late come first, then those whose week changes "
    "most. ≈ is forecast from depots like it. A name leads to its depot."
)
st.html(grids.week(here))
parts.behind(tables.fleet_week(here), "days-ahead")

st.header("By day")
totals = queries.daily_totals("" if city == EVERYWHERE else city, fresh)
parts.chart(
    charts.daily_totals(totals),
    "Orders per day of all these depots: three weeks as they were, and "
    f"{say.next_days(fresh.horizon)} as forecast. A paler bar lacks the orders of depots "
    "that have not reported that day. Totals are sums of the depots' medians; the thin "
    "line is the 80 % band of the total, which is no sum of the depots' bands.",
    tables.daily_totals(totals),
    "daily-totals",
)
