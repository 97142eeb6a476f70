"""How far off the forecasts were, day by day, beside the baselines."""

import streamlit as st

from dashboard import charts, findings, parts, queries, tables, wording

version = queries.data_version()
kinds = queries.score_kinds(version)
if kinds.empty:
    parts.nothing(
        "No forecast has been scored yet. A score appears in the night after the day that "
        "was forecast; `harbor backfill run --from DAY --to DAY` makes and scores hindcasts "
        "of past days."
    )

has_live = bool(kinds["is_live"].any())
kind = st.segmented_control(
    "Scores of",
    [wording.LIVE, wording.HINDCAST],
    default=wording.LIVE if has_live else wording.HINDCAST,
    required=True,
    key="scores",
    bind="query-params",
)
live = kind == wording.LIVE
if kinds[kinds["is_live"] == live].empty:
    parts.nothing(wording.NO_SCORES[kind])
parts.kind_of_scores(live)

scores = queries.accuracy(live, version)
parts.figures(findings.accuracy_figures(scores))

st.header("By day")
parts.chart(
    charts.accuracy_by_day(tables.of_grain(scores, "day")),
    findings.accuracy_sentence(scores),
    tables.accuracy(scores, "day", "Day"),
    "accuracy-by-day",
)

st.header("By city")
parts.lines(tables.accuracy(scores, "city", "City"), "accuracy-by-city")

st.header("By model")
parts.lines(tables.accuracy(scores, "model", "Model"), "accuracy-by-model")

st.caption(
    "The last 8 weeks of scored days. Every depot, day and origin counts once, from 1 to 7 "
    "days ahead. MAPE is the mean of |forecast − actual| ÷ actual over days with any orders. "
    "WAPE and bias are shares of the volume of all days; bias is forecast minus actual, so "
    "above zero is too high. Days known to be closed are not scored. Where two models "
    "forecast from the same day, the later one counts. Seasonal naive repeats the week "
    "before; median of 4 takes the last four same weekdays."
)
