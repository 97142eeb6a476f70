"""The page "Accuracy": forecast errors compared with the naive forecasts."""

from datetime import datetime

import streamlit as st

from dashboard import queries
from dashboard.charts import forecast_charts
from dashboard.components import first_forecast, page_head, score_filter, widgets
from dashboard.tables import display_tables
from dashboard.tables.workbook import Sheets
from dashboard.text import formatting, summaries

MAX_DEPOTS = 50
"""Depots in the table; the Excel file has all."""
LIVE, HINDCAST = "Live", "Hindcast"
NO_SCORES = {
    LIVE: "No live forecast has been scored yet. Scores appear the night after the "
    "forecast day. Choose Hindcast meanwhile.",
    HINDCAST: "There are no hindcasts. `harbor backfill --from DAY --to DAY` makes "
    "and scores them.",
}

freshness = queries.freshness()
live_on, hindcast_on = queries.newest_scored(freshness)
has_scores = bool(live_on or hindcast_on)
if not has_scores and freshness.champion is None and freshness.origin_on is None:
    first_forecast.stop_page("There is no forecast to score yet.", None)
if not has_scores:
    widgets.stop_page(
        "No forecast has been scored yet. Scores appear the night after the forecast day; "
        "`harbor backfill --from DAY --to DAY` makes and scores hindcasts of past days."
    )

newest = LIVE if live_on else HINDCAST
kind = widgets.choose_pill("Forecasts", "scores", [LIVE, HINDCAST], newest)
live = kind == LIVE
newest_on = live_on if live else hindcast_on
if newest_on is None:
    widgets.stop_page(NO_SCORES[kind])
widgets.score_kind_notice(live)

scope = score_filter.score_filter(live, newest_on, freshness)
is_one_day = scope.days_back == 1
scores = queries.accuracy(scope, freshness)
if scores.empty:
    widgets.stop_page(
        "No scores for this choice. Choose a longer period, another depot or all days ahead."
    )
sentences = [summaries.accuracy_sentence(scores)]
if live and freshness.last_on and not (scope.depot or scope.horizon):
    scored = queries.last_day(freshness)
    here = scored[scored["city"] == scope.city] if scope.city else scored
    today = datetime.now(queries.zone()).date()
    if not here.empty:
        sentences.append(summaries.last_day_sentence(here, freshness.last_on, today))
st.markdown(formatting.escape_markdown(" ".join(sentences)))
widgets.key_figures(summaries.accuracy_figures(scores))

misses = queries.largest_errors(scope, freshness)
sheets: Sheets = {}
top = st.container()
if not is_one_day:
    st.header("By day")
    widgets.chart(
        forecast_charts.accuracy_by_day,
        scores[scores["grain"] == "day"],
        "MAPE. Lines: mean of seven days. Dots: single days of the forecast.",
    )
    weeks = display_tables.accuracy_by_week(scores)
    widgets.small_table(weeks, "By week", hidden_on_phones=("Days",))
    bands = queries.band_coverage(scope, freshness)
    st.header("Bands")
    sentence = summaries.coverage_sentence(bands)
    widgets.chart(forecast_charts.band_coverage, bands, sentence)
with st.expander("All measures"):
    widgets.small_table(display_tables.accuracy_measures(scores), "All measures")

if not (scope.city or scope.depot):
    st.header("By city")
    widgets.small_table(display_tables.accuracy(scores, "city", "City"), "By city")
if not scope.horizon:
    st.header("By days ahead")
    by_horizon = display_tables.accuracy(scores, "horizon", "Days ahead")
    widgets.small_table(by_horizon, "By days ahead")
by_model = display_tables.accuracy(scores, "model", "Model")
if len(by_model) > 1:
    st.header("By model")
    widgets.small_table(by_model, "By model")

if not (scope.depot or is_one_day):
    st.header("By depot")
    depots = queries.depot_accuracy(scope, freshness)
    if depots.empty:
        st.caption("No depot has both a forecast and last week's orders yet.")
    else:
        order = widgets.choose_pill("Sort by", "order", display_tables.DEPOT_ORDERS)
        depots = display_tables.rank_depots(depots, order)
        first = depots.head(MAX_DEPOTS)
        cut = f"{MAX_DEPOTS} of {len(depots):,} depots, and all in Excel. "
        st.caption(
            f"{cut if len(depots) > MAX_DEPOTS else ''}Value added: by how many points of "
            "MAPE the forecast is better than same day last week; below zero, it is worse."
        )
        widgets.small_table(
            display_tables.depot_accuracy(first),
            "By depot",
            hidden_on_phones=("City", "In the 80 % band", "Days"),
            links={"Depot": display_tables.depot_links(first)},
        )
        sheets["Depots"] = (
            "MAPE and more by depot",
            display_tables.depot_accuracy(depots),
        )

with top if is_one_day else st.container():
    title = "By depot" if is_one_day else "Biggest misses"
    st.header(title)
    cut = f"{MAX_DEPOTS} of {len(misses):,} depots, and all in Excel. "
    apart = " A total is forecast as a whole: depots need not add up to it."
    st.caption(
        f"{cut if len(misses) > MAX_DEPOTS else ''}Ranked by orders, using the model's last "
        f"forecast of each day. Above zero: too high.{apart if is_one_day else ''}"
    )
    table = display_tables.largest_errors(misses)
    sheets[title] = "Forecast and actual orders, furthest off first", table
    widgets.small_table(
        table.head(MAX_DEPOTS).drop(columns=["Day"] if is_one_day else []),
        title,
        hidden_on_phones=() if is_one_day else ("Actual",),
        links={"Depot": display_tables.depot_links(misses.head(MAX_DEPOTS))},
    )
page_head.save_as_excel("accuracy", lambda: sheets, freshness)

if live:
    st.header("Overrides")
    overridden = queries.override_accuracy(scope, freshness)
    if overridden.empty:
        st.caption("No overrides to score here. Planners make them on the page “Plan”.")
    else:
        widgets.small_table(display_tables.override_accuracy(overridden), "Overrides")

period = score_filter.PERIODS[str(scope.days_back)]
st.caption(
    f"Scored days: the {period}. Each depot, day and origin counts once, at every horizon, "
    "if both naive forecasts cover it too. MAPE is the mean of |forecast − actual| ÷ actual "
    "over days with orders. WAPE and bias are shares of total volume; bias is forecast minus "
    "actual, so above zero is too high. Closed days are not scored. If two models forecast "
    f"from the same origin, the latest forecast counts. {formatting.NAIVE.capitalize()} (the "
    "seasonal naive) and median of 4 (of the last four same weekdays) are naive forecasts."
)
