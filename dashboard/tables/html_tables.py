"""Small tables and large numbers as HTML. Everything in them is escaped."""

from collections.abc import Callable, Collection
from html import escape
from typing import Any

import pandas as pd

from dashboard.text import formatting


def figures(said: dict[str, tuple[str, str]]) -> str:
    """Large numbers side by side: label → (value, what it is measured against)."""
    cells = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{escape(value)}"
        f"<small>{escape(against)}</small></dd></div>"
        for label, (value, against) in said.items()
    )
    return f'<dl class="hf-figures">{cells}</dl>'


PLAIN = {"MASE"}
"""Columns whose fractions are no percentages."""
DIFFERENCES = {
    "Forecast − actual",
    "Difference",
    "Weekday",
    "Holiday",
    "Events",
}
"""Columns whose whole numbers say in which direction they go."""
MANY_COLUMNS, LONG_WORDS, SHORT_WORDS = 4, 24, 10
SHORT = ("fill word", "fill short")


def table(rows_of: pd.DataFrame, on_wide: Collection[str] = ()) -> str:
    """A small table of `tables`, written out; its first column names the rows.

    Args:
      rows_of: The table; columns of empty words alone are left out.
      on_wide: Columns that a phone has no room for.
    """
    every = {name: column(rows_of[name], str(name)) for name in rows_of.columns}
    written = {name: cells for name, cells in every.items() if any(cells) or not cells}
    first, *rest = written
    side = {name: _side(rows_of[name], written[name]) for name in written}
    is_narrow = len(rest) < MANY_COLUMNS and all(side[n] in SHORT for n in rest)
    wide = " numbers" if all(side[n] != "fill" for n in rest) else ""
    narrow = " narrow" if is_narrow else wide
    side |= {n: f"{side[n]} desk".strip() for n in on_wide if n in side}
    heads = "".join(f'<th scope="col" class="{side[n]}">{escape(n)}</th>' for n in rest)
    rows = []
    for position, name in enumerate(written[first]):
        cells = "".join(
            f'<td class="{side[n]}">{escape(written[n][position])}</td>' for n in rest
        )
        rows.append(
            f'<tr><th scope="row" class="{side[first]}">{escape(name)}</th>{cells}</tr>'
        )
    return (
        f'<table class="hf{narrow}"><thead><tr><th scope="col">{escape(first)}</th>{heads}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def column(values: pd.Series, name: str) -> list[str]:
    """A column of a table for people, written out; a dash where nothing is known."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return [_or_dash(value, formatting.day) for value in values]
    if _is_text(values):
        return [_or_dash(value, str) for value in values]
    if pd.api.types.is_integer_dtype(values):
        form = formatting.difference if name in DIFFERENCES else formatting.whole
        return [_or_dash(value, form) for value in values]
    if name in PLAIN:
        return [_or_dash(value, "{:.2f}".format) for value in values]
    written = formatting.signed_percent if name == "Bias" else formatting.percent
    return [written(value / 100) for value in values.astype(float)]


def _or_dash(value: Any, written: Callable[[Any], str]) -> str:
    return formatting.UNKNOWN if pd.isna(value) else written(value)


def _side(values: pd.Series, written: list[str]) -> str:
    """Numbers stand right; text left, and the longer it is, the sooner it is broken."""
    if not _is_text(values):
        return ""
    longest = max(map(len, written), default=0)
    if longest > LONG_WORDS:
        return "fill"
    return "fill short" if longest <= SHORT_WORDS else "fill word"


def _is_text(values: pd.Series) -> bool:
    """Whether a column holds words or days, not numbers."""
    return not pd.api.types.is_numeric_dtype(values)
