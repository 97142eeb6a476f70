"""How far off the forecasts were, day by day, beside the baselines."""

import streamlit as st

from dashboard import charts, findings, parts, queries, tables, wording

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
    [wording.LIVE, wording.HINDCAST],
    default=wording.LIVE if kinds.has_live else wording.HINDCAST,
    required=True,
    key="scores",
    bind="query-params",
)
live = kind == wording.LIVE
if not (kinds.has_live if live else kinds.has_hindcasts):
    parts.nothing(wording.NO_SCORES[kind])
parts.kind_of_scores(live)

scores = queries.accuracy(live, fresh)
parts.figures(findings.accuracy_figures(scores))

st.header("By day")
parts.chart(
    charts.accuracy_by_day(tables.of_grain(scores, "day")),
    findings.accuracy_sentence(scores),
    tables.accuracy(scores, "day", "Day"),
    "accuracy-by-day",
)

st.header("By city")
parts.small(tables.accuracy(scores, "city", "City"), "accuracy-by-city")

st.header("By model")
parts.small(tables.accuracy(scores, "model", "Model"), "accuracy-by-model")

st.caption(
    "The last 8 weeks of scored days. Every depot, day and origin counts once, however "
    "many days ahead it was forecast, if both baselines have a forecast of it too. MAPE is "
    "the mean of |forecast − actual| ÷ actual over days with any orders. WAPE and bias are "
    "shares of the volume of all days; bias is forecast minus actual, so above zero is too "
    "high. Days known to be closed are not scored. Where two models forecast from the same "
    "day, the one made last counts. Seasonal naive repeats the week before; median of 4 "
    "takes the last four same weekdays."
)
