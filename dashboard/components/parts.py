"""Building blocks of the pages: charts, tables, CSV downloads and notices."""

from collections.abc import Callable, Collection
from typing import Any, NoReturn

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from dashboard.charts.encodings import Chart
from dashboard.tables import export, html_tables
from dashboard.text import formatting

DAY_FORMAT = "ddd D MMM YYYY"


def chart(
    draw: Callable[[pd.DataFrame], Chart],
    rows: pd.DataFrame,
    sentence: str,
    table: pd.DataFrame,
    name: str,
) -> None:
    """Shows a chart with its caption and its data.

    Args:
      draw: A function of `charts`.
      rows: The chart's data.
      sentence: Its caption.
      table: The data to view and download, from `tables`.
      name: Name of the CSV file; unique per chart.
    """
    st.caption(sentence)
    _drawn(draw, rows, sentence, name)
    data_expander(lambda: table, name)


# Some columns hold lists, which Streamlit's own hash does not know.
@st.cache_data(
    max_entries=128, show_spinner=False, hash_funcs={pd.DataFrame: pd.DataFrame.to_csv}
)
def _drawn(
    _draw: Callable[[pd.DataFrame], Chart],
    rows: pd.DataFrame,
    alt: str,
    name: str,  # noqa: ARG001 - of the key
) -> None:
    """Draws a chart, cached by rows and name because Altair is slow."""
    st.altair_chart(_draw(rows), width="stretch", alt=alt)


def data_expander(made: Callable[[], pd.DataFrame], name: str) -> None:
    """An expander with a table and its CSV; the table is built when it is opened.

    Args:
      made: Builds the table.
      name: Name of the CSV file.
    """
    numbers = st.expander("View data", key=f"data {name}", on_change="rerun")
    if numbers.open:
        with numbers:
            table = made()
            data_table(table)
            download_button(table, name)


def download_button(table: pd.DataFrame, name: str) -> None:
    """A button that downloads a table as CSV."""
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


def data_table(table: pd.DataFrame) -> None:
    """A data table with formatted days, percentages and differences."""
    st.dataframe(
        _with_minus(table),
        hide_index=True,
        width="stretch",
        column_config=_columns(table),
    )


def key_figures(said: dict[str, tuple[str, str]]) -> None:
    """Large numbers side by side."""
    st.html(html_tables.figures(said))


def small_table(table: pd.DataFrame, name: str, on_wide: Collection[str] = ()) -> None:
    """A small HTML table with its CSV download.

    Args:
      table: From `tables` or a similar module.
      name: Name of the CSV file.
      on_wide: Columns hidden on phones.
    """
    st.html(html_tables.table(table, on_wide))
    download_button(table, name)


def _with_minus(table: pd.DataFrame) -> pd.DataFrame | Styler:
    """Formats columns of differences with an explicit sign."""
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


def score_kind_notice(live: bool) -> None:
    """Shows whether the scores are of live forecasts or hindcasts."""
    if live:
        st.caption("**Live:** forecasts made the night before their first day.")
    else:
        st.warning(
            "**Hindcasts:** forecasts made afterwards, with only the data known at the time. "
            "They show what the model can do, not what was published.",
            icon=":material/history:",
        )


def empty_state(sentence: str) -> None:
    """Shows a message in place of missing data."""
    st.info(sentence, icon=":material/info:")


def stop_with(sentence: str) -> NoReturn:
    """Shows a message in place of missing data, and stops the page."""
    empty_state(sentence)
    st.stop()
