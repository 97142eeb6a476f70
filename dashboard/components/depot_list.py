"""The list of depots that page Depot shows while no depot is chosen."""

from datetime import date, datetime

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.components import days_ahead, first_forecast, page_head, widgets
from dashboard.components.plan_parts import next_decision
from dashboard.planning import van_plan
from dashboard.queries.freshness import Freshness
from dashboard.tables import html_grids, html_tables, workbook
from dashboard.text import formatting, plan_summaries, summaries

MAX_DEPOTS = 200  # in the list; the select box finds every depot
URGENT, ERROR, NAME = html_grids.LATE, "Largest error", "Name"
FALLING, RISING = "Falling most", "Rising most"
SORT_ORDERS = (URGENT, FALLING, RISING, ERROR, NAME)  # the first is the default


def depot_list(depots: pd.DataFrame, freshness: Freshness) -> None:
    """Shows the list of depots: planned orders, vans short, missing data and last error.

    Args:
      depots: `queries.depots`.
      freshness: Freshness of the forecast; without a forecast the list has names only.
    """
    numbers, last_week = pd.DataFrame(), ""
    if freshness.origin_on is None:
        missing = "No forecast has been made yet, so the list has names only."
        follows = first_forecast.what_follows(freshness.champion)
        widgets.empty_state(f"{missing} {follows}")
    elif queries.fleet_week(freshness).empty:
        widgets.empty_state(first_forecast.NO_OPEN_DEPOTS)
    else:
        numbers = _numbers(freshness, datetime.now(queries.zone()).date())
        plan = van_plan.fleet_plan(freshness)
        answer = st.container()
        with st.container(horizontal=True, gap="medium"):
            city = widgets.choose_city(days_ahead.cities(freshness))
            order = widgets.choose_pill("Sort by", "first", SORT_ORDERS)
        if city:
            depots, plan = depots[depots["city"] == city], plan.of_city(city)
        is_late = depots["depot_id"].map(numbers["status"]).fillna("").ne("")
        late = formatting.listed(sorted(depots.loc[is_late, "name"]))
        on_top = ", listed first" * (order == URGENT)
        missing = f"Missing data{on_top}: {late}." if late else ""
        with answer:
            page_head.print_heading(f"Depots{f' of {city}' * bool(city)}")
            widgets.answer(f"{plan_summaries.short_depots(plan)} {missing}".strip())
            next_decision(plan.cities, None, is_primary=False)
        names = days_ahead.day_names(city, freshness)
        last_week = days_ahead.last_week_note(names, plan.cities["target_on"].min())
        depots = _in_order(depots, numbers, order)
        numbers = numbers[numbers.index.isin(depots["depot_id"])]
        is_of_vans = numbers.columns.str.startswith((html_grids.SHORT, html_grids.LATE))
        numbers = numbers.loc[:, ~is_of_vans | numbers.any()]
        page_head.save_as_excel(
            "depots", lambda: workbook.depot_sheets(depots, numbers), freshness
        )
    if len(depots) > MAX_DEPOTS:
        st.caption(f"{MAX_DEPOTS} of {len(depots):,} depots. The box finds the others.")
    st.html(html_grids.depots(depots.head(MAX_DEPOTS), numbers))
    if not numbers.empty:
        late = "Vans short and late orders assume the moves that Plan proposes. "
        late *= bool(numbers.columns.str.startswith(html_grids.LATE).any())
        outside = "Bold on grey: orders outside the 80\N{NO-BREAK SPACE}% band. “–”: closed, or not known."
        st.caption(f"{late}Error: forecast less orders. {outside} {last_week}")


def _in_order(depots: pd.DataFrame, numbers: pd.DataFrame, order: str) -> pd.DataFrame:
    """Sorts the depots by `order`, then by city and name; depots without a number come last."""
    *_, off_by = html_grids.heads_of(numbers)
    place = {
        URGENT: numbers["place"],
        FALLING: numbers[html_grids.CHANGE],
        RISING: -numbers[html_grids.CHANGE],
        ERROR: -numbers[off_by].abs(),
        NAME: depots.set_index("depot_id")["name"].str.casefold(),
    }[order]
    return depots.sort_values("depot_id", key=lambda ids: ids.map(place), kind="stable")


@st.cache_data(max_entries=4, show_spinner=False)
def _numbers(freshness: Freshness, today: date) -> pd.DataFrame:
    """The numbers that `html_grids.depots` shows."""
    assert freshness.last_on is not None, "requires known demand"
    week = days_ahead.rank(van_plan.fleet_plan(freshness).depots)
    orders, short, late = (
        week.pivot(index="depot_id", columns="target_on", values=name)
        for name in ("point", "short", "undelivered")
    )
    depots = week.drop_duplicates("depot_id").set_index("depot_id")
    shut = week[week.apply(html_grids.is_closed, axis=1)]
    names = shut["target_on"].map(formatting.day).astype(object)
    days = names.groupby(shut["depot_id"]).agg(list)
    closed = "closed on " + days.map(formatting.listed).astype(object)
    last = queries.last_day(freshness).set_index("depot_id").reindex(depots.index)
    was_closed = last["is_expected"].eq(False) & last["actual"].eq(0)
    is_late = depots["is_silent"] | depots["is_late"]
    is_off = summaries.is_outside(last)
    short = short.fillna(0).astype(int).rename(columns=formatting.day)
    late_orders = late.sum(axis=1, min_count=1).round().astype("Int64")
    keys = pd.DataFrame({"is_late": is_late, "late": late_orders, "is_off": is_off})
    # Ties keep the order of `depots`: by city and name.
    urgent = keys.loc[depots.index].sort_values([*keys], ascending=False, kind="stable")
    vans = short.add_prefix(f"{html_grids.SHORT}: ")
    period = f"{formatting.count(orders.shape[1], 'day')} ahead"
    vans[f"{html_grids.LATE}, {period}"] = late_orders
    last_on = formatting.past_day(freshness.last_on, today)
    off_by = f"{html_tables.ERROR}, {last_on.replace('Yesterday', 'yesterday')}"
    totals = {
        f"Orders: {short.columns[0]}": orders.iloc[:, 0],
        f"Orders: {period}": orders.round().sum(axis=1),
    }
    table = pd.DataFrame(totals).round().astype("Int64")
    others = {
        html_grids.CHANGE: 100 * depots["change"],
        off_by: (last["point"] - last["actual"]).round().astype("Int64"),
        "status": depots.apply(html_grids.status, axis=1),
        "is_off": is_off,
        "was_closed": was_closed,
        "closed_on": closed.reindex(table.index, fill_value=""),
        "place": pd.Series(range(len(urgent)), urgent.index),
    }
    return table.join(vans.loc[:, vans.any()]).assign(**others)
