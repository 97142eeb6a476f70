"""The depots of the fleet with their next orders, to choose one: page Depot without one."""

from datetime import date, datetime

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.components import days_ahead, page_head, widgets
from dashboard.planning import van_plan
from dashboard.queries.freshness import Freshness
from dashboard.tables import html_grids, workbook
from dashboard.text import formatting, plan_summaries, summaries
from pipelines.planning.van_plan import ALL_CITIES

MAX_DEPOTS = 1000
"""Depots in the list; the box above it finds them all."""
DAYS = 2
"""Days ahead with a column of their own."""
ERROR = "Error"
SORT_ORDERS = (*days_ahead.SORT_ORDERS, ERROR)


def depot_list(depots: pd.DataFrame, freshness: Freshness) -> None:
    """The depots of each city: orders planned, missing data, and how far the last day was off.

    Args:
      depots: `queries.depots`.
      freshness: Of the forecast; without one the list has names alone.
    """
    numbers, totals, order = pd.DataFrame(), pd.DataFrame(), ""
    if freshness.origin_on is None:
        widgets.empty_state(_without_forecast(freshness.champion))
    else:
        plan = van_plan.fleet_plan(freshness).depots
        late = plan.loc[plan["is_silent"] | plan["is_late"], "name"].unique()
        missing = f"Missing data: {formatting.listed(sorted(late))}." * bool(len(late))
        widgets.answer(f"{plan_summaries.short_depots(plan)} {missing}".strip())
        order = widgets.choose_pill("Sort by", "first", SORT_ORDERS)
        numbers, totals = _numbers(freshness, datetime.now(queries.zone()).date())
        if order == ERROR:
            *_, off_by = html_grids.heads_of(numbers)
            place = -numbers[off_by].abs()
        else:
            by_place = days_ahead.ranked("", order, freshness)["depot_id"].unique()
            place = pd.Series(range(len(by_place)), by_place)
        depots = depots.assign(place=depots["depot_id"].map(place))
        by = ["place"] if order == ERROR else ["city", "place"]
        depots = depots.sort_values(by, kind="stable")
        page_head.save_as_excel(
            "depots", lambda: workbook.depot_sheets(depots, numbers), freshness
        )
        st.caption(
            "Planned orders, and vans that lack. Off by: + is too high; outside: of the 80 % band."
        )
    shown = depots.head(MAX_DEPOTS)
    if len(shown) < len(depots):
        more = len(depots) - len(shown)
        st.caption(f"Not in this list: {more:,} more depots. The box above finds them.")
    told = numbers
    if order == ERROR:
        city = depots.set_index("depot_id")["city"]
        status = (city + " · " + numbers["status"]).str.removesuffix(" · ")
        told, shown = numbers.assign(status=status), shown.assign(city=ALL_CITIES)
    st.html(html_grids.depots(shown, told, totals))


def _without_forecast(champion: str | None) -> str:
    progress = queries.run_in_progress()
    follows = summaries.first_forecast_advice(champion)
    if progress:
        follows = summaries.progress_sentence(progress)
    return f"No forecast has been made yet, so the list has names alone. {follows}"


@st.cache_data(max_entries=4, show_spinner=False)
def _numbers(freshness: Freshness, today: date) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What `html_grids.depots` shows; of a city `status` has the days short, and what is decided."""
    assert freshness.last_on is not None, "requires known demand"
    plan = van_plan.fleet_plan(freshness)
    week = days_ahead.rank(workbook.with_short(plan.depots), days_ahead.NAME)
    last_day = queries.last_day(freshness).dropna(subset=["actual", "point"])
    is_off = summaries.is_outside(last_day)
    off_by = f"{formatting.past_day(freshness.last_on, today)} off by"
    depots = week.drop_duplicates("depot_id").set_index("depot_id").sort_index()
    numbers = _columns(week, "depot_id", "point", last_day, off_by)
    week, last_day = (
        pd.concat([rows, rows.assign(city=ALL_CITIES)]) for rows in (week, last_day)
    )
    totals = _columns(week, "city", "part", last_day, off_by)
    days = plan.cities
    told = days[(days["missing"] > 0) | (days["kind"] != "")]
    words = {
        city: ", ".join(map(plan_summaries.short_in_words, own.to_dict("records")))
        for city, own in told.groupby("city")
    }
    status = pd.Series(words, dtype=object).reindex(totals.index)
    left = days.loc[(days["missing"] > 0) & ~days["is_decided"], "city"]
    return (
        numbers.assign(
            status=depots.apply(html_grids.status, axis=1),
            is_late=depots["is_silent"] | depots["is_late"],
            is_off=depots.index.isin(last_day.loc[is_off, "depot_id"]),
        ),
        totals.assign(
            status=("Vans: " + status).fillna(""),
            is_late=totals.index.isin(left),
            is_off=False,
        ),
    )


def _columns(
    week: pd.DataFrame, key: str, orders: str, last_day: pd.DataFrame, off_by: str
) -> pd.DataFrame:
    """Orders of the first days and of all, their change, and the last day's error, by `key`; and `short`."""
    days = sorted(week["target_on"].unique())
    parts = {formatting.day(day): week[week["target_on"] == day] for day in days[:DAYS]}
    parts |= {formatting.count(len(days), "day"): week}
    columns = {
        head: rows.groupby(key)[orders].sum().round().astype("Int64")
        for head, rows in parts.items()
    }
    comparable = week.dropna(subset=["week_before"])
    before = comparable.groupby(key)[[orders, "week_before"]].sum()
    ratio = before[orders] / before["week_before"].where(before["week_before"] > 0)
    columns["vs last week"] = 100 * (ratio - 1)
    off = last_day.groupby(key)[[orders, "actual"]].sum()
    columns[off_by] = (off[orders] - off["actual"]).round().astype("Int64")
    table = pd.DataFrame(columns)
    short = week.pivot_table("short", key, "target_on", aggfunc="sum")
    short = short.rename(columns=formatting.day).reindex(table.index).fillna(0)
    table["short"] = pd.Series(short.astype(int).to_dict("index"), dtype=object)
    return table
