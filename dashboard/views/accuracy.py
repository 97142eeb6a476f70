"""The page "Accuracy": forecast errors compared with the naive forecasts."""

import streamlit as st

from dashboard import queries
from dashboard.charts import forecast_charts
from dashboard.components import (
    first_forecast,
    one_day,
    page_head,
    score_filter,
    widgets,
)
from dashboard.tables import display_tables
from dashboard.text import formatting, summaries

WEEKS = "Newest day and weeks"

freshness = queries.freshness()
scored_days = queries.scored_days(freshness)
if not scored_days:
    if freshness.champion is None and freshness.origin_on is None:
        first_forecast.stop_page("There is no forecast to score yet.", None)
    widgets.stop_page(score_filter.NOT_SCORED.format("forecast"))

default = "Live" if True in scored_days else "Hindcast"
live = st.query_params.get("scores", default).casefold() != "hindcast"
if live not in scored_days:
    kind = "live forecast" if live else "hindcast"
    widgets.stop_page(score_filter.NOT_SCORED.format(kind))
if not live:
    widgets.hindcast_warning()

# The answer is above the filters on which it depends.
answer = st.container(key="answer")
first_on, newest_on = scored_days[live]
scope = score_filter.score_filter(live, first_on, newest_on, freshness)
day_on = scope.day_on or newest_on
chosen = st.query_params.to_dict()
scored, day_sentence = one_day.last_day(scope, day_on, freshness)

named = queries.depots(freshness).set_index("depot_id")["name"]
subjects = ["" if live else "hindcasts", named.get(scope.depot, scope.city)]
if scope.days_back == 1:
    subjects.append(formatting.day(day_on))
if any(subjects):
    page_head.rename(f"Accuracy of {', '.join(filter(None, subjects))}")
if scope.days_back == 1:
    told = [day_sentence]
    if scored is not None:
        error = summaries.day_error_sentence(queries.accuracy(scope, freshness))
        told = [error, summaries.outside_sentence(scored)]
    with answer:
        widgets.answer(" ".join(filter(None, told)))
        if scored is not None:
            st.markdown(formatting.escape_markdown(day_sentence))
        one_day.neighbours(day_on, score_filter.single_days(first_on, newest_on))
    sheets = one_day.show(scope, scored, freshness)
    page_head.save_as_excel(f"accuracy-of-{day_on}", lambda: sheets, freshness)
    st.stop()

scores = queries.accuracy(scope, freshness)
if scores.empty:
    widgets.stop_page(score_filter.NO_SCORES)
depots = None if scope.depot else queries.depot_accuracy(scope, freshness)
held = queries.band_coverage(scope, freshness)
with answer:
    n_depots = 1 if depots is None else len(depots)
    widgets.answer(summaries.accuracy_sentence(scores, n_depots))
    if day_sentence:
        address = formatting.link("accuracy", **chosen | {"period": f"{day_on}"})
        name = f"{day_sentence.partition(':')[0]} by depot"
        if scope.depot and live:  # page Depot explains live forecasts only
            name, address = "Why", formatting.why_link(scope.depot, day_on)
        widgets.note(name, address, f"{day_sentence} ")
    changed = summaries.planners_sentence(queries.override_accuracy(scope, freshness))
    for note in filter(None, (summaries.coverage_sentence(held), changed)):
        st.markdown(formatting.unbroken(note))

by_week, by_day = st.columns(2, gap="large")
weeks = display_tables.accuracy_by_week(scores)
misses = queries.largest_errors(scope, freshness)
with by_week:
    st.header(WEEKS)
    widgets.small_table(weeks.drop(columns="Forecasts"), WEEKS)
    above = "; the sentence above takes only the last one" * bool(day_sentence)
    st.caption(
        f"Means of a day's forecasts, 1 to {scores['horizon'].max():.0f} days ahead{above}. Bias: + is "
        "too high. Bold on grey: bias beyond 8 %, less than half in the band."
    )
    if len(scored_days) > 1:
        other = ("Live", "live forecasts"), ("Hindcast", "forecasts made afterwards")
        kind, name = other[live]
        address = formatting.link("accuracy", **chosen | {"scores": kind})
        span = formatting.day_range(*scored_days[not live])
        widgets.note(f"Scored separately: {name}, {span}", address)
    if depots is not None and not scope.city:
        st.header("By city")
        by_city = display_tables.accuracy(scores, "city", "City")
        widgets.small_table(by_city.drop(columns="Forecasts"), "By city")
    if depots is not None:
        st.header("Depots furthest off")
        worst = depots[: one_day.MAX_WORST]
        widgets.small_table(
            display_tables.depot_accuracy(worst).drop(columns=["City", "Forecasts"]),
            "Depots furthest off",
            links={"Depot": display_tables.depot_links(worst, chosen)},
        )
with by_day:
    st.header("By day")
    days = scores[scores["grain"] == "day"]
    means = days["day_on"].nunique() >= forecast_charts.MEAN_FROM
    caption = "Off by: dots are single days, over all forecasts of the day"
    caption += "; lines the mean of seven days, from the fourth on" * means
    widgets.chart(forecast_charts.accuracy_by_day, days, f"{caption}.")
with by_week if scope.depot else by_day:
    st.header("Single days furthest off")
    worst_days = misses.head(one_day.MAX_WORST_DAYS)
    one_day.show_misses("Single days furthest off", worst_days, scope, freshness)

table = display_tables.largest_errors(misses)
sheets = {"Single days": ("Forecast and actual orders, furthest off first", table)}
sheets[WEEKS] = "Accuracy of the newest day, then by week", weeks

if depots is not None:
    sheets["Depots"] = "Accuracy by depot", display_tables.depot_accuracy(depots)
if depots is not None and len(depots) > one_day.MAX_WORST:
    with st.expander(f"All {len(depots):,} depots"):
        first = depots.head(one_day.MAX_DEPOTS)
        widgets.cut_notice(len(depots), one_day.MAX_DEPOTS)
        links = {"Depot": display_tables.depot_links(first, chosen)}
        hidden = "City", "In the 80 % band", "Forecasts"
        every = display_tables.depot_accuracy(first)
        widgets.small_table(every, "By depot", hidden, links)
page_head.save_as_excel("accuracy", lambda: sheets, freshness)

with st.expander("Days ahead, bands and all measures"):
    by_horizon = display_tables.accuracy(scores, "horizon", "Days ahead")
    widgets.small_table(by_horizon, "By days ahead", hidden_on_phones=["Forecasts"])
    widgets.small_table(display_tables.band_coverage(held), "Bands")
    widgets.small_table(display_tables.accuracy_measures(scores), "All measures")
    st.caption(
        "The forecasts of all horizons count, where both naive forecasts cover them too; closed days "
        "do not. For bands, a day with an event at single depots is an ordinary day. Off by (MAPE) is the mean of |forecast − actual| ÷ actual over days with orders. WAPE and bias are shares of total volume; bias above zero is too high. "
        f"{formatting.NAIVE.capitalize()} (the seasonal naive) and median of 4 (of the last four same "
        "weekdays) are naive forecasts."
    )
