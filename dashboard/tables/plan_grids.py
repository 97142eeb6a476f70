"""Grids of the page Plan as HTML: cities × days, and the depots of a city × days."""

import math
from collections.abc import Mapping
from html import escape
from itertools import groupby
from operator import itemgetter

import pandas as pd

from dashboard.planning.city_settings import CitySettings
from dashboard.planning.transfers import POOL, Transfer
from dashboard.tables import html_parts
from dashboard.tables.html_grids import (
    Row,
    badge,
    closed_since,
    is_closed,
    override_note,
)
from dashboard.text import formatting

UNLIKELY, UNSURE, CERTAIN = 0.5, 0.8, 0.99
"""Chances of full delivery below which a day is marked, and below which it is shown."""


def cities(days: pd.DataFrame, settings: Mapping[str, CitySettings]) -> str:
    """`planning.by_city` as cities × days: vans needed, vans short, and the chance."""
    first = days["city"].iloc[0]
    heads = [
        html_parts.day_head(day) for day in days.loc[days["city"] == first, "target_on"]
    ]
    rows = days.to_dict("records")
    body = [
        html_parts.row(_city_name(settings[str(city)]), map(_city_cell, own))
        for city, own in groupby(rows, itemgetter("city"))
    ]
    return html_parts.table("hf-plan", "City", heads, body)


def _city_name(settings: CitySettings) -> str:
    link = escape(formatting.link("plan", city=settings.city))
    vans = "vans not known"
    if settings.vans is not None:
        vans = formatting.count(settings.vans, "van")
    estimated = " (estimated)" if settings.is_estimated else ""
    return (
        f'<a href="{link}" target="_self">{escape(settings.city)}</a>'
        f"<small>{vans}{estimated}</small>"
    )


def _city_cell(day: Row) -> str:
    short = f' <b class="short">−{day["short"]}</b>' if day["short"] else ""
    chance = day["delivery_probability"]
    likely = formatting.chance(chance)
    text = f"<small>{escape(likely)}</small>" if chance < CERTAIN else ""
    title = f"{formatting.orders(day['point'])} orders; {int(day['needed_pooled'])} vans needed"
    if not math.isnan(chance):
        title += f" of {int(day['vans'])}; all carried with a chance of {likely}"
    return (
        f'<td class="day {_severity(chance)}" title="{escape(title)}">'
        f"{int(day['needed_pooled'])}{short}{text}</td>"
    )


def _severity(chance: float) -> str:
    """The class of a chance of full delivery; '' where there is no need to act."""
    if chance < UNLIKELY:
        return "unlikely"
    return "unsure" if chance < UNSURE else ""


def depots(plan: pd.DataFrame, days: pd.DataFrame) -> str:
    """One city's `planning.make_plan` as depots × days, and its `planning.by_city`.

    Each cell links to the form that changes it.
    """
    short = set(days.loc[days["short"] > 0, "target_on"])
    body = []
    for _, own in groupby(plan.to_dict("records"), itemgetter("depot_id")):
        rows = list(own)
        cells = [_depot_cell(row, row["target_on"] in short) for row in rows]
        body.append(html_parts.row(_depot_name(rows[0]), cells))
    heads = [html_parts.day_head(day) for day in days["target_on"]]
    return html_parts.table("hf-plan", "Depot", heads, body, _totals(days))


def _depot_name(depot: Row) -> str:
    vans = depot["vans"]
    own = "" if math.isnan(vans) else formatting.count(int(vans), "own van")
    return f"{escape(depot['name'])}<small>{own}</small>"


def _depot_cell(row: Row, is_short: bool) -> str:
    """A depot's day; its lack of vans is shown where the city is short."""
    if is_closed(row):
        return f'<td class="closed"{closed_since(row)}>{_edit_link(row, "closed")}</td>'
    short = row["needed"] - row["allocated"] if is_short else 0
    shortage = f' <b class="short">−{short}</b>' if short else ""
    title = (
        f"{formatting.count(row['drivers'], 'driver')}; all carried with a chance of "
        f"{formatting.chance(row['delivery_probability'])}{override_note(row)}"
    )
    orders = _edit_link(row, formatting.orders(row["point"]))
    return (
        f'<td class="day" title="{escape(title)}">{row["allocated"]}{shortage}'
        f"<small>{orders}</small>{badge(row)}</td>"
    )


def _edit_link(row: Row, text: str) -> str:
    day = f"{row['target_on']:%Y-%m-%d}"
    link = formatting.link("plan", city=row["city"], depot=row["depot_id"], day=day)
    label = escape(f"Change {row['name']}, {formatting.day(row['target_on'])}: {text}")
    return f'<a href="{escape(link)}" target="_self" aria-label="{label}">{text}</a>'


def _totals(days: pd.DataFrame) -> list[str]:
    columns = {
        "point": "Planned orders",
        "allocated": "Vans assigned",
        "needed_pooled": "Vans needed<small>if moved between depots</small>",
        "spare": "Vans not assigned",
        "drivers": "Drivers",
        "undelivered": "Undelivered orders",
    }
    is_known = days["vans"].notna().all()
    if not is_known:
        columns = {
            k: v for k, v in columns.items() if k not in ("needed_pooled", "spare")
        }
    lines = [
        html_parts.row(
            name,
            [f'<td class="day">{formatting.orders(n)}</td>' for n in days[column]],
            "total" if column == "point" else "",
        )
        for column, name in columns.items()
    ]
    if is_known:
        cells = [
            f'<td class="day {_severity(chance)}">{escape(formatting.chance(chance))}</td>'
            for chance in days["delivery_probability"]
        ]
        lines.append(html_parts.row("Full delivery", cells))
    return lines


def transfers(moves: Mapping[pd.Timestamp, list[Transfer]]) -> str:
    """`planning.transfers_by_day` as a list, a line for each day with any; else ''."""
    lines = "".join(
        f"<li><b>{formatting.day(day)}:</b> {escape(', '.join(map(_move, own)))}</li>"
        for day, own in moves.items()
        if own
    )
    return f'<ul class="hf-moves">{lines}</ul>' if lines else ""


def _move(transfer: Transfer) -> str:
    from_depot = "spare pool" if transfer.from_depot == POOL else transfer.from_depot
    vans = formatting.count(transfer.vans, "van")
    return f"{vans} {from_depot} → {transfer.to_depot}"
