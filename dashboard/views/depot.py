"""One depot: what is forecast, what happened, how far off, and what if."""

import streamlit as st

from dashboard import queries
from dashboard.charts import charts
from dashboard.components import parts, selection
from dashboard.inference import decomposition, whatif
from dashboard.tables import html_grids, tables
from dashboard.text import feed_freshness, forecast_changes, summaries
from dashboard.text import formatting as say

fresh = queries.freshness()
depots = queries.depots(fresh)
labels = dict(zip(depots["depot_id"], depots["label"], strict=True))
asked = st.query_params.get("depot")
depot = selection.choose_from_url("Depot", "depot", labels)
if depot is None and asked:
    parts.nothing(f"There is no depot “{say.plain(asked)}”. Choose one above.")
if depot is None:
    parts.nothing("Choose a depot above, or click a name on the page “Days ahead”.")

news = queries.news(depot, fresh)
late = feed_freshness.warning(news.late)
if late:
    st.warning(late, icon=":material/schedule:")

days = queries.depot_days(depot, fresh)
ahead = days[days["p50"].notna()]
week, history = st.columns([2, 3], gap="large")
with week:
    if ahead.empty:
        parts.missing(
            "This depot has no forecast yet. The next `harbor nightly` adds one."
        )
    else:
        parts.figures(summaries.depot_figures(days))
        st.html(html_grids.days_ahead(ahead))
        if news.is_gated:
            st.caption(
                "The model does not beat last week for this depot, so this is the "
                "baseline forecast: recent level and weekday pattern."
            )
        changed = forecast_changes.sentences(days, news.before, fresh)
        if changed:
            st.caption(say.plain(" ".join(changed)))
with history:
    if days["actual"].notna().any() or not ahead.empty:
        parts.chart(
            charts.fan,
            days,
            summaries.history_sentence(not ahead.empty),
            tables.depot_days(days),
            f"history-{depot}",
        )
    else:
        parts.missing(
            "No data for this depot in the last 8 weeks. Load its orders with "
            "`harbor ingest PATH`."
        )

st.header("Forecast vs actual")
past = queries.past_forecasts(depot, fresh)
if past.empty:
    parts.missing(
        "No forecast of this depot has been scored yet. Scores appear the night after the "
        "forecast day; `harbor backfill run --from DAY --to DAY` makes hindcasts of past "
        "days."
    )
else:
    parts.kind_of_scores(bool(past["is_live"].all()))
    parts.chart(
        charts.past_forecasts,
        past,
        summaries.past_sentence(past),
        tables.past_forecasts(past),
        f"past-forecasts-{depot}",
    )

st.header("Upcoming holidays and events")
events = queries.events_ahead(depot, fresh)
if events.empty:
    st.caption("None in the next 4 weeks.")
else:
    parts.small(tables.events(events), f"events-{depot}")

if fresh.origin_on is None or ahead.empty:
    st.stop()

st.header("Why this forecast")
st.caption(
    "A usual day of the last four weeks, plus or minus the effects of weekday, holidays and "
    "events in the model that made the forecast."
)
if st.toggle("Show drivers", key="drivers"):
    parts.small(tables.leaning(decomposition.parts(depot, fresh)), f"drivers-{depot}")

st.header("What if")
st.caption(
    "Recomputed with the model that made the forecast. Nothing is saved; the forecast does "
    "not change."
)
with st.container(horizontal=True):
    kind = st.selectbox(
        "Scenario",
        whatif.kinds(fresh),
        index=None,
        format_func=whatif.label,
        placeholder="None",
        key="what if",
        width=280,
    )
    day = st.selectbox("Day", ahead["day_on"].dt.date, format_func=say.day, width=180)
if kind is not None:
    outcome = whatif.suppose(whatif.Supposition(depot, kind, day), fresh)
    parts.chart(
        charts.what_if,
        outcome,
        summaries.what_if_sentence(outcome),
        tables.what_if(outcome),
        f"what-if-{depot}",
    )
