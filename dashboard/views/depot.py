"""One depot: what is forecast, what happened, how far off, and what if."""

import streamlit as st

from dashboard import charts, findings, grids, parts, queries, selection, tables, whatif
from dashboard import wording as say

fresh = queries.freshness()
depots = queries.depots(fresh.version).set_index("depot_id")
st.title("Depot")
asked = st.query_params.get("depot")
depot = selection.choose_from_url(
    "Depot", "depot", depots.index.tolist(), depots["label"].get
)
if depot is None and asked:
    parts.nothing(f"There is no depot “{say.plain(asked)}”. Choose one above.")
if depot is None:
    parts.nothing("Choose a depot above, or a name on the page “Next 7 days”.")

days = queries.depot_days(depot, fresh)
ahead = days[days["p50"].notna()]
if ahead.empty:
    st.info(
        "This depot has no forecast yet. The next `harbor nightly` adds one.",
        icon=":material/info:",
    )
else:
    parts.figures(findings.depot_figures(days))
    st.html(grids.days_ahead(ahead))

st.header("History and forecast")
if days["actual"].notna().any() or not ahead.empty:
    parts.chart(
        charts.fan(days),
        "Orders per day of the last 8 weeks and of the 7 days ahead. Eight in ten days "
        "should fall within the shaded band. A triangle marks a holiday or an event.",
        tables.depot_days(days),
        f"history-{depot}",
    )
else:
    st.info(
        "No orders of this depot are known in the last 8 weeks. Load them with "
        "`harbor ingest PATH`.",
        icon=":material/info:",
    )

st.header("What was said, and what happened")
past = queries.past_forecasts(depot, fresh.version)
if past.empty:
    st.info(
        "No forecast of this depot has been scored yet. A score appears in the night after "
        "the day that was forecast; `harbor backfill run` makes hindcasts of past days.",
        icon=":material/info:",
    )
else:
    parts.kind_of_scores(past["is_live"].all())
    parts.chart(
        charts.past_forecasts(past),
        findings.past_sentence(past),
        tables.past_forecasts(past),
        f"past-forecasts-{depot}",
    )

st.header("Ahead")
events = queries.events_ahead(depot, fresh.newest, fresh.version)
if events.empty:
    st.caption("No holidays or events are known for the next 4 weeks.")
else:
    parts.show(tables.events(events))

if fresh.origin_on is None or ahead.empty:
    st.stop()

st.header("What if")
st.caption(
    "Computed here and now with the model that made the forecast. Nothing is kept, and the "
    "forecast stays as it is."
)
kind = st.selectbox(
    "Suppose this depot has",
    whatif.kinds(fresh),
    index=None,
    format_func=whatif.label,
    placeholder="Nothing special",
)
day = st.selectbox("On", ahead["day_on"].dt.date, format_func=say.day)
if kind is not None:
    outcome = whatif.suppose(whatif.Supposition(depot, kind, day), fresh)
    parts.chart(
        charts.what_if(outcome),
        findings.what_if_sentence(outcome),
        tables.what_if(outcome),
        f"what-if-{depot}",
    )
