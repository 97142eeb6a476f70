"""Grids of the page Plan as HTML: cities × days, and the depots of a city × days."""

import math
from collections.abc import Iterable, Mapping
from datetime import date
from html import escape
from itertools import groupby
from operator import itemgetter

import pandas as pd

from dashboard.planning.city_settings import CitySettings
from dashboard.planning.transfers import Transfer
from dashboard.tables import html_parts
from dashboard.tables.html_grids import (
    Row,
    badge,
    closed_since,
    is_closed,
    override_note,
)
from dashboard.text import formatting

CERTAIN = 0.99
"""Chance of full delivery below which it is shown."""


def cities(
    days: pd.DataFrame,
    settings: Mapping[str, CitySettings],
    marked: date | None = None,
) -> str:
    """`planning.by_city` as cities × days: vans needed, vans short, and the chance.

    Each cell leads to its city and day; the column of the day `marked` is marked.
    """
    columns = _columns(days)
    body = []
    for city, own in groupby(days.to_dict("records"), itemgetter("city")):
        cells = {row["target_on"]: _city_cell(row, marked) for row in own}
        name = _city_name(settings[str(city)], marked)
        body.append(html_parts.row(name, _in_columns(cells, columns, marked)))
    return html_parts.table("hf-plan", "City", _heads(columns, marked), body)


def _columns(days: pd.DataFrame) -> list[pd.Timestamp]:
    """The days of a grid, in order; a city or a depot may lack some."""
    return [pd.Timestamp(day) for day in sorted(days["target_on"].unique())]


def _in_columns(
    cells: Mapping[pd.Timestamp, str],
    columns: Iterable[pd.Timestamp],
    marked: date | None,
) -> list[str]:
    """The cells of a row, each below its day; an empty one where there is none."""
    return [
        cells.get(day, f'<td class="{_day_class(day, marked)}"></td>')
        for day in columns
    ]


def _heads(days: Iterable[pd.Timestamp], marked: date | None) -> list[str]:
    return [html_parts.day_head(day, is_marked=day.date() == marked) for day in days]


def _day_class(day: pd.Timestamp, marked: date | None) -> str:
    return "day marked" if day.date() == marked else "day"


def _city_name(settings: CitySettings, marked: date | None) -> str:
    day = {} if marked is None else {"day": f"{marked:%Y-%m-%d}"}
    link = escape(formatting.link("plan", city=settings.city, **day))
    vans = "vans not known"
    if settings.vans is not None:
        vans = formatting.count(settings.vans, "van")
    estimated = " (estimated)" if settings.is_estimated else ""
    return (
        f'<a href="{link}" target="_self">{escape(settings.city)}</a>'
        f"<small>{vans}{estimated}</small>"
    )


def _city_cell(day: Row, marked: date | None) -> str:
    shortage = f' <b class="short">−{day["short"]:,}</b>' if day["short"] else ""
    chance = day["delivery_probability"]
    likely = formatting.chance(chance)
    text = f"<small>{escape(likely)}</small>" if chance < CERTAIN else ""
    title = f"{formatting.orders(day['point'])} orders; {int(day['needed_pooled']):,} vans needed"
    if not math.isnan(chance):
        title += f" of {int(day['vans']):,}; all carried with a chance of {likely}"
    target_on = day["target_on"]
    link = formatting.link("plan", city=day["city"], day=f"{target_on:%Y-%m-%d}")
    return (
        f'<td class="{_day_class(target_on, marked)}" title="{escape(title)}">'
        f'<a href="{escape(link)}" target="_self">'
        f"{int(day['needed_pooled']):,}{shortage}{text}</a></td>"
    )


def depots(plan: pd.DataFrame, days: pd.DataFrame, marked: date | None = None) -> str:
    """One city's `planning.make_plan` as depots × days, and its `planning.by_city`.

    Each cell is a link to the form that changes it; the column of the day `marked` is
    marked.
    """
    short_days = set(days.loc[days["short"] > 0, "target_on"])
    columns = _columns(days)
    body = []
    for _, own in groupby(plan.to_dict("records"), itemgetter("depot_id")):
        rows = list(own)
        cells = {
            row["target_on"]: _depot_cell(row, row["target_on"] in short_days, marked)
            for row in rows
        }
        name = _depot_name(rows[0])
        body.append(html_parts.row(name, _in_columns(cells, columns, marked)))
    totals = _totals(days.sort_values("target_on"), marked)
    return html_parts.table("hf-plan", "Depot", _heads(columns, marked), body, totals)


def _depot_name(depot: Row) -> str:
    vans = depot["vans"]
    own = "" if math.isnan(vans) else formatting.count(int(vans), "own van")
    return f"{escape(depot['name'])}<small>{own}</small>"


def _depot_cell(row: Row, is_short: bool, marked: date | None) -> str:
    """A depot's day; its lack of vans is shown where the city is short."""
    css_class = _day_class(row["target_on"], marked)
    if is_closed(row):
        link = _edit_link(row, "closed", "closed")
        return f'<td class="{css_class} closed"{closed_since(row)}>{link}</td>'
    lacking = row["needed"] - row["allocated"] if is_short else 0
    shortage = f' <b class="short">−{lacking:,}</b>' if lacking else ""
    title = (
        f"{formatting.count(row['drivers'], 'driver')}; all carried with a chance of "
        f"{formatting.chance(row['delivery_probability'])}{override_note(row)}"
    )
    orders = formatting.orders(row["point"])
    parts = [formatting.count(row["allocated"], "van"), f"{orders} orders"]
    if lacking:
        parts.insert(1, f"{lacking:,} short")
    html = f"{row['allocated']:,}{shortage}<small><u>{orders}</u></small>{badge(row)}"
    return (
        f'<td class="{css_class}" title="{escape(title)}">'
        f"{_edit_link(row, ', '.join(parts), html)}</td>"
    )


def _edit_link(row: Row, content: str, html: str) -> str:
    """A link around a whole cell; a screen reader says `content`."""
    day = f"{row['target_on']:%Y-%m-%d}"
    link = formatting.link("plan", city=row["city"], depot=row["depot_id"], day=day)
    cell = f"{row['name']}, {formatting.day(row['target_on'])}"
    label = escape(f"Change {cell}: {content}")
    return f'<a href="{escape(link)}" target="_self" aria-label="{label}">{html}</a>'


def _totals(days: pd.DataFrame, marked: date | None) -> list[str]:
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
        _total(
            name,
            days,
            map(formatting.orders, days[column]),
            marked,
            "total" if column == "point" else "",
        )
        for column, name in columns.items()
    ]
    if is_known:
        chances = map(formatting.chance, days["delivery_probability"])
        lines.append(_total("Chance of full delivery", days, chances, marked))
    return lines


def _total(
    name: str,
    days: pd.DataFrame,
    texts: Iterable[str],
    marked: date | None,
    css_class: str = "",
) -> str:
    cells = [
        f'<td class="{_day_class(day, marked)}">{escape(text)}</td>'
        for day, text in zip(days["target_on"], texts, strict=True)
    ]
    return html_parts.row(name, cells, css_class)


def transfers(moves: Mapping[pd.Timestamp, list[Transfer]]) -> str:
    """`planning.transfers_by_day` as a list, a line for each day with any; else ''."""
    lines = "".join(
        f"<li><b>{formatting.day(day)}:</b> {escape(', '.join(map(_move, own)))}</li>"
        for day, own in moves.items()
        if own
    )
    return f'<ul class="hf-moves">{lines}</ul>' if lines else ""


def _move(transfer: Transfer) -> str:
    vans = formatting.count(transfer.vans, "van")
    return f"{vans} {transfer.from_depot} → {transfer.to_depot}"
