"""How far off the forecasts were, day by day, beside the baselines."""

import streamlit as st

from dashboard import queries
from dashboard.charts import charts
from dashboard.components import parts
from dashboard.tables import accuracy_tables
from dashboard.text import formatting, summaries

fresh = queries.freshness()
kinds = queries.score_kinds(fresh)
if not (kinds.has_live or kinds.has_hindcasts):
    parts.nothing(
        "No forecast has been scored yet. A score appears in the night after the day that "
        "was forecast; `harbor backfill run --from DAY --to DAY` makes and scores hindcasts "
        "of past days."
    )

kind = st.segmented_control(
    "Scores of",
    [formatting.LIVE, formatting.HINDCAST],
    default=formatting.LIVE if kinds.has_live else formatting.HINDCAST,
    required=True,
    key="scores",
    bind="query-params",
)
live = kind == formatting.LIVE
if not (kinds.has_live if live else kinds.has_hindcasts):
    parts.nothing(formatting.NO_SCORES[kind])
parts.kind_of_scores(live)

scores = queries.accuracy(live, fresh)
parts.figures(summaries.accuracy_figures(scores))

st.header("By day")
parts.chart(
    charts.accuracy_by_day,
    accuracy_tables.of_grain(scores, "day"),
    summaries.accuracy_sentence(scores),
    accuracy_tables.by(scores, "day", "Day"),
    "accuracy-by-day",
)

st.header("By city")
parts.small(accuracy_tables.by(scores, "city", "City"), "accuracy-by-city")

ahead, weekdays = st.columns(2, gap="large")
with ahead:
    st.header("By days ahead")
    parts.small(
        accuracy_tables.by(scores, "horizon", "Days ahead"), "accuracy-by-horizon"
    )
with weekdays:
    st.header("By weekday")
    parts.small(accuracy_tables.by(scores, "weekday", "Weekday"), "accuracy-by-weekday")

depots = queries.depot_accuracy(live, fresh)
if not depots.empty:
    st.header("Depots that were most off")
    st.caption(
        f"The first {len(depots)} of {formatting.count(depots['n_depots'].iloc[0], 'depot')}. "
        "Where MAPE is above the naive's, the model is worth nothing there yet; where the "
        "naive gate is on, the depot gets the plain forecast until it is."
    )
    parts.small(accuracy_tables.depots(depots), "accuracy-by-depot", on_wide=("City",))

st.header("Days that were most off")
st.caption("By orders, in the last forecast of each day. Above zero is too high.")
parts.small(accuracy_tables.worst_days(queries.worst_days(live, fresh)), "worst-days")

st.header("What planners changed")
changed = queries.value_of_overrides(fresh)
if changed.empty:
    st.caption("No day that a planner changed on the page “Plan” is known yet.")
else:
    st.caption(accuracy_tables.overrides_sentence(changed))
    parts.small(accuracy_tables.overrides(changed), "changes")

st.header("By model")
parts.small(accuracy_tables.by(scores, "model", "Model"), "accuracy-by-model")

st.caption(
    "The last 8 weeks of scored days. Every depot, day and origin counts once, however "
    "many days ahead it was forecast, if both baselines have a forecast of it too. MAPE is "
    "the mean of |forecast − actual| ÷ actual over days with any orders. WAPE and bias are "
    "shares of the volume of all days; bias is forecast minus actual, so above zero is too "
    "high. Days known to be closed are not scored. Where two models forecast from the same "
    "day, the one made last counts. Seasonal naive repeats the week before; median of 4 "
    "takes the last four same weekdays."
)
