"""What pages are put together from: sections with a table and a file behind them."""

from collections.abc import Callable, Collection
from typing import Any, NoReturn

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from dashboard.charts.encodings import Drawn
from dashboard.tables import export, html_tables
from dashboard.text import formatting

DAY_FORMAT = "ddd D MMM YYYY"


def chart(
    draw: Callable[[pd.DataFrame], Drawn],
    rows: pd.DataFrame,
    sentence: str,
    table: pd.DataFrame,
    name: str,
) -> None:
    """A chart, the sentence that says what it shows, and its numbers.

    Args:
      draw: From `charts`.
      rows: What it draws.
      sentence: What a reader should see in it.
      table: The numbers behind it, from `tables`.
      name: Of the file they are saved in; no two charts have the same.
    """
    st.caption(sentence)
    _drawn(draw, rows, sentence, name)
    behind(lambda: table, name)


# Some columns hold lists, which Streamlit's own hash does not know.
@st.cache_data(
    max_entries=128, show_spinner=False, hash_funcs={pd.DataFrame: pd.DataFrame.to_csv}
)
def _drawn(
    _draw: Callable[[pd.DataFrame], Drawn],
    rows: pd.DataFrame,
    alt: str,
    name: str,  # noqa: ARG001 - of the key
) -> None:
    """Puts a chart on the page, kept by its rows and name: Altair takes its time."""
    st.altair_chart(_draw(rows), width="stretch", alt=alt)


def behind(made: Callable[[], pd.DataFrame], name: str) -> None:
    """The numbers, folded away and not made before they are asked for, and as a file.

    Args:
      made: Gives the table.
      name: Of the file it is saved in.
    """
    numbers = st.expander("View data", key=f"data {name}", on_change="rerun")
    if numbers.open:
        with numbers:
            table = made()
            show(table)
            save(table, name)


def save(table: pd.DataFrame, name: str) -> None:
    """A button that saves a table."""
    st.download_button(
        "Save as CSV",
        export.csv(table),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=f"csv {name}",
        on_click="ignore",
        icon=":material/download:",
        type="tertiary",
    )


def show(table: pd.DataFrame) -> None:
    """A table whose days have names and whose percentages say so."""
    st.dataframe(
        _with_minus(table),
        hide_index=True,
        width="stretch",
        column_config=_columns(table),
    )


def figures(said: dict[str, tuple[str, str]]) -> None:
    """Large numbers side by side."""
    st.html(html_tables.figures(said))


def small(table: pd.DataFrame, name: str, on_wide: Collection[str] = ()) -> None:
    """A small table written out, and the same as a file.

    Args:
      table: From `tables` and its like.
      name: Of the file.
      on_wide: Columns that a phone has no room for.
    """
    st.html(html_tables.table(table, on_wide))
    save(table, name)


def _with_minus(table: pd.DataFrame) -> pd.DataFrame | Styler:
    """Differences written with the signs of the rest of the page."""
    written: dict[Any, Any] = {
        name: formatting.difference
        for name in table.columns
        if _is_difference(table, name)
    }
    return table.style.format(written, na_rep="") if written else table


def _is_difference(table: pd.DataFrame, name: str) -> bool:
    return name in html_tables.DIFFERENCES and pd.api.types.is_integer_dtype(
        table[name]
    )


def _columns(table: pd.DataFrame) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name in map(str, table.columns):
        if pd.api.types.is_datetime64_any_dtype(table[name]):
            columns[name] = st.column_config.DateColumn(format=DAY_FORMAT)
        elif _is_difference(table, name):
            continue  # the configured format would outrank the written one
        elif pd.api.types.is_integer_dtype(table[name]):
            columns[name] = st.column_config.NumberColumn(format="%,d")
        elif pd.api.types.is_float_dtype(table[name]):
            plain = name in html_tables.PLAIN
            form = "%.2f" if plain else "%.1f %%"
            columns[name] = st.column_config.NumberColumn(format=form)
    return columns


def kind_of_scores(live: bool) -> None:
    """Says whether scores are of live forecasts or of hindcasts."""
    if live:
        st.caption("**Live:** forecasts made the night before their first day.")
    else:
        st.warning(
            "**Hindcasts:** forecasts made afterwards, with only the data known at the time. "
            "They show what the model can do, not what was published.",
            icon=":material/history:",
        )


def missing(sentence: str) -> None:
    """Says why there is nothing to show and what to do."""
    st.info(sentence, icon=":material/info:")


def nothing(sentence: str) -> NoReturn:
    """Says why there is nothing to show and what to do, and ends the page."""
    missing(sentence)
    st.stop()
