"""HTML tables, and the parts that every grid shares.

Names, texts and numbers are escaped here; arguments documented as HTML are not.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from html import escape
from typing import Any

import pandas as pd

from dashboard.text import formatting

ERROR, ERROR_SHARE = "Error", "Error %"
"""Columns of forecast less actual, as signed whole numbers and as percentages."""
SIGNED_PERCENTAGES = {"Bias": 1, ERROR_SHARE: 0, "Live: vs last week": 0}
"""Columns of signed percentages, and their number of decimals."""
OUTSIDE = "Outside its band"
"""A column of 'yes' and '' that pages show as a mark on the numbers of the column 'Actual'."""
IN_BAND = "In the 80 % band"
ODD: Mapping[str, Callable[[pd.Series], pd.Series]] = {
    "Bias": lambda percentages: percentages.abs().round(1).gt(8),
    IN_BAND: lambda percentages: percentages.round(1).lt(50),
}
"""By column, which numbers are marked."""
LONG_TEXT, SHORT_TEXT = 24, 10


def grid(
    css_class: str, label: str, first: str, heads: Iterable[str], *bodies: list[str]
) -> str:
    """A table with a body for each list of rows; heads and rows are HTML.

    `label` names the table to a screen reader; `first` is the heading of the first column,
    which names the rows.
    """
    body = "".join(f"<tbody>{''.join(rows)}</tbody>" for rows in bodies)
    css_class = f"hf {css_class}".rstrip()
    return (
        f'<table class="{css_class}" aria-label="{escape(label)}"><thead><tr>'
        f'<th scope="col">{first}</th>{"".join(heads)}</tr></thead>{body}</table>'
    )


def row(name: str, cells: Iterable[str], css_class: str = "") -> str:
    """A row; `name` and `cells` are HTML."""
    attribute = f' class="{css_class}"' if css_class else ""
    return f'<tr{attribute}><th scope="row">{name}</th>{"".join(cells)}</tr>'


def city_name(city: str, day: date | None = None) -> str:
    """A city's name as a link to its plan, with a `day` if one is given."""
    link = escape(formatting.plan_link(city, day))
    return f'<a href="{link}" target="_self">{escape(city)}</a>'


def day_head(
    day: pd.Timestamp, event: str = "", *, is_marked: bool = False, link: str = ""
) -> str:
    """A day's column head, with its event's name on wide screens, else in a tooltip.

    `is_marked`: the URL selects the day; `link`: the address that the head links to, if any.
    """
    weekday, number, month = formatting.day(day).split(" ")
    mark = ""
    if event:
        name = escape(event)
        mark = f'<abbr class="event" title="{name}">▲<span class="desk"> {name}</span></abbr>'
    marked = ' class="day marked" aria-current="date"' if is_marked else ' class="day"'
    text = f"{weekday}<small>{number} <span>{month}</span></small>"
    if link:
        text = f'<a href="{escape(link)}" target="_self">{text}</a>'
    return f'<th scope="col"{marked}>{mark}{text}</th>'


def table(
    result: pd.DataFrame,
    label: str,
    hidden_on_phones: Collection[str] = (),
    links: Mapping[str, Sequence[str]] | None = None,
    are_current: Sequence[bool] | None = None,
) -> str:
    """A small display table; its first column names the rows.

    Columns that are empty in every row are left out. A name such as 'Orders: 7 days ahead' puts a column
    into the group 'Orders', which is named above its first column. Actual orders that are `OUTSIDE`,
    large biases and bands that held few days are marked.

    Args:
      result: A table of `display_tables`, or one with the same columns.
      label: Names the table to a screen reader.
      hidden_on_phones: Columns that a phone has no room for.
      links: By column, the address that each cell links to; '' for none.
      are_current: Which rows the URL selects.
    """
    texts = {str(n): column(result[n], str(n)) for n in result if n != OUTSIDE}
    texts = {name: cells for name, cells in texts.items() if any(cells) or not cells}
    classes = {name: _css_class(result[name], texts[name]) for name in texts}
    first, *rest = texts
    width = "" if "fill" in map(classes.get, rest) else "numbers"
    for name in classes.keys() & set(hidden_on_phones):
        classes[name] += " desk"
    heads = [
        f'<th scope="col" class="{classes[name]}">{head(name, before)}</th>'
        for before, name in zip([first, *rest], rest, strict=False)
    ]
    cells_of = {name: _cells(texts[name], (links or {}).get(name)) for name in texts}
    odd = {name: rule(result[name]) for name, rule in ODD.items() if name in result}
    if OUTSIDE in result:
        odd["Actual"] = result[OUTSIDE].eq("yes")
    for name, are_odd in odd.items():
        said = "unusual" if name in ODD else "outside the band"
        both = zip(cells_of[name], are_odd, strict=True)
        cells_of[name] = [
            marked(each, said) if is_odd else each for each, is_odd in both
        ]
    rows = []
    states = are_current or [False] * len(result)
    for is_current, name, *cells in zip(states, *cells_of.values(), strict=True):
        attribute = ' aria-current="true"' * is_current
        data = "".join(
            f'<td class="{classes[heading]}">{cell}</td>'
            for heading, cell in zip(rest, cells, strict=True)
        )
        rows.append(
            f'<tr{attribute}><th scope="row" class="{classes[first]}">{name}</th>{data}</tr>'
        )
    return grid(width, label, escape(first), heads, rows)


def marked(cell: str, said: str = "outside the band") -> str:
    """A cell's HTML, marked; a screen reader also says `said`."""
    return f'<b class="outside">{cell}<span class="said"> {said}</span></b>'


def column(values: pd.Series, name: str) -> list[str]:
    """A column of a display table as text; a dash where the value is missing."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return list(formatting.days(values))
    if not pd.api.types.is_numeric_dtype(values):
        return _texts(values, str)
    if pd.api.types.is_integer_dtype(values):
        return _texts(values, formatting.signed if name == ERROR else "{:,}".format)
    shares = values.astype(float) / 100
    if name in SIGNED_PERCENTAGES:
        digits = SIGNED_PERCENTAGES[name]
        return [formatting.signed_percent(share, digits) for share in shares]
    return [formatting.percent(share) for share in shares]


def head(name: str, before: str) -> str:
    """A heading as HTML, below its group's name unless the heading `before` has the same group."""
    group, _, own = name.rpartition(": ")
    own = own.replace(ERROR, ERROR.replace(" ", "\N{NO-BREAK SPACE}"))
    begins = group != before.rpartition(": ")[0]
    return (f'<b class="group">{escape(group)}</b>' if begins else "") + escape(own)


def _cells(texts: list[str], links: Sequence[str] | None) -> list[str]:
    if links is None:
        return [escape(text) for text in texts]
    return [
        f'<a href="{escape(link)}">{escape(text)}</a>' if link else escape(text)
        for text, link in zip(texts, links, strict=True)
    ]


def _texts(values: pd.Series, to_text: Callable[[Any], str]) -> list[str]:
    return [
        formatting.UNKNOWN if pd.isna(value) else to_text(value) for value in values
    ]


def _css_class(values: pd.Series, texts: list[str]) -> str:
    """The CSS class of a column: '' for right-aligned numbers; 'fill' for text, and its width."""
    if pd.api.types.is_numeric_dtype(values):
        return ""
    longest = max(map(len, texts), default=0)
    if longest > LONG_TEXT:
        return "fill"
    return "fill short" if longest <= SHORT_TEXT else "fill word"
