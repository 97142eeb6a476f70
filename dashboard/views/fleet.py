"""The days ahead of every depot, by city, with what needs attention first."""

import streamlit as st

from dashboard import queries
from dashboard.charts import charts
from dashboard.components import parts, week
from dashboard.components.week import EVERYWHERE
from dashboard.tables import tables
from dashboard.text import formatting as say
from dashboard.text import ranking

fresh = queries.freshness()
if fresh.origin_on is None:
    parts.nothing(
        "No forecast has been made yet. Train a model with `harbor train`, then run "
        "`harbor forecast`; `harbor nightly` does both."
    )

cities = week.cities(fresh)
if not cities:
    parts.nothing("The newest forecast has no open depots. Run `harbor forecast`.")

figures = st.container()
st.header("By depot")
where, which = st.columns([2, 3], gap="medium")
with where:
    city = st.pills(
        "City",
        [EVERYWHERE, *cities],
        default=EVERYWHERE,
        required=True,
        format_func=say.plain,
        key="city",
        bind="query-params",
        wrap=True,
    )
with which:
    order = st.pills(
        "Sort by",
        list(ranking.MEANS),
        default=ranking.URGENT,
        required=True,
        key="first",
        bind="query-params",
        wrap=True,
    )
with figures:
    parts.figures(week.figures(city, fresh))
st.html(week.grid(city, order, fresh))
shade = "Brighter" if st.context.theme.type == "dark" else "Darker"
st.caption(
    f"Forecast orders per day. {shade} = busier, for each depot. First in each city: "
    f"{ranking.MEANS[order]}. The reason is under each name. ≈ Forecast from similar depots. "
    "Click a name for details."
)
parts.behind(lambda: tables.fleet_week(week.rows(city, order, fresh)), "days-ahead")

st.header("By day")
totals = queries.daily_totals("" if city == EVERYWHERE else city, fresh)
parts.chart(
    charts.daily_totals,
    totals,
    "Total orders per day: actuals of the last three weeks, and the forecast for "
    f"{say.next_days(fresh.horizon)}. Paler bars have depots with missing data. Totals are sums "
    "of the depots' medians; the thin line is the 80 % band of the total, not a sum of the "
    "depots' bands.",
    tables.daily_totals(totals),
    "daily-totals",
)
