"""The page "Accuracy": forecast errors compared with the naive forecasts."""

import streamlit as st

from dashboard import queries
from dashboard.charts import charts
from dashboard.components import score_filter, widgets
from dashboard.tables import html_grids, tables
from dashboard.text import formatting, summaries

LIVE, HINDCAST = "Live", "Hindcast"
BY_VALUE, BY_MAPE = "Value added", "MAPE"
NO_SCORES = {
    LIVE: "No live forecast has been scored yet. Scores appear the night after the "
    "forecast day. Choose Hindcast meanwhile.",
    HINDCAST: "There are no hindcasts. `harbor backfill --from DAY --to DAY` makes "
    "and scores them.",
}

freshness = queries.freshness()
kinds = queries.score_kinds(freshness)
has_scores = kinds.has_live or kinds.has_hindcasts
if not has_scores and freshness.champion is None and freshness.origin_on is None:
    advice = summaries.first_forecast_advice(None)
    widgets.stop_page(f"There is no forecast to score yet. {advice}")
if not has_scores:
    widgets.stop_page(
        "No forecast has been scored yet. Scores appear the night after the forecast day; "
        "`harbor backfill --from DAY --to DAY` makes and scores hindcasts of past days."
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

scope = score_filter.score_filter(live, freshness)
scores = queries.accuracy(scope, freshness)
if scores.empty:
    widgets.stop_page(
        "No scores for this choice. Choose a longer period, another depot or all days ahead."
    )
widgets.key_figures(summaries.accuracy_figures(scores))

st.header("By day")
by_day = scores[scores["grain"] == "day"]
widgets.chart(
    charts.accuracy_by_day,
    by_day,
    f"{summaries.accuracy_sentence(scores)} Lines: mean of seven days. Dots: single days of "
    "the forecast.",
    lambda: tables.accuracy(scores, "day", "Day"),
    "accuracy-by-day",
)

calendar, by_name = st.columns([2, 3], gap="large")
with calendar:
    st.header("Calendar of errors")
    shade = "Brighter" if st.context.theme.type == "dark" else "Darker"
    st.caption(f"MAPE of the forecast by day. {shade} = further off.")
    st.html(html_grids.error_calendar(by_day[by_day["forecaster"] == "forecast"]))
with by_name:
    if not (scope.city or scope.depot):
        st.header("By city")
        widgets.small_table(tables.accuracy(scores, "city", "City"), "accuracy-by-city")
    if not scope.horizon:
        st.header("By days ahead")
        widgets.small_table(
            tables.accuracy(scores, "horizon", "Days ahead"), "accuracy-by-horizon"
        )

if not scope.depot:
    st.header("Value added by depot")
    order = st.segmented_control(
        "Worst first by",
        [BY_VALUE, BY_MAPE],
        default=BY_VALUE,
        required=True,
        key="worst",
        bind="query-params",
    )
    depots = queries.depot_accuracy(scope, order == BY_VALUE, freshness)
    if depots.empty:
        st.caption("No depot has both a forecast and last week's orders yet.")
    else:
        st.caption(
            f"The first {len(depots)} of "
            f"{formatting.count(depots['n_depots'].iloc[0], 'depot')}. Value added is the "
            "MAPE of same day last week minus the forecast's: below zero, the model does not "
            "yet beat it."
        )
        widgets.small_table(
            tables.depot_accuracy(depots),
            "accuracy-by-depot",
            hidden_on_phones=("City", "In the 80 % band", "Days"),
            links={"Depot": tables.depot_links(depots)},
        )

st.header("By weekday")
widgets.small_table(
    tables.accuracy(scores, "weekday", "Weekday"), "accuracy-by-weekday"
)

st.header("Biggest misses")
st.caption(
    "Ranked by orders, using the model's last forecast of each day. Above zero: too high. "
    "Override: the planner's number, and as the cause who set it and why."
)
misses = queries.largest_errors(scope, freshness)
widgets.small_table(
    tables.largest_errors(misses),
    "biggest-misses",
    hidden_on_phones=("Actual",),
    links={"Depot": tables.depot_links(misses)},
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
    f"Scored days of the {score_filter.PERIODS[str(scope.days_back)]}. Each depot, day and origin counts once, at every horizon, "
    "if both naive forecasts cover it too. MAPE is the mean of |forecast − actual| ÷ actual "
    "over days with orders. WAPE and bias are shares of total volume; bias is forecast minus "
    "actual, so above zero is too high. Closed days are not scored. If two models forecast "
    "from the same origin, the latest forecast counts. Same day "
    "last week (the seasonal naive) and median of 4 (of the last four same weekdays) are naive "
    "forecasts; their columns hold their MAPE."
)
