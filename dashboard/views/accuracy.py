"""The page "Accuracy": forecast errors beside the baselines."""

import streamlit as st

from dashboard import queries
from dashboard.charts import charts
from dashboard.components import widgets
from dashboard.tables import tables
from dashboard.text import formatting, summaries

LIVE, HINDCAST = "Live", "Hindcast"
NO_SCORES = {
    LIVE: "No live forecast has been scored yet. Scores appear the night after the "
    "forecast day. Choose Hindcast meanwhile.",
    HINDCAST: "There are no hindcasts. `harbor backfill run --from DAY --to DAY` makes "
    "and scores them.",
}

freshness = queries.freshness()
kinds = queries.score_kinds(freshness)
if not (kinds.has_live or kinds.has_hindcasts):
    widgets.stop_page(
        "No forecast has been scored yet. Scores appear the night after the forecast day; "
        "`harbor backfill run --from DAY --to DAY` makes and scores hindcasts of past days."
    )

kind = st.segmented_control(
    "Forecasts",
    [LIVE, HINDCAST],
    default=LIVE if kinds.has_live else HINDCAST,
    required=True,
    key="scores",
    bind="query-params",
)
live = kind == LIVE
if not (kinds.has_live if live else kinds.has_hindcasts):
    widgets.stop_page(NO_SCORES[kind])
widgets.score_kind_notice(live)

scores = queries.accuracy(live, freshness)
widgets.key_figures(summaries.accuracy_figures(scores))

st.header("By day")
widgets.chart(
    charts.accuracy_by_day,
    scores[scores["grain"] == "day"],
    summaries.accuracy_sentence(scores),
    tables.accuracy(scores, "day", "Day"),
    "accuracy-by-day",
)

st.header("By city")
widgets.small_table(tables.accuracy(scores, "city", "City"), "accuracy-by-city")

ahead, weekdays = st.columns(2, gap="large")
with ahead:
    st.header("By days ahead")
    widgets.small_table(
        tables.accuracy(scores, "horizon", "Days ahead"), "accuracy-by-horizon"
    )
with weekdays:
    st.header("By weekday")
    widgets.small_table(
        tables.accuracy(scores, "weekday", "Weekday"), "accuracy-by-weekday"
    )

depots = queries.depot_accuracy(live, freshness)
if not depots.empty:
    st.header("Least accurate depots")
    st.caption(
        f"The first {len(depots)} of {formatting.count(depots['n_depots'].iloc[0], 'depot')}. "
        "Where MAPE is above Naive MAPE, the model does not yet beat last week. With "
        "Fallback on, the depot gets the baseline forecast until it does."
    )
    widgets.small_table(
        tables.depot_accuracy(depots), "accuracy-by-depot", hidden_on_phones=("City",)
    )

st.header("Biggest misses")
st.caption(
    "Ranked by orders, using the last forecast of each day. Above zero: too high."
)
widgets.small_table(
    tables.largest_errors(queries.largest_errors(live, freshness)),
    "biggest-misses",
)

st.header("Overrides")
overridden = queries.override_accuracy(freshness)
if overridden.empty:
    st.caption("No overrides to score yet. Planners make them on the page “Plan”.")
else:
    st.caption(summaries.override_sentence(overridden))
    widgets.small_table(tables.override_accuracy(overridden), "overrides")

st.header("By model")
widgets.small_table(tables.accuracy(scores, "model", "Model"), "accuracy-by-model")

st.caption(
    "Last 8 weeks of scored days. Each depot, day and origin counts once, at every horizon, "
    "if both baselines have a forecast too. MAPE is the mean of |forecast − actual| ÷ actual "
    "over days with orders. WAPE and bias are shares of total volume; bias is forecast minus "
    "actual, so above zero is too high. Closed days are not scored. If two models forecast "
    "from the same origin, the latest forecast counts. Seasonal naive repeats last week; "
    "median of 4 is the median of the last four same weekdays."
)
