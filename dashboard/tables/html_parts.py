"""The parts of every grid in HTML: table, row and the head of a day."""

from collections.abc import Iterable
from html import escape

import pandas as pd

from dashboard.text import formatting


def table(css_class: str, first: str, heads: Iterable[str], *bodies: list[str]) -> str:
    """A table with a body for each list of rows; heads and rows are HTML.

    `first` is the heading of the first column, which names the rows.
    """
    body = "".join(f"<tbody>{''.join(rows)}</tbody>" for rows in bodies)
    return (
        f'<table class="{f"hf {css_class}".rstrip()}"><thead><tr><th scope="col">{first}</th>'
        f"{''.join(heads)}</tr></thead>{body}</table>"
    )


def row(name: str, cells: Iterable[str], css_class: str = "") -> str:
    """A row; `name` and `cells` are HTML."""
    attribute = f' class="{css_class}"' if css_class else ""
    return f'<tr{attribute}><th scope="row">{name}</th>{"".join(cells)}</tr>'


def day_head(day: pd.Timestamp, event: str = "", *, is_marked: bool = False) -> str:
    """A day's head; the name of its event is left to a tooltip on phones.

    `is_marked` marks the day that the address names.
    """
    weekday, number, month = formatting.day(day).split(" ")
    mark = ""
    if event:
        name = escape(event)
        mark = f'<abbr class="event" title="{name}">▲<span class="desk"> {name}</span></abbr>'
    marked = ' class="day marked" aria-current="date"' if is_marked else ' class="day"'
    return (
        f'<th scope="col"{marked}>{mark}{weekday}'
        f"<small>{number} <span>{month}</span></small></th>"
    )
