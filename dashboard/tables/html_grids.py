"""Grids of depots × days as HTML, with links.

Everything from the database is escaped here, and nothing else becomes HTML.
"""

import math
from collections.abc import Hashable, Iterable
from html import escape
from itertools import groupby
from operator import itemgetter
from typing import Any
from urllib.parse import urlencode

import pandas as pd

from dashboard.text import formatting, summaries

Row = dict[Hashable, Any]

SHADES = 10
"""Steps of the accent up to a depot's busiest day; `style` has a class for each."""
MAX_DEPOTS, MAX_DEPOTS_OF_ONE_CITY = 120, 600
"""Depots in the grid of several cities, and of one; a browser is slow with more."""
MAX_SUM_LENGTH = len("99,999")
DAY_STATES = {
    "counted": ("■", "data"),
    "missing": ("✕", "missing"),
    "closed": ("–", "closed"),
    "before": ("·", "before first data"),
}
"""Signs of the states of `queries.calendar`, and what they mean."""


def week(depots: pd.DataFrame, max_depots: int | None = None) -> str:
    """Depots × days with whole orders; darker cells are a depot's busier days.

    Args:
      depots: As `ranking.rank` returns it, in its order; not empty.
      max_depots: Depots in the grid, the first ones of each city; totals are of all.
    """
    n_cities = depots["city"].nunique()
    if max_depots is None:
        max_depots = MAX_DEPOTS_OF_ONE_CITY if n_cities == 1 else MAX_DEPOTS
    days = [pd.Timestamp(day) for day in sorted(depots["target_on"].unique())]
    heads = [
        *map(_day_head, days),
        f'<th scope="col" class="wide">{formatting.count(len(days), "day")}</th>',
        '<th scope="col" class="wide">vs last week</th>',
    ]
    rows = depots.to_dict("records")
    limit = max(max_depots // n_cities, 1)
    bodies = [
        _city(str(city), list(own), limit)
        for city, own in groupby(rows, itemgetter("city"))
    ]
    if len(bodies) > 1:
        bodies.insert(0, [_city_totals("All cities", rows)])
    return _table("hf-week", "Depot", heads, *bodies)


def days_ahead(days: pd.DataFrame) -> str:
    """The forecast rows of `queries.depot_days`, with band and events."""
    busiest = float(days["p50"].max())
    notes = formatting.day_notes(days)
    rows = zip(days.to_dict("records"), notes, strict=True)
    heads = [
        '<th scope="col">Orders</th>',
        '<th scope="col">80 % band</th>',
        '<th scope="col" class="fill">Events</th>',
    ]
    body = [_day_row(day, day_notes, busiest) for day, day_notes in rows]
    return _table("narrow", "Day", heads, body)


def plan(plan: pd.DataFrame, days: pd.DataFrame) -> str:
    """`planning.make_plan` as depots × days, and the totals of `planning.by_day`."""
    depots = groupby(plan.to_dict("records"), itemgetter("depot_id"))
    body = []
    for _, own in depots:
        rows = list(own)
        body.append(_row(escape(rows[0]["name"]), map(_plan_cell, rows)))
    heads = [_day_head(day) for day in days["target_on"]]
    return _table("hf-plan", "Depot", heads, body, _plan_totals(days))


def calendar(result: pd.DataFrame, days: list[pd.Timestamp]) -> str:
    """`queries.calendar` as depots × days, a sign for each state; Mondays are labelled."""
    mondays = [
        f"<span>{day.day} {formatting.MONTHS[day.month - 1]}</span>"
        if day.day_of_week == 0
        else ""
        for day in days
    ]
    body = []
    for row in result.to_dict("records"):
        cells = [
            f'<td class="{state}" title="{formatting.day(day)}: {DAY_STATES[state][1]}">'
            f"{DAY_STATES[state][0]}</td>"
            for state, day in zip(row["states"], days, strict=True)
        ]
        body.append(_row(escape(row["name"]), cells))
    heads = [f'<th scope="col">{label}</th>' for label in mondays]
    return _table("hf-calendar", "Depot", heads, body)


def _table(css_class: str, first: str, heads: list[str], *bodies: list[str]) -> str:
    body = "".join(f"<tbody>{''.join(rows)}</tbody>" for rows in bodies)
    return (
        f'<table class="hf {css_class}"><thead><tr><th scope="col">{first}</th>'
        f"{''.join(heads)}</tr></thead>{body}</table>"
    )


def _row(name: str, cells: Iterable[str], css_class: str = "") -> str:
    """A row; `name` is HTML."""
    attribute = f' class="{css_class}"' if css_class else ""
    return f'<tr{attribute}><th scope="row">{name}</th>{"".join(cells)}</tr>'


def _day_head(day: pd.Timestamp) -> str:
    weekday, rest = formatting.day(day).split(" ", 1)
    return f'<th scope="col" class="day">{weekday}<small>{rest}</small></th>'


def _city(city: str, rows: list[Row], limit: int) -> list[str]:
    """A city's totals, and its first depots."""
    depots = [list(own) for _, own in groupby(rows, itemgetter("depot_id"))]
    lines = [_city_totals(city, rows), *map(_depot, depots[:limit])]
    if len(depots) > limit:
        lines.append(
            f'<tr><th scope="row" colspan="10"><small>and {len(depots) - limit:,} more: '
            "choose the city, or open “View data”</small></th></tr>"
        )
    return lines


def _city_totals(name: str, rows: list[Row]) -> str:
    """Sums of the depots' medians, by day."""
    day = itemgetter("target_on")
    totals = [
        sum(row["p50"] for row in own) for _, own in groupby(sorted(rows, key=day), day)
    ]
    change = formatting.signed_percent(summaries.change(rows), 0)
    cells = [
        *(f'<td class="day">{_sum(total)}</td>' for total in totals),
        f'<td class="wide">{formatting.orders(sum(totals))}</td>',
        f'<td class="wide">{change}</td>',
    ]
    return _row(escape(name), cells, "total")


def _sum(total: float) -> str:
    """A sum; abbreviated on phones, which have no room for seven long ones."""
    whole = formatting.orders(total)
    if len(whole) <= MAX_SUM_LENGTH:
        return whole
    short = formatting.abbreviate(total)
    return f'<span class="desk">{whole}</span><span class="phone">{short}</span>'


def _depot(rows: list[Row]) -> str:
    first = rows[0]
    busiest = max(row["p50"] for row in rows)
    link = escape("depot?" + urlencode({"depot": first["depot_id"]}))
    total = formatting.orders(sum(row["p50"] for row in rows))
    cells = [
        *(_week_cell(row, busiest) for row in rows),
        f'<td class="wide">{total}</td>',
        f'<td class="wide">{formatting.signed_percent(first["change"], 0)}</td>',
    ]
    name = f'<a href="{link}">{escape(first["name"])}</a>'
    return _row(f"{name}<small>{_status_or_reason(first)}</small>", cells)


def _status_or_reason(depot: Row) -> str:
    """The missing data of a depot, or the reason for its position."""
    if not (depot["is_silent"] or depot["is_late"]):
        return escape(depot["reason"])
    if pd.isna(depot["last_on"]):
        status = "no data yet"
    else:
        since = "no data since" if depot["is_silent"] else "missing data after"
        status = f"{since} {formatting.day(depot['last_on'])}"
    return f'<b class="late">{status}</b>'


def _week_cell(row: Row, busiest: float) -> str:
    if row["basis"] == "closed":
        return '<td class="day closed">closed</td>'
    about = "≈" if row["basis"] == "cold_start" else ""
    return (
        f'<td class="day {_shade(row["p50"], busiest)}" title="80 % band {_band(row)}">'
        f"{about}{formatting.orders(row['p50'])}</td>"
    )


def _day_row(row: Row, notes: list[str], busiest: float) -> str:
    if row["basis"] == "closed":
        cells = ['<td class="closed">closed</td><td></td>']
        notes = [note for note in notes if note != "Closed"]
    else:
        orders = formatting.orders(row["p50"])
        shade = _shade(row["p50"], busiest)
        cells = [f'<td class="day {shade}">{orders}</td><td>{_band(row)}</td>']
    if row["basis"] == "cold_start":
        notes = ["From similar depots", *notes]
    if not math.isnan(row["planned"]):
        planned = formatting.orders(row["planned"])
        notes = [f"Set to {planned} by {row['made_by']}: {row['reason']}", *notes]
    cells.append(f'<td class="fill">{escape(", ".join(notes))}</td>')
    return _row(formatting.day(row["day_on"]), cells)


def _plan_cell(row: Row) -> str:
    if row["basis"] == "closed" and not row["is_set"]:
        return '<td class="closed">closed</td>'
    short = row["needed"] - row["allocated"]
    shortage = f' <b class="short">−{short}</b>' if short else ""
    override = "locked " if row["is_locked"] else "set " if row["is_set"] else ""
    title = (
        f"{formatting.count(row['drivers'], 'driver')}; "
        f"service level {100 * row['service_level']:.0f} %"
    )
    if row["is_set"]:
        title += f"; set by {row['made_by']}: {row['reason']}"
    return (
        f'<td class="day" title="{escape(title)}">{row["allocated"]}{shortage}'
        f"<small>{override}{formatting.orders(row['p50'])}</small></td>"
    )


def _plan_totals(days: pd.DataFrame) -> list[str]:
    columns = {"allocated": "Vans", "needed": "Vans needed", "spare": "Vans to spare",
               "drivers": "Drivers", "undelivered": "Undelivered orders"}  # fmt: skip
    if days["spare"].isna().all():
        columns = {k: v for k, v in columns.items() if k not in ("needed", "spare")}
    return [
        _row(
            name,
            [f'<td class="day">{formatting.orders(n)}</td>' for n in days[column]],
            "total" if column == "allocated" else "",
        )
        for column, name in columns.items()
    ]


def _band(row: Row) -> str:
    return f"{formatting.orders(row['p10'])} – {formatting.orders(row['p90'])}"


def _shade(value: float, busiest: float) -> str:
    """The shade's class: the nearer to the depot's busiest day, the darker."""
    share = (value / busiest) ** 3 if busiest > 0 else 0.0
    return f"s{SHADES * share:.0f}"
