"""Small tables and key figures as HTML. Everything in them is escaped."""

from collections.abc import Callable, Collection, Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd

from dashboard.tables import html_parts
from dashboard.text import formatting

PLAIN = {"MASE"}
"""Columns whose fractions are no percentages."""
DIFFERENCES = {"Forecast − actual", "Difference", "Weekday", "Holiday", "Events"}
"""Columns whose whole numbers have a sign."""
SIGNED_PERCENTAGES = {"Bias", "Value added"}
PAGE_HEADINGS = {"Naive MAPE": "Same day last week", "Median MAPE": "Median of 4"}
"""Headings that are others on pages than in a CSV."""
MANY_COLUMNS, LONG_TEXT, SHORT_TEXT = 4, 24, 10


def figures(values: dict[str, tuple[str, str]]) -> str:
    """Large numbers side by side: label → (value, reference)."""
    cells = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{escape(value)}"
        f"<small>{escape(reference)}</small></dd></div>"
        for label, (value, reference) in values.items()
    )
    return f'<dl class="hf-figures">{cells}</dl>'


def table(
    result: pd.DataFrame,
    hidden_on_phones: Collection[str] = (),
    links: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """A small display table; its first column names the rows.

    Columns that are empty in every row are left out, and some headings are `PAGE_HEADINGS`. `links` are the addresses to which the
    cells of a column lead.
    """
    columns = {str(name): column(result[name], str(name)) for name in result.columns}
    columns = {
        name: cells for name, cells in columns.items() if any(cells) or not cells
    }
    classes = {name: _css_class(result[name], columns[name]) for name in columns}
    first, *rest = columns
    is_narrow = len(rest) < MANY_COLUMNS and all(
        classes[name] in ("fill word", "fill short") for name in rest
    )
    width = "" if any(classes[name] == "fill" for name in rest) else "numbers"
    classes |= {
        name: f"{classes[name]} desk" for name in hidden_on_phones if name in columns
    }
    heads = [
        f'<th scope="col" class="{classes[name]}">{escape(PAGE_HEADINGS.get(name, name))}</th>'
        for name in rest
    ]
    cells_of = {
        name: _cells(columns[name], (links or {}).get(name)) for name in columns
    }
    rows = []
    for name, *cells in zip(*cells_of.values(), strict=True):
        data = "".join(
            f'<td class="{classes[heading]}">{cell}</td>'
            for heading, cell in zip(rest, cells, strict=True)
        )
        rows.append(
            f'<tr><th scope="row" class="{classes[first]}">{name}</th>{data}</tr>'
        )
    width = "narrow" if is_narrow else width
    return html_parts.table(width, escape(first), heads, rows)


def column(values: pd.Series, name: str) -> list[str]:
    """A column of a display table as text; a dash where the value is missing."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return _texts(values, formatting.day)
    if not pd.api.types.is_numeric_dtype(values):
        return _texts(values, str)
    if pd.api.types.is_integer_dtype(values):
        is_signed = name in DIFFERENCES
        return _texts(values, formatting.signed if is_signed else formatting.integer)
    if name in PLAIN:
        return _texts(values, "{:.2f}".format)
    is_signed = name in SIGNED_PERCENTAGES
    percent = formatting.signed_percent if is_signed else formatting.percent
    return [percent(value / 100) for value in values.astype(float)]


def _cells(texts: list[str], links: Sequence[str] | None) -> list[str]:
    if links is None:
        return [escape(text) for text in texts]
    return [
        f'<a href="{escape(link)}">{escape(text)}</a>'
        for text, link in zip(texts, links, strict=True)
    ]


def _texts(values: pd.Series, to_text: Callable[[Any], str]) -> list[str]:
    return [
        formatting.UNKNOWN if pd.isna(value) else to_text(value) for value in values
    ]


def _css_class(values: pd.Series, texts: list[str]) -> str:
    """Numbers stand right; text left, and the longer it is, the sooner it is broken."""
    if pd.api.types.is_numeric_dtype(values):
        return ""
    longest = max(map(len, texts), default=0)
    if longest > LONG_TEXT:
        return "fill"
    return "fill short" if longest <= SHORT_TEXT else "fill word"
