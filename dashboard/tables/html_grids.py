"""Grids of depots × days as HTML, with links.

Everything from the database is escaped here, and nothing else becomes HTML.
"""

from collections.abc import Hashable, Mapping, Sequence
from datetime import date
from html import escape
from itertools import groupby
from operator import itemgetter
from typing import Any

import pandas as pd

from dashboard.tables import html_tables
from dashboard.text import formatting, summaries
from pipelines.planning.van_plan import ALL_CITIES

Row = dict[Hashable, Any]
Days = Sequence[pd.Timestamp]
DayNames = Mapping[pd.Timestamp, str]
NO_NAMES: Mapping[Any, Any] = {}

SHADES = 10
"""Number of shades, the darkest for a depot's busiest day; style.css has a class for each."""
MAX_DEPOTS, MAX_DEPOTS_OF_ONE_CITY = 120, 600
"""Maximum depots in the grid of several cities, and of one; browsers are slow with more."""
MARKS = ("status", "is_off", "was_closed", "closed_on", "place")
"""Columns of the list of depots without a heading."""
LATE, CHANGE, SHORT = "Late orders", "vs last 7 days", "Vans short"
DAY_STATES = {
    "counted": ("■", "data"),
    "missing": ("✕", "missing"),
    "due": ("…", "not due yet"),
    "closed": ("–", "closed"),
    "before": ("·", "before first data"),
}
"""Sign and meaning of each state of `queries.calendar`."""


def fleet_grid(
    depots: pd.DataFrame,
    names: Mapping[str, DayNames] = NO_NAMES,
    names_before: DayNames = NO_NAMES,
) -> str:
    """Depots × days with whole orders; darker cells are a depot's busier days.

    Args:
      depots: As `days_ahead.ranked` returns it, in its order; not empty.
      names: Holidays and events by city and day, shown below the city's totals; those of all
        cities ('') are marked in the column heads.
      names_before: Holidays and events of 52 weeks before, in the row of that year.
    """
    n_cities = depots["city"].nunique()
    max_depots = MAX_DEPOTS_OF_ONE_CITY if n_cities == 1 else MAX_DEPOTS
    days = [pd.Timestamp(day) for day in sorted(depots["target_on"].unique())]
    heads = [
        *(html_tables.day_head(day, names.get("", {}).get(day, "")) for day in days),
        f'<th scope="col" class="wide">{formatting.count(len(days), "day")} ahead</th>',
        f'<th scope="col" class="wide">{CHANGE}</th>',
    ]
    limit = max(max_depots // n_cities, 1)
    advice = "" if n_cities == 1 else "choose the city, "
    notice = f'<tr><th scope="row" colspan="{1 + len(heads)}"><small>and {{:,}} more: '
    notice += f'{advice}find one by name on page <a href="depot">Depots</a>, or save '
    notice += "all as Excel</small></th></tr>"
    bodies = [
        _city(own, days, limit, notice, names.get(str(city), {}))
        for city, own in depots.groupby("city", sort=False)
    ]
    if len(bodies) > 1:
        bodies.insert(0, [_city_totals(ALL_CITIES, depots, days, {})])
    bodies[0][1:1] = _last_year(depots, days, names_before)
    name = "Planned orders by depot and day"
    return html_tables.grid("hf-fleet", name, "Depot", heads, *bodies)


def depots(depots: pd.DataFrame, numbers: pd.DataFrame) -> str:
    """The list of depots: links to their pages, their cities if there are several, and numbers.

    Args:
      depots: `queries.depots`, in the order of the list.
      numbers: Indexed by depot_id. A column per heading: whole orders, percentages or, if it begins
        with `SHORT`, vans. Then `status` (missing data, below the depot's name), `is_off` (whether the
        last error is marked), `was_closed` (on its day), `closed_on` (days ahead) and `place`.
        Empty without a forecast.
    """
    heads, texts, rows = heads_of(numbers), _listed_texts(numbers), []
    has_cities = depots["city"].nunique() > 1
    # Phones show these below the depot's name.
    vans = {
        head: _unbroken(f" on {head.partition(': ')[2].rpartition(' ')[0]}")
        for head in heads
        if head.startswith(SHORT)
    }
    css_class = {head: "desk" if head in (*heads[1:2], *vans) else "" for head in heads}
    for depot in depots.to_dict("records"):
        link = escape(formatting.link("depot", depot=depot["depot_id"]))
        cells = texts.get(depot["depot_id"], {})
        told = escape(depot["city"]) * has_cities, cells.get("status")
        short = ", ".join(cells[n] + on for n, on in vans.items() if cells.get(n))
        about = " · ".join(filter(None, [*told, cells.get("closed_on")]))
        about += f'<span class="phone">Short: {short}</span>' * bool(short)
        name = f'<a href="{link}">{escape(depot["name"])}</a><small>{about}</small>'
        shown = [
            f'<td class="{css_class[head]}">{cells.get(head, formatting.UNKNOWN)}</td>'
            for head in heads
        ]
        rows.append(html_tables.row(name, shown))
    columns = [
        f'<th scope="col" class="{css_class[head]}">{html_tables.head(_lines(head), before)}</th>'
        for before, head in zip(["", *heads], heads, strict=False)
    ]
    return html_tables.grid("hf-depots", "Depots", "Depot", columns, rows)


def _lines(head: str) -> str:
    """The heading, with a line break allowed after its comma, else its first word: 'Fri' and '27 Nov'."""
    group, colon, own = head.rpartition(": ")
    parts = own.partition(", " if ", " in own else " ")
    return f"{group}{colon}{_unbroken(parts[0])}{parts[1]}{_unbroken(parts[2])}"


def _unbroken(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def heads_of(numbers: pd.DataFrame) -> list[str]:
    """The headings of the columns of `depots`; the last one heads the last day's error."""
    return [str(name) for name in numbers if name not in MARKS]


def _listed_texts(numbers: pd.DataFrame) -> dict[Hashable, Row]:
    """HTML of the cells of the list of depots, by depot_id and heading."""
    heads = heads_of(numbers)
    own = {
        head: html_tables.column(numbers[head], html_tables.ERROR_SHARE)
        for head in heads
    }
    texts = pd.DataFrame(own, index=numbers.index)
    if heads:
        first, last = heads[0], heads[-1]
        texts["status"] = numbers["status"].map(_late)
        texts["closed_on"] = numbers["closed_on"]
        day = first.partition(": ")[2]  # may be over in a depot's zone
        is_closed = numbers["closed_on"].str.contains(day)
        texts[first] = texts[first].mask(is_closed, "closed")
        texts[last] = html_tables.column(numbers[last], html_tables.ERROR)
        marked = texts[last].map(html_tables.marked)
        texts[last] = texts[last].mask(numbers["is_off"], marked)
        texts[last] = texts[last].mask(numbers["was_closed"], "closed")
    for head in filter(lambda head: head.startswith(SHORT), heads):
        shades = (2 * numbers[head].clip(upper=5)).map('<span class="s{}">'.format)
        texts[head] = (shades + texts[head] + "</span>").where(numbers[head] > 0, "")
    return texts.to_dict("index")


def _late(text: str) -> str:
    return f'<b class="late">{escape(text)}</b>' if text else ""


def depot_days(days: pd.DataFrame, depot: Row) -> str:
    """The days ahead in `queries.depot_days` as a table, with vans, band and events.

    Args:
      days: With allocated, needed and undelivered (as in `Plan.depots`), moved
        (`plan_summaries.moved_vans`) and noted_before (`display_tables.noted_before`).
      depot: depot_id and city. Days link to their explanation, orders to the form for orders.
    """
    busiest = float(days["point"].max())
    notes = formatting.day_notes(days)
    has_year = bool(days["year_before"].notna().any())
    rows = zip(days.to_dict("records"), notes, strict=True)
    names = ["Orders", "80 % band", "Vans", "Last week", "Last year"][: 4 + has_year]
    heads = [f'<th scope="col">{name}</th>' for name in names]
    heads.append('<th scope="col" class="fill desk">Events</th>')
    body = [_day_row(day, noted, busiest, has_year, depot) for day, noted in rows]
    return html_tables.grid(
        "narrow hf-days", "Orders of the days ahead", "Day", heads, body
    )


def calendar(result: pd.DataFrame, last_on: date) -> str:
    """`queries.calendar` as depots × days up to `last_on`, with a sign for each state."""
    days = pd.date_range(
        end=pd.Timestamp(last_on), periods=len(result["states"].iloc[0])
    )
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
        body.append(html_tables.row(escape(row["name"]), cells))
    heads = [f'<th scope="col">{label}</th>' for label in mondays]
    return html_tables.grid(
        "hf-calendar", "Data by depot and day", "Depot", heads, body
    )


def in_columns(cells: Mapping[Hashable, str], days: Days) -> list[str]:
    """The cells of a row in the order of `days`; an empty cell for a missing day."""
    return [cells.get(day, '<td class="day"></td>') for day in days]


def _city(
    depots: pd.DataFrame, days: Days, limit: int, notice: str, names: DayNames
) -> list[str]:
    """A city's totals, its first depots, and the notice with the number of others."""
    depot_ids = depots["depot_id"].unique()
    shown = depots[depots["depot_id"].isin(depot_ids[:limit])].to_dict("records")
    name = html_tables.city_name(str(depots["city"].iloc[0]))
    lines = [_city_totals(name, depots, days, names)]
    lines += [
        _depot(list(own), days) for _, own in groupby(shown, itemgetter("depot_id"))
    ]
    if len(depot_ids) > limit:
        lines.append(notice.format(len(depot_ids) - limit))
    return lines


def _city_totals(
    name: str, depots: pd.DataFrame, days: Days, names: DayNames, column: str = "part"
) -> str:
    """A row of daily sums of `column`, with the `names` of days; `name` is HTML."""
    totals = depots.groupby("target_on")[column].sum()
    is_planned = column == "part"
    change = formatting.signed_percent(summaries.change(depots), 0) * is_planned
    named: dict[Hashable, str] = {
        day: f'<small class="events">{escape(names[day])}</small>' for day in names
    }
    cells: dict[Hashable, str] = {
        day: f'<td class="day">{_sum(total)}{named.get(day, "")}</td>'
        for day, total in totals.items()
    }
    wide = [
        f'<td class="wide">{formatting.orders(totals.round().sum())}</td>',
        f'<td class="wide">{change}</td>',
    ]
    css_class = "total" if is_planned else "year"
    return html_tables.row(name, in_columns(cells, days) + wide, css_class)


def _last_year(depots: pd.DataFrame, days: Days, names: DayNames) -> list[str]:
    """The row of some depots' orders 52 weeks before, with the `names` of those days; [] if unknown."""
    by_day = depots[depots["basis"] != "closed"].groupby("target_on")["year_before"]
    known, every = by_day.count(), by_day.size()
    if not known.any():
        return []
    of = f"at least {known.min():,} of {formatting.count(every.max(), 'depot')}"
    cities = depots["city"].unique()
    city = cities[0] if len(cities) == 1 else ""
    link = escape(formatting.link("", city=city, history="13 months"))
    name = f'<a href="{link}#by-day">52 weeks before</a>'
    name += f"<small>{of * bool((known < every).any())}</small>"
    before = depots.dropna(subset=["year_before"])
    return [_city_totals(name, before, days, names, "year_before")]


def _sum(total: float) -> str:
    """A sum, abbreviated on phones if long ('371k', '3.74M'): seven days must fit."""
    whole = formatting.orders(total)
    if len(whole) <= len("99,999"):
        return whole
    short = f"{total / 1000:.0f}k" if total < 999_500 else f"{total / 1_000_000:.3g}M"
    return f'<span class="desk">{whole}</span><span class="phone">{short}</span>'


def _depot(rows: list[Row], days: Days) -> str:
    first = rows[0]
    busiest = max(row["point"] for row in rows)
    link = escape(formatting.link("depot", depot=first["depot_id"]))
    # Whole orders of each day, as in its cells.
    total = formatting.orders(sum(round(row["point"]) for row in rows))
    cells = [
        *in_columns({row["target_on"]: _week_cell(row, busiest) for row in rows}, days),
        f'<td class="wide">{total}</td>',
        f'<td class="wide">{formatting.signed_percent(first["change"], 0)}</td>',
    ]
    name = f'<a href="{link}">{escape(first["name"])}</a>'
    return html_tables.row(f"{name}<small>{_late(status(first))}</small>", cells)


def status(depot: Mapping[Any, Any]) -> str:
    """The missing data of a depot; '' if none is missing."""
    if not (depot["is_silent"] or depot["is_late"]):
        return ""
    if pd.isna(depot["last_on"]):
        return "no data yet"
    since = "no data since" if depot["is_silent"] else "missing data after"
    return f"{since} {formatting.day(depot['last_on'])}"


def _week_cell(row: Row, busiest: float) -> str:
    title = f"80 % band {_band(row)}{override_note(row)}"
    if is_closed(row):
        return f'<td class="day closed"{closed_since(row)}>closed</td>'
    about = "≈" if row["basis"] == "cold_start" and not row["is_set"] else ""
    return (
        f'<td class="day {_shade(row["point"], busiest)}" title="{escape(title)}">'
        f"{about}{formatting.orders(row['point'])}{badge(row, row['made_by'])}</td>"
    )


def is_closed(row: Row) -> bool:
    """Whether the day is closed, and no planner's number overrides that."""
    return row["basis"] == "closed" and not row["is_set"]


def closed_since(row: Row) -> str:
    """The title attribute of a closed day that overrules a planner's number, else ''."""
    if pd.isna(row["overruled_by"]):
        return ""
    return f' title="{escape(_closed_note(row))}"'


def _closed_note(row: Row) -> str:
    return f"Closed, so {row['overruled_by']}'s number is not used"


def badge(row: Row, planner: str = "") -> str:
    """The mark of a number that a planner set, with their name, if given, and the model's number."""
    if not row["is_set"]:
        return ""
    planned, model = (formatting.orders(row[key]) for key in ("point", "model_point"))
    other = "" if planned == model else f"<small>model {model}</small>"
    by = f'<span class="desk">set by </span>{escape(planner)}' if planner else "set"
    return f'<small class="mark">{by}</small>{other}'


def override_note(row: Row) -> str:
    """'; 420 (model 341), set by Anna: a strike'; '' where nobody changed the day."""
    if not row["is_set"]:
        return ""
    closed = "; the calendar says closed" if row["basis"] == "closed" else ""
    number = formatting.planned(row["point"], row["model_point"])
    return f"; {number}, set by {row['made_by']}: {row['override_reason']}{closed}"


def of_needed(has: float, needed: float) -> str:
    """'7 of 11' as HTML, '7' where no more is needed; '' where nothing is planned."""
    if pd.isna(has):
        return ""
    lacking = f' <b class="short">of {needed:,.0f}</b>' if needed > has else ""
    return f"{has:,.0f}{lacking}"


def _day_row(
    row: Row, notes: list[str], busiest: float, has_year: bool, depot: Row
) -> str:
    depot_id, day = depot["depot_id"], row["day_on"]
    if is_closed(row):
        cells = [f'<td class="closed"{closed_since(row)}>closed</td><td></td>']
        notes = [note for note in notes if note != "Closed"]
    else:
        orders, shade = formatting.orders(row["point"]), _shade(row["point"], busiest)
        address = escape(formatting.plan_link(depot["city"], day, depot=depot_id))
        change = f'<a href="{address}" target="_self" title="Change">{orders}</a>'
        cells = [
            f'<td class="day {shade}">{change}{badge(row)}</td><td>{_band(row)}</td>'
        ]
    vans, moved = of_needed(row["allocated"], row["needed"]), escape(row["moved"])
    late = f"{row['undelivered']:,.0f} late" if row["undelivered"] > 0.5 else ""
    lines = "\n".join(filter(None, [late, moved]))
    cells.append(f'<td>{vans}<small class="desk moved">{lines}</small></td>')
    cells.append(f"<td>{formatting.orders(row['week_before'])}</td>")
    if has_year:
        is_known = not pd.isna(row["year_before"])
        # Last year the event was in another week, or on another weekday.
        is_moved = is_known and day - row["year_before_on"] != formatting.A_YEAR
        on = formatting.day(row["year_before_on"], day) if is_moved else ""
        year = formatting.orders(row["year_before"])
        cells.append(f"<td>{year}<small>{on}</small></td>")
    if row["basis"] == "cold_start":
        notes = ["From similar depots", *notes]
    if not pd.isna(row["overruled_by"]):
        notes = [_closed_note(row), *notes]
    set_by = f"Set by {row['made_by']}: {formatting.quoted(row['override_reason'])}"
    told, override = escape(", ".join(notes)), escape(set_by) * bool(row["is_set"])
    before = escape(row["noted_before"])
    below = "".join(f"<small>{each}</small>" for each in (override, before) if each)
    cells.append(f'<td class="fill desk">{told}{below}</td>')
    link = escape(formatting.why_link(depot_id, day))
    name = f'<a href="{link}" target="_self">{formatting.day(day)}</a>'
    # A phone has no room beside the numbers.
    on_move = f"Vans: {moved.replace(chr(10), ', ')}" if moved else ""
    line = " · ".join(filter(None, [told, override, late, on_move, before]))
    notes_row = f'<tr class="phone"><td colspan="{5 + has_year}">{line}</td></tr>'
    return html_tables.row(name, cells) + notes_row * bool(line)


def _band(row: Row) -> str:
    return f"{formatting.orders(row['p10'])} – {formatting.orders(row['p90'])}"


def _shade(value: float, busiest: float) -> str:
    """The CSS class of the shade; the nearer to the depot's busiest day, the darker."""
    share = (value / busiest) ** 3 if busiest > 0 else 0.0
    return f"s{SHADES * share:.0f}"
