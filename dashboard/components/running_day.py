"""The running day's orders on the pages: sentences, a table, and cached queries."""

from collections.abc import Hashable, Mapping
from datetime import date, datetime
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.components import days_ahead
from dashboard.planning import van_plan
from dashboard.queries.freshness import Freshness
from dashboard.tables import html_tables
from dashboard.text import formatting
from forecaster.hours import today
from pipelines.planning.van_plan import ALL_CITIES
from pipelines.planning.vans import vans_for
from pipelines.planning.words import clock as clock_time

MAX_DEPOTS = 3
DONE = 0.9  # usual share of a day's orders after which another van is too late


@st.cache_data(max_entries=64, show_spinner=False)
def today_so_far(city: str, now: datetime, freshness: Freshness) -> str:
    """`today_html` of a city, or of all (''), at a time from `queries.clock`."""
    running = days_ahead.of_city(queries.running_depots(now, freshness), city)
    return today_html(running, van_plan.fleet_plan(freshness).depots)


def on_the_way(
    days: pd.DataFrame, now: datetime, freshness: Freshness
) -> dict[date, str]:
    """By day, a sentence on the estimated orders and vans of a running city of `Plan.cities`."""
    planned = days.set_index(["city", "target_on"]).to_dict("index")
    sentences = {}
    for row in queries.running_cities(now, freshness).to_dict("records"):
        if (key := (row["city"], row["target_on"])) not in planned:
            continue
        day = planned[key]
        number = {each: formatting.orders(row[each]) for each in today.CITY_COLUMNS[5:]}
        takes = f" At today's pace about {day['at_pace']:,} are needed, not {day['needed']:,}"
        plan = "The vans are still planned for" if row["is_whole"] else "Planned there:"
        has = "" if pd.isna(day["vans"]) else f"; there are {day['vans']:,.0f}"
        sentences[row["target_on"].date()] = (
            f"about {number['estimate']} orders by the end of the day ({number['p10']} to "
            f"{number['p90']}){_partly(row)}. {plan} {number['forecast']}."
            f"{(takes + has + '.') * (day['at_pace'] != day['needed'])}"
        )
    return sentences


def depot_so_far(
    depot: str, planned: pd.DataFrame, now: datetime, freshness: Freshness
) -> str:
    """'Today so far: 301 orders by 10:20 local, 205 expected; about 720 by the end of the day (…).'.

    At a time from `queries.clock`; '' without data. Also names vans missing in `planned`, the `Plan.depots`.
    """
    so_far = _running("depot_id", depot, now, freshness)
    told = [f"Today so far: {_so_far(row)}." for row in so_far.to_dict("records")]
    return " ".join([*told, *_lacking_vans(so_far, planned)])


def depots_without_vans(
    city: str, planned: pd.DataFrame, now: datetime, freshness: Freshness
) -> list[str]:
    """'Greenwich needs about 5 vans, 3 planned.' for each depot short of vans, at a time from `queries.clock`."""
    return _lacking_vans(_running("city", city, now, freshness), planned)


def _running(
    column: str, place: str, now: datetime, freshness: Freshness
) -> pd.DataFrame:
    """`today.running_depots` of a depot or a city, at a time from `queries.clock`; empty without data."""
    running = queries.running_depots(now, freshness)
    if running.empty:
        return running
    depots = today.running_depots(running)
    return depots[depots[column] == place]


def _lacking_vans(so_far: pd.DataFrame, planned: pd.DataFrame) -> list[str]:
    if so_far.empty:
        return []
    rows = _off_with_vans(so_far, planned).query("n_lacking > 0").to_dict("records")
    return [f"{row['name']} {_vans_at_pace(row)}." for row in rows]


def _so_far(depot: Mapping[Hashable, Any]) -> str:
    orders, usual = (formatting.orders(depot[n]) for n in ("orders_so_far", "expected"))
    if not depot["part"]:
        return f"{orders} orders {_until(depot)}, none planned"
    outlook = "too early to tell" if pd.isna(depot["estimate"]) else _on_the_way(depot)
    return f"{orders} orders {_until(depot)}, {usual} expected; {outlook}"


def _on_the_way(depot: Mapping[Hashable, Any]) -> str:
    total, low, high = (
        formatting.orders(depot[n]) for n in ("estimate", "low", "high")
    )
    return f"about {total} by the end of the day ({low} to {high})"


def _until(row: Mapping[Hashable, Any]) -> str:
    return f"by {clock_time(row['until_hour'])} local"


def _partly(city: Mapping[Hashable, Any]) -> str:
    """' at the 5 depots heard from today' if the city has others, else ''."""
    depots = formatting.count(city["depots"], "depot")
    return "" if city["is_whole"] else f" at the {depots} heard from today"


def today_html(depots: pd.DataFrame, planned: pd.DataFrame) -> str:
    """HTML of the running day by city and the depots furthest off; '' if no depot has orders of it.

    `planned` is `Plan.depots`. If some depots need more vans than planned, only these are listed.
    """
    if depots.empty:
        return ""
    cities = today.running_cities(depots)
    off = _off_with_vans(today.running_depots(depots), planned)
    lacking = off[off["n_lacking"] > 0]
    urgent, others = _listed(lacking), _listed(off)
    far_off = f"<p>Far off so far:</p>{others}" if others and not urgent else ""
    is_early = ~depots["city"].isin(cities["city"]) & depots["part"].gt(0)
    early = today.depots_so_far(depots)[is_early]
    so_far = early.groupby("city")["orders_so_far"].sum().items()
    told = formatting.listed(
        [f"{city} ({formatting.orders(n)} so far)" for city, n in so_far]
    )
    too_early = told and f"<p>Too early to tell: {escape(told)}.</p>"
    note = "The plan has not changed with today's pace."
    if cities["city"].eq("").any():
        note += " All cities are estimated as a whole, not added up."
    estimated = f"{_table(cities)}{too_early}<p>{note}</p>{far_off}"
    shown = too_early if cities.empty else urgent + estimated
    return shown and (
        '<section class="hf-today" aria-label="Today so far"><h2>Today so far</h2>'
        f"{shown}</section>"
    )


def _listed(depots: pd.DataFrame) -> str:
    """The first depots of `_off_with_vans` as a list; '' for none."""
    items = ""
    for row in depots.head(MAX_DEPOTS).to_dict("records"):
        link = escape(formatting.link("depot", depot=row["depot_id"]))
        vans = f"; <b>{_vans_at_pace(row)}</b>" if row["n_lacking"] else ""
        items += (
            f'<li><a href="{link}" target="_self">{escape(row["name"])}</a>: '
            f"{_on_the_way(row)}, planned {formatting.orders(row['point'])}{vans}</li>"
        )
    return items and f"<ul>{items}</ul>"


def _off_with_vans(so_far: pd.DataFrame, planned: pd.DataFrame) -> pd.DataFrame:
    """`today.depots_off` with columns of `Plan.depots`, at_pace (vans for `high` orders) and n_lacking."""
    keys = ["depot_id", "target_on"]
    columns = ["vans", "allocated", "needed", "capacity"]
    known = today.depots_off(so_far).merge(planned[keys + columns], on=keys)
    at_pace = pd.Series(
        vans_for((known["high"] / known["capacity"]).to_numpy(), 1.0), known.index
    )
    is_more = (at_pace > known["needed"]) & (known["usual_share"] <= DONE)
    lacking = (at_pace - known["allocated"]).where(is_more, 0)
    return known.assign(at_pace=at_pace, n_lacking=lacking.clip(lower=0))


def _vans_at_pace(depot: Mapping[Hashable, Any]) -> str:
    vans, own = formatting.count(depot["at_pace"], "van"), depot["vans"]
    of_own = f" of its {own:,.0f}" if own > depot["allocated"] else ""
    return f"needs about {vans}, {depot['allocated']:,}{of_own} planned"


def _table(cities: pd.DataFrame) -> str:
    """The running day by city as a table; each city links to its plan."""
    heads = ("So far", "Expected by then", "By the end", "Forecast")
    rows = []
    for city in cities.to_dict("records"):
        # The fleet may span time zones, so its row has no local time.
        until = (_until(city) + _partly(city)) * bool(city["city"])
        number = {n: formatting.orders(city[n]) for n in today.CITY_COLUMNS[5:]}
        cells = [
            f"{number['orders_so_far']}<small>{until}</small>",
            formatting.orders(city["usual_share"] * city["forecast"]),
            f"<b>{number['estimate']}</b><small>{number['p10']} to {number['p90']}</small>",
            number["forecast"],
        ]
        name = html_tables.city_name(str(city["city"])) if city["city"] else ALL_CITIES
        rows.append(html_tables.row(name, [f"<td>{cell}</td>" for cell in cells]))
    columns = [f'<th scope="col">{head}</th>' for head in heads]
    return html_tables.grid("narrow", "Orders today so far", "City", columns, rows)
