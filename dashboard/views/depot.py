"""The page "Depot": forecast, actuals, errors, contributions and scenarios of one depot."""

import streamlit as st

from dashboard import queries
from dashboard.charts import forecast_charts
from dashboard.components import (
    depot_list,
    page_head,
    plan_parts,
    what_if_form,
    widgets,
)
from dashboard.inference import what_if
from dashboard.queries.depot import HISTORY_DAYS
from dashboard.tables import html_grids
from dashboard.text import formatting, summaries

SPANS = {
    "8 weeks": (HISTORY_DAYS, "Shaded: 80 % band."),
    "13 months": (396, "Lines: mean of seven days."),
}
"""Days of history in the chart, and how it is drawn; the longer has last year's Black Friday."""

freshness = queries.freshness()
depots = queries.depots(freshness)
labels = dict(zip(depots["depot_id"], depots["label"], strict=True))
depot = widgets.choose_depot(labels)
if not depot:
    page_head.rename("Depots")
    depot_list.depot_list(depots, freshness)
    st.stop()

page_head.rename(str(depots.loc[depots["depot_id"] == depot, "name"].iloc[0]))
st.set_page_config(page_title=f"{labels[depot]} · Harbor Fleet")
page_head.print_heading(labels[depot])
status = queries.depot_status(depot, freshness)
feed_warning = summaries.feed_warning(status)
if feed_warning:
    st.warning(feed_warning, icon=":material/schedule:")

week, history = st.columns(2, gap="large")
with history:
    span = widgets.choose_pill("History", "history", list(SPANS))
days = queries.depot_days(depot, freshness, SPANS[span][0])
ahead = days[days["point"].notna()]
with week:
    if ahead.empty:
        widgets.empty_state(
            "This depot has no forecast yet. The night after its first orders makes one, or "
            "the night after a depots file has given it an `opened_on`."
        )
    else:
        widgets.key_figures(summaries.depot_figures(days))
        st.html(html_grids.depot_days(ahead))
        if ahead["year_before"].notna().any():
            st.caption(
                "Last year: the same holiday, else the same weekday about 52 weeks before, on a "
                "day with the same events."
            )
        city = plan_parts.city_of(depot, freshness)
        if city:
            widgets.note("Change its orders", formatting.plan_link(city, depot=depot))
        widgets.note("Its accuracy", formatting.link("accuracy", depot=depot))
        change = summaries.forecast_change(days, freshness.origin)
        if change:
            st.caption(change)
with history:
    if days["actual"].notna().any() or not ahead.empty:
        widgets.chart(
            forecast_charts.fan,
            days,
            f"Orders per day: last {span}{'' if ahead.empty else ' and planned'}. "
            f"{SPANS[span][1]} Triangles mark holidays and events"
            f"{', dots the numbers of planners' if ahead['is_set'].any() else ''}.",
        )
    else:
        widgets.empty_state(
            "No data for this depot in the last 8 weeks. Load its orders with "
            "`harbor ingest PATH`."
        )

st.header("Forecast vs actual")
past = queries.past_forecasts(depot, freshness)
if past.empty:
    widgets.empty_state(
        "No forecast of this depot has been scored yet. Scores appear the night after the "
        "forecast day; `harbor backfill --from DAY --to DAY` makes hindcasts of past "
        "days."
    )
else:
    widgets.score_kind_notice(bool(past["is_live"].all()))
    sentence = summaries.past_sentence(past)
    widgets.chart(forecast_charts.past_forecasts, past, sentence)

if freshness.origin_on is None or ahead.empty:
    st.stop()

days_ahead = {f"{day:%Y-%m-%d}": formatting.day(day) for day in ahead["day_on"]}
explained = days_ahead | {
    f"{day:%Y-%m-%d}": formatting.day(day)
    for day in past.loc[past["is_live"].astype(bool), "target_on"][::-1]
}
why = st.expander(
    "Why this forecast", key="why this forecast", on_change="rerun",
    expanded="why" in st.query_params,
)  # fmt: skip
if why.open:
    with why:
        busiest = max(zip(ahead["point"], days_ahead, strict=True))[1]
        day_to_explain = widgets.choose_from_url(
            "Day to explain", "why", explained, busiest, width=180
        )
        shown, outcome = freshness, ""
        if day_to_explain not in days_ahead:
            [scored] = past[past["target_on"] == day_to_explain].to_dict("records")
            shown = queries.as_of(scored, freshness)
            outcome = summaries.outcome_sentence(scored)
        contributions = what_if.contributions(depot, shown)
        widgets.chart(
            forecast_charts.contributions,
            contributions[contributions["target_on"] == day_to_explain],
            f"{outcome} A usual day of the week ahead, plus or minus its weekday, holidays, events and "
            "signals, and what the pattern of its last weeks adds. Below the middle: the number shown "
            "lies a little below the middle of the likely ones, where errors in percent are smallest.",
        )

with st.container(key="screen-only"):
    st.header("What if")
    st.caption(
        "Events are recomputed with the model that made the forecast. Nothing is saved; the "
        "forecast does not change."
    )
    what_if_form.what_if_form(depot, days_ahead, freshness)
