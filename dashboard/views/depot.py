"""The page "Depot": forecast, actuals, errors, contributions and scenarios of one depot."""

import streamlit as st

from dashboard import queries
from dashboard.charts import forecast_charts
from dashboard.components import (
    depot_list,
    first_forecast,
    page_head,
    running_day,
    score_filter,
    what_if_form,
    widgets,
)
from dashboard.inference import what_if
from dashboard.planning import van_plan
from dashboard.queries.depot import HISTORY_DAYS
from dashboard.tables import display_tables, html_grids, html_tables, workbook
from dashboard.text import formatting, plan_summaries, summaries

SPANS = {"8 weeks": 56, "13 months": HISTORY_DAYS}
MAX_PAST_DAYS = 10
MAX_PEERS = 50  # with more in its city no day is explained unasked: 1,000 take 25 s

freshness = queries.freshness()
depots = queries.depots(freshness)
labels = dict(zip(depots["depot_id"], depots["label"], strict=True))
answer = st.container()
head = st.container(horizontal=True, vertical_alignment="center")
with head:
    depot = widgets.choose_depot(labels)
if not depot:
    depot_list.depot_list(depots, freshness)
    st.stop()

[own] = depots[depots["depot_id"] == depot].to_dict("records")
page_head.rename(own["name"])
st.set_page_config(page_title=f"{labels[depot]} · Harbor Fleet")
with answer:
    page_head.print_heading(labels[depot])
status = queries.depot_status(depot, freshness)
if feed_warning := summaries.feed_warning(status):
    st.warning(feed_warning, icon=":material/schedule:")

week, history = st.container(), st.container()
every_day = queries.depot_days(depot, freshness)
if every_day["point"].notna().any() and queries.fleet_week(freshness).empty:
    widgets.stop_page(first_forecast.NO_OPEN_DEPOTS)
with history:
    span = widgets.choose_pill("History", "history", list(SPANS))
    chart = st.container()
days = every_day.iloc[HISTORY_DAYS - SPANS[span] :]
ahead = days[days["point"].notna()]
with head:
    if not ahead.empty:
        of_city = van_plan.city_plan(own["city"], freshness).depots
        planned = of_city[of_city["depot_id"] == depot].set_index("target_on")
        columns = ["name", "vans", "allocated", "needed", "short", "undelivered"]
        ahead = ahead.join(planned[columns], on="day_on")
        moves = van_plan.transfers_by_day(of_city)
        ahead["moved"] = [
            plan_summaries.moved_vans(name, moves.get(day, []))
            for name, day in zip(ahead["name"], ahead["day_on"], strict=True)
        ]
        ahead["noted_before"] = display_tables.noted_before(every_day, ahead)
        in_order = sorted(ahead.to_dict("records"), key=html_grids.is_closed)
        day = next((row for row in in_order if row["short"] > 0), in_order[0])["day_on"]
        address = formatting.plan_link(own["city"], day, depot=depot)
        widgets.action("Change orders", address, is_primary=False)
        vans = formatting.plan_link(own["city"], day, form="vans")
        widgets.action("Decide on vans", vans, is_primary=False)
    with st.container(horizontal=True, width="content"):
        address = formatting.link("accuracy", city=own["city"], depot=depot)
        widgets.note("Accuracy", address)
        widgets.note("All depots", "depot")
with week:
    if ahead.empty:
        widgets.empty_state(
            "This depot has no forecast yet. It gets one in the first nightly run after its first "
            "orders, or after a depots file with its `opened_on`."
        )
    else:
        with answer:
            clock = queries.clock()
            so_far = running_day.depot_so_far(depot, of_city, clock, freshness)
            widgets.answer(summaries.depot_sentence(ahead, every_day))
            if so_far:
                st.markdown(formatting.escape_markdown(so_far))
        st.html(html_grids.depot_days(ahead, own))
        short = ahead[ahead["short"] > 0].head(1).to_dict("records")
        told = "“{allocated:.0f} of {needed:.0f}”: {needed:.0f} vans needed."
        notes = ["Vans: those that drive.", *map(told.format_map, short)]
        moved = "".join(ahead["moved"])
        if "+" in moved:
            hired = f", {van_plan.POOL}" * (van_plan.POOL in moved)
            notes.append(f"“+1”: a van borrowed{hired}.")
        if "−" in moved:
            notes.append("“−1”: a van lent.")
        if ahead["year_before"].notna().any():
            notes.append("Last year: same holiday or event, else the same weekday.")
        st.caption(" ".join(notes))
past = queries.past_forecasts(depot, freshness)
past_days = display_tables.past_days(past, every_day)
with chart:
    if days["actual"].notna().any() or not ahead.empty:
        drawn = forecast_charts.with_past_forecasts(days, past)
        subject = f"Orders per day: last {span}{'' if ahead.empty else ' and planned'}."
        legend = forecast_charts.fan_legend(drawn)
        widgets.chart(forecast_charts.fan, drawn, f"{subject} {legend}")
    else:
        widgets.empty_state(
            "No data for this depot in the last 8 weeks. Load its orders with "
            "`harbor ingest PATH`."
        )
widgets.past_occasions(every_day)

scored = st.container()
if not ahead.empty:
    why, scored = st.columns([3, 2], gap="large")
with scored:
    st.header("Past days")
    if past.empty:
        widgets.empty_state(score_filter.NOT_SCORED.format("forecast of this depot"))
    else:
        if not past["is_live"].all():
            widgets.hindcast_warning()
        widgets.cut_notice(len(past_days), MAX_PAST_DAYS, "days")
        st.caption(display_tables.MISSES_NOTE)
        in_sight = past_days.head(MAX_PAST_DAYS).drop(columns=html_tables.ERROR_SHARE)
        widgets.small_table(in_sight, "Past days")

if freshness.origin_on is None:
    st.stop()
page_head.save_as_excel(
    f"depot-{own['name']}",
    lambda: workbook.one_depot_sheets(ahead, past_days, every_day),
    freshness,
)
if ahead.empty:
    st.stop()

days_ahead = {f"{day:%Y-%m-%d}": formatting.day(day) for day in ahead["day_on"]}
explained = days_ahead | {
    f"{day:%Y-%m-%d}": formatting.day(day)
    for day in past.loc[past["is_live"].astype(bool), "target_on"][::-1]
}
n_peers = int((depots["city"] == own["city"]).sum())
is_quick = n_peers <= MAX_PEERS and "cold_start" not in set(ahead["basis"])
with why:
    st.header("Why this forecast")
    default = f"{day:%Y-%m-%d}" if is_quick else ""
    day_to_explain = widgets.choose_from_url(
        "Day", "why", explained, default, width=180
    )
    if not day_to_explain and "why" not in st.query_params:
        st.caption(
            "Choose a day to see what its forecast is made of; it takes some seconds."
        )
    if day_to_explain:
        shown, outcome = freshness, ""
        if day_to_explain not in days_ahead:
            [row] = past[past["target_on"] == day_to_explain].to_dict("records")
            shown = queries.as_of(row, freshness)
            outcome = summaries.outcome_sentence(row)
        day_parts = what_if.contributions(depot, shown)
        day_parts = day_parts[day_parts["target_on"] == day_to_explain]
        widgets.chart(
            forecast_charts.contributions,
            day_parts,
            f"{outcome} {summaries.parts_sentence(day_parts)}".strip(),
        )

with st.expander("What if", expanded="scenario" in st.query_params):
    st.caption("The model's forecast with an event or a closed day. Nothing is saved.")
    what_if_form.what_if_form(depot, own["city"], days_ahead, freshness)
