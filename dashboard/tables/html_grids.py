"""Tables as HTML, where a day must be readable at a glance and lead somewhere.

Everything from the database is escaped here, and nothing else becomes HTML.
"""

import math
from collections.abc import Hashable
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
MOST_DEPOTS = 120
"""Written out of several cities; a browser takes its time over more."""
MOST_OF_A_CITY = 600
LONGEST_SUM = len("99,999")


def week(depots: pd.DataFrame, most: int | None = None) -> str:
    """Depots × days with whole orders; a stronger cell is a busier day of that depot.

    Args:
      depots: As `attention.ranked` returns it, in its order; not empty.
      most: Depots to write out, the first ones of each city; totals are of all. More of
        one city alone than of many, unless said.
    """
    n_cities = depots["city"].nunique()
    if most is None:
        most = MOST_OF_A_CITY if n_cities == 1 else MOST_DEPOTS
    days = [pd.Timestamp(day) for day in sorted(depots["target_on"].unique())]
    heads = "".join(_day_head(day) for day in days)
    rows = depots.to_dict("records")
    most_each = max(most // n_cities, 1)
    bodies = [
        _city(str(city), list(own), most_each) for city, own in groupby(rows, _CITY)
    ]
    if len(bodies) > 1:
        bodies.insert(0, f"<tbody>{_totals('All cities', rows)}</tbody>")
    return (
        f'<table class="hf hf-week"><thead><tr><th scope="col">Depot</th>{heads}'
        f'<th scope="col" class="wide">{formatting.count(len(days), "day")}</th>'
        '<th scope="col" class="wide">vs last '
        f"week</th></tr></thead>{''.join(bodies)}</table>"
    )


def days_ahead(days: pd.DataFrame) -> str:
    """The days ahead of one depot, a row for each, with band and remark.

    Args:
      days: Rows of `queries.depot_days` that have a forecast; not empty.
    """
    busiest = float(days["p50"].max())
    remarks = formatting.remarks(days)
    noted = zip(days.to_dict("records"), remarks, strict=True)
    rows = "".join(_day_row(day, said, busiest) for day, said in noted)
    return (
        f'<table class="hf narrow"><thead><tr><th scope="col">Day</th>'
        '<th scope="col">Orders</th><th scope="col">80 % band</th>'
        f'<th scope="col" class="fill">Events</th></tr></thead><tbody>{rows}'
        "</tbody></table>"
    )


_CITY, _DEPOT, _DAY = (
    itemgetter("city"),
    itemgetter("depot_id"),
    itemgetter("target_on"),
)


def _city(city: str, rows: list[Row], most: int) -> str:
    """A city's own line of totals, and the lines of its depots."""
    depots = [list(own) for _, own in groupby(rows, _DEPOT)]
    written = "".join(_depot(own) for own in depots[:most])
    return f"<tbody>{_totals(city, rows)}{written}{_more(len(depots) - most)}</tbody>"


def _more(n_depots: int) -> str:
    """Says how many depots are not written out."""
    if n_depots <= 0:
        return ""
    return (
        f'<tr><th scope="row" colspan="10"><small>and {n_depots:,} more: '
        "choose the city, or open “View data”</small></th></tr>"
    )


def _totals(name: str, rows: list[Row]) -> str:
    """Sums of the depots' medians, by day."""
    by_day = groupby(sorted(rows, key=_DAY), _DAY)
    totals = [sum(row["p50"] for row in own) for _, own in by_day]
    cells = "".join(f'<td class="day">{_sum(total)}</td>' for total in totals)
    total, change = (
        formatting.orders(sum(totals)),
        formatting.signed_percent(summaries.change(rows), 0),
    )
    return (
        f'<tr class="total"><th scope="row">{escape(name)}</th>{cells}'
        f'<td class="wide">{total}</td><td class="wide">{change}</td></tr>'
    )


def _sum(total: float) -> str:
    """A sum; seven of six figures each are rounded where a phone has no room for them."""
    whole = formatting.orders(total)
    if len(whole) <= LONGEST_SUM:
        return whole
    rounded = formatting.rounded(total)
    return f'<span class="desk">{whole}</span><span class="phone">{rounded}</span>'


def _depot(rows: list[Row]) -> str:
    first = rows[0]
    busiest = max(row["p50"] for row in rows)
    cells = "".join(_cell(row, busiest) for row in rows)
    link = escape("depot?" + urlencode({"depot": first["depot_id"]}))
    total = formatting.orders(sum(row["p50"] for row in rows))
    return (
        f'<tr><th scope="row"><a href="{link}">{escape(first["name"])}</a>'
        f"<small>{_below_name(first)}</small></th>{cells}"
        f'<td class="wide">{total}</td>'
        f'<td class="wide">{formatting.signed_percent(first["change"], 0)}</td></tr>'
    )


def _below_name(depot: Row) -> str:
    """What is late, or what else put the depot where it stands."""
    if depot["is_silent"] and pd.isna(depot["last_on"]):
        return '<b class="late">no data yet</b>'
    if depot["is_silent"]:
        newest = formatting.day(depot["last_on"])
        return f'<b class="late">no data since {newest}</b>'
    if depot["is_late"]:
        newest = formatting.day(depot["last_on"])
        return f'<b class="late">missing data after {newest}</b>'
    return escape(depot["reason"])


def _cell(row: Row, busiest: float) -> str:
    if row["basis"] == "closed":
        return '<td class="day closed">closed</td>'
    about = "≈" if row["basis"] == "cold_start" else ""
    return (
        f'<td class="day {_shade(row["p50"], busiest)}" title="80 % band {_band(row)}">'
        f"{about}{formatting.orders(row['p50'])}</td>"
    )


def _day_row(row: Row, remarks: list[str], busiest: float) -> str:
    name = f'<th scope="row">{formatting.day(row["day_on"])}</th>'
    if row["basis"] == "closed":
        cells = '<td class="closed">closed</td><td></td>'
        remarks = [remark for remark in remarks if remark != "Closed"]
    else:
        shade = _shade(row["p50"], busiest)
        orders = formatting.orders(row["p50"])
        cells = f'<td class="day {shade}">{orders}</td><td>{_band(row)}</td>'
    if row["basis"] == "cold_start":
        remarks = ["From similar depots", *remarks]
    if not math.isnan(row["planned"]):
        planned = formatting.orders(row["planned"])
        remarks = [f"Set to {planned} by {row['made_by']}: {row['reason']}", *remarks]
    return f'<tr>{name}{cells}<td class="fill">{escape(", ".join(remarks))}</td></tr>'


def _band(row: Row) -> str:
    return f"{formatting.orders(row['p10'])} – {formatting.orders(row['p90'])}"


def _shade(value: float, busiest: float) -> str:
    """The class of the accent, the stronger the nearer to the depot's busiest day."""
    share = (value / busiest) ** 3 if busiest > 0 else 0.0
    return f"s{SHADES * share:.0f}"


def _day_head(day: pd.Timestamp) -> str:
    weekday, rest = formatting.day(day).split(" ", 1)
    return f'<th scope="col" class="day">{weekday}<small>{rest}</small></th>'
