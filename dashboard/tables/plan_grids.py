"""Grids of the page Plan as HTML: cities × days, and the depots of a city × days."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import date
from html import escape
from itertools import groupby
from operator import attrgetter, itemgetter

import pandas as pd

from dashboard.planning.van_plan import POOL, Transfer
from dashboard.tables import html_tables
from dashboard.tables.html_grids import (
    NO_NAMES,
    DayNames,
    Row,
    badge,
    closed_since,
    in_columns,
    is_closed,
    of_needed,
    override_note,
)
from dashboard.text import formatting, plan_summaries
from pipelines.planning.city_settings import ASK, CitySettings
from pipelines.planning.van_plan import ALL_CITIES, Plan
from pipelines.planning.words import DECIDED, decision_words, hour

DEPOT_CELLS = (
    '<tr><th scope="rowgroup" colspan="{}"><small>Each depot: vans that drive, “7 of 9” where 9 are needed, '
    "and its planned orders</small></th></tr>"
)
DECIDED_BRIEFLY = DECIDED | {ASK: "help asked"}
CERTAIN = 0.99  # chance of full delivery below which it is shown


def cities(
    days: pd.DataFrame,
    settings: Mapping[str, CitySettings],
    marked: date | None = None,
    names: DayNames = NO_NAMES,
) -> str:
    """`Plan.cities` as cities × days: need, short, and the chance of full delivery.

    Each cell links to its city and day, or to the decision that is due. `marked` is the marked
    day; `names` are in the heads.
    """
    columns = _columns(days)
    body = [_all_cities(days, settings, marked)] if len(settings) > 1 else []
    for city, own in groupby(days.to_dict("records"), itemgetter("city")):
        cells = {row["target_on"]: _city_cell(row, marked) for row in own}
        name, of = html_tables.city_name(str(city), marked), settings[str(city)]
        name += _has(of.vans, of.is_estimated)
        body.append(html_tables.row(name, in_columns(cells, columns)))
    label = "Vans needed by city and day"
    name = "City<small>vans needed</small>"
    heads = _heads(columns, marked, names)
    return html_tables.grid("hf-plan", label, name, heads, body)


def _all_cities(
    days: pd.DataFrame, settings: Mapping[str, CitySettings], marked: date | None
) -> str:
    """The row of each day's sums: a city's spare vans do not offset another's shortage."""
    known = days.assign(left=days["short"].mask(days["is_decided"], 0))
    sums = known.groupby("target_on")[["needed", "short", "left"]].sum()
    sums = sums.assign(late=plan_summaries.late_orders(days))
    cells = []
    for day, needed, short, left, late in sums.itertuples():
        html = f"{needed:,.0f}{_short(short, is_decided=not left)}"
        html += f"<small>{formatting.orders(late)} late</small>" if late else ""
        cells.append(f'<td class="{_day_class(day, marked)}">{html}</td>')
    every = [each.vans for each in settings.values() if each.vans is not None]
    is_estimated = any(each.is_estimated for each in settings.values())
    vans = _has(sum(every) if len(every) == len(settings) else None, is_estimated)
    return html_tables.row(f"{ALL_CITIES}{vans}", cells, "total")


def _short(vans: float, *, is_decided: bool) -> str:
    """' 23 short' as HTML; '' for none."""
    if not vans:
        return ""
    css_class = "short settled" if is_decided else "short"
    return f' <b class="{css_class}">{vans:,.0f} short</b>'


def _has(vans: int | None, is_estimated: bool) -> str:
    """'52 vans (estimated)' as HTML below a name."""
    if vans is None:
        return "<small>vans not known</small>"
    estimated = " (estimated)" if is_estimated else ""
    return f"<small>{formatting.count(vans, 'van')}{estimated}</small>"


def _columns(days: pd.DataFrame) -> list[pd.Timestamp]:
    """The days of a grid, in order; a city or a depot may lack some."""
    return [pd.Timestamp(day) for day in sorted(days["target_on"].unique())]


def _heads(
    days: Iterable[pd.Timestamp], marked: date | None, names: DayNames, city: str = ""
) -> list[str]:
    """The column heads of the days; if a `city` is given, each links to its day in the plan."""
    return [
        html_tables.day_head(
            day,
            names.get(day, ""),
            is_marked=day.date() == marked,
            link=formatting.plan_link(city, day) * bool(city),
        )
        for day in days
    ]


def _day_class(day: pd.Timestamp, marked: date | None) -> str:
    return "day marked" if day.date() == marked else "day"


def _city_cell(day: Row, marked: date | None) -> str:
    text, chance = "", day["delivery_probability"]
    if chance < CERTAIN:
        likely = escape(formatting.chance(chance)).replace(" ", "&nbsp;")
        text = f'<small>{likely}<span class="desk"> chance</span></small>'
    if day["made_by"]:
        text += f"<small>{_decision(day)}</small>"
    short = _short(day["short"], is_decided=day["is_decided"])
    form = "vans" * day["is_due"]
    link = formatting.plan_link(day["city"], day["target_on"], form=form)
    return (
        f'<td class="{_day_class(day["target_on"], marked)}">'
        f'<a href="{escape(link)}" target="_self"><u>{day["needed"]:,}</u>{short}{text}</a></td>'
    )


def depots(plan: Plan, marked: date | None = None, names: DayNames = NO_NAMES) -> str:
    """The plan of one city: its totals and decisions, its depots × days, and its shifts.

    A depot's cell links to the form for its orders. `marked` and `names` are as in `cities`.
    """
    days = plan.cities.sort_values("target_on")
    columns = _columns(days)
    body = [DEPOT_CELLS.format(1 + len(columns))]
    for _, own in groupby(plan.depots.to_dict("records"), itemgetter("depot_id")):
        rows = list(own)
        cells = {row["target_on"]: _depot_cell(row, marked) for row in rows}
        name = _depot_name(rows[0])
        body.append(html_tables.row(name, in_columns(cells, columns)))
    city = str(days["city"].iloc[0])
    heads = _heads(columns, marked, names, city)
    label = "Vans and orders by day and depot"
    outcome, shifts = _totals(days, OUTCOME), _by_shift(plan.shifts)
    if shifts:
        outcome["Drivers to roster, all shifts"] = outcome.pop("Drivers to roster")
    totals = [
        *_city_rows(_totals(days, VANS), days, marked),
        *_decisions(days, marked),
        *_city_rows(outcome, days, marked),
    ]
    bodies = [totals, body] + [_city_rows(shifts, days, marked)] * bool(shifts)
    return html_tables.grid("hf-plan of-city", label, escape(city), heads, *bodies)


def _depot_name(depot: Row) -> str:
    vans = depot["vans"]
    own = "" if math.isnan(vans) else formatting.count(int(vans), "own van")
    link = escape(formatting.link("depot", depot=depot["depot_id"]))
    name = f'<a href="{link}" target="_self">{escape(depot["name"])}</a>'
    return f"{name}<small>{own}</small>"


def _depot_cell(row: Row, marked: date | None) -> str:
    """A depot's day: its part of the city's vans, '7 of 11' where it needs more."""
    css_class = _day_class(row["target_on"], marked)
    if is_closed(row):
        link = _edit_link(row, "closed", "closed")
        return f'<td class="{css_class} closed"{closed_since(row)}>{link}</td>'
    title = (
        "Chance of full delivery "
        f"{formatting.chance(row['delivery_probability'])}{override_note(row)}"
    )
    orders = formatting.orders(row["point"])
    says = formatting.count(row["allocated"], "van")
    if row["needed"] > row["allocated"]:
        says += f" of {row['needed']:,} needed"
    vans = of_needed(row["allocated"], row["needed"])
    html = f"{vans}<small><u>{orders}</u></small>{badge(row, row['made_by'])}"
    return (
        f'<td class="{css_class}" title="{escape(title)}">'
        f"{_edit_link(row, f'{says}, {orders} orders', html)}</td>"
    )


def _edit_link(row: Row, content: str, html: str) -> str:
    """A link around a whole cell; screen readers read `content`."""
    link = formatting.plan_link(row["city"], row["target_on"], depot=row["depot_id"])
    cell = f"{row['name']}, {formatting.day(row['target_on'])}"
    label = escape(f"Change {cell}: {content}")
    return f'<a href="{escape(link)}" target="_self" aria-label="{label}">{html}</a>'


def _unless_zero(number: float) -> str:
    return formatting.orders(number) if abs(number) >= 0.5 else ""


DayTexts = Mapping[Hashable, str]
"""HTML of a row's cells, by day."""
Lines = Mapping[str, tuple[str, Callable[[float], str]]]
"""Rows of a city by heading: the column of `Plan.cities`, and the function that formats it."""
VANS: Lines = {
    "Need": ("needed", formatting.orders),
    "Have": ("vans", formatting.orders),
    "Short": ("short", _unless_zero),
}
"""Rows above a city's decisions."""
OUTCOME: Lines = {
    "Chance of full delivery": ("delivery_probability", formatting.chance),
    "Late orders": ("undelivered", _unless_zero),
    "Orders": ("point", formatting.orders),
    "Drivers to roster": ("drivers", formatting.orders),
}
"""Rows below a city's decisions."""


def _by_shift(shifts: pd.DataFrame) -> dict[str, DayTexts]:
    """Drivers and orders of each shift, and each day's busiest hour; empty without shifts."""
    if shifts.empty:
        return {}
    rows = {
        f"{name} {shift}": _by_day(own, map(formatting.orders, own[name.casefold()]))
        for name in ("Drivers", "Orders")
        for shift, own in shifts.groupby("shift", sort=False)
    }
    days = shifts.drop_duplicates("target_on")
    hours = map(hour, days["busiest_hour"])
    return rows | {"Busiest hour": _by_day(days, hours)}


def _by_day(rows: pd.DataFrame, texts: Iterable[str]) -> DayTexts:
    return dict(zip(rows["target_on"], texts, strict=True))


def _totals(days: pd.DataFrame, lines: Lines) -> dict[str, DayTexts]:
    """The rows of `lines` that have a number on at least one day."""
    rows = {}
    for name, (column, to_text) in lines.items():
        texts = list(map(to_text, days[column])) if column in days else []
        if set(texts) - {"", formatting.UNKNOWN}:
            rows[name] = _by_day(days, map(escape, texts))
    return rows


def _city_rows(
    rows: Mapping[str, DayTexts], days: pd.DataFrame, marked: date | None
) -> list[str]:
    """HTML of a city's rows, from the HTML of their cells by day."""
    lines = []
    for name, texts in rows.items():
        cells = [
            f'<td class="{_day_class(day, marked)}">{texts.get(day, formatting.UNKNOWN)}</td>'
            for day in days["target_on"]
        ]
        lines.append(html_tables.row(name, cells, "total" if name == "Short" else ""))
    return lines


def _decisions(days: pd.DataFrame, marked: date | None) -> list[str]:
    """The row of each day's decision on vans, made or due, with a link to the form; [] if none."""
    if not (days["short"].any() or days["made_by"].any()):
        return []
    cells = []
    for day in days.to_dict("records"):
        target_on = day["target_on"]
        link = formatting.plan_link(day["city"], target_on, form="vans")
        text = _decision(day)
        # The stylesheet recognises open decisions by this label.
        says = text
        if day["made_by"]:
            says = f"{decision_words(day)} by {day['made_by']}"
            says += ", to decide" * day["is_due"]
        label = escape(f"Vans of {formatting.day(target_on)}: {says}")
        cells.append(
            f'<td class="{_day_class(target_on, marked)}"><a href="{escape(link)}" '
            f'target="_self" aria-label="{label}"><small><u>{text}</u></small>'
            "</a></td>"
        )
    return [html_tables.row("Decision", cells)]


def _decision(day: Row) -> str:
    """A day's decision as HTML: '+3 hired, Ann; decide' (phones have no name), 'decide' or '–'."""
    words = [
        f"+{day['extra']:,} hired" if day["extra"] else "",
        DECIDED_BRIEFLY.get(day["kind"], ""),
        f"−{day['off_road']:,} off" if day["off_road"] else "",
    ]
    if any(words):
        name = f'<span class="desk">, {escape(day["made_by"])}</span>'
        return ", ".join(filter(None, words)) + name + "; decide" * day["is_due"]
    if day["short"] and day["is_enough"]:
        return f"{day['at_pace']:,} at pace"
    return "decide" if day["is_due"] else "–"


def transfers(moves: Mapping[pd.Timestamp, list[Transfer]]) -> str:
    """`van_plan.transfers_by_day` as a list, a line for each depot that lends; '' without any."""
    lines = ""
    for day, own in moves.items():
        in_order = sorted(
            own, key=lambda each: (each.from_depot == POOL, each.from_depot)
        )
        groups = groupby(in_order, attrgetter("from_depot"))
        items = "".join(_moves(depot, list(group)) for depot, group in groups)
        lines += f"<li><b>{formatting.day(day)}</b><ul>{items}</ul></li>" if own else ""
    return f'<ul class="hf-moves">{lines}</ul>' if lines else ""


def _moves(depot: str, own: list[Transfer]) -> str:
    """'3 vans  Overschie → 1 Alexander, 2 Hoogvliet'."""
    vans = formatting.count(sum(each.vans for each in own), "van")
    to = ", ".join(f"{each.vans:,} {each.to_depot}" for each in own)
    to = own[0].to_depot if len(own) == 1 else to
    return f"<li><span>{vans}</span> {escape(f'{depot} → {to}')}</li>"
