"""What pages are put together from: sections with a table and a file behind them."""

import pandas as pd
import streamlit as st

from dashboard import tables, wording

DAY_FORMAT = "ddd D MMM YYYY"
PERCENT = {"Off by", "WAPE", "Bias", "In the 80 % band"}


def chart(drawn: object, sentence: str, table: pd.DataFrame, name: str) -> None:
    """A chart, the sentence that says what it shows, and its numbers.

    Args:
      drawn: From `charts`.
      sentence: What a reader should see in it.
      table: The numbers behind it, from `tables`.
      name: Of the file they are saved in.
    """
    st.caption(sentence)
    st.altair_chart(drawn, width="stretch", alt=sentence)  # type: ignore[arg-type]
    behind(table, name)


def behind(table: pd.DataFrame, name: str) -> None:
    """The numbers, folded away, and the same as a file."""
    with st.expander("The numbers"):
        show(table)
        st.download_button(
            "Save as CSV",
            tables.csv(table),
            file_name=f"{name}.csv",
            mime="text/csv",
            key=f"csv {name}",
            on_click="ignore",
            icon=":material/download:",
        )


def show(table: pd.DataFrame) -> None:
    """A table whose days have names and whose percentages say so."""
    st.dataframe(table, hide_index=True, width="stretch", column_config=_columns(table))


def figures(said: dict[str, tuple[str, str]]) -> None:
    """Large numbers side by side: label → (value, what it is measured against)."""
    with st.container(horizontal=True, gap="medium"):
        for label, (value, against) in said.items():
            st.metric(
                label,
                value,
                delta=against or None,
                delta_color="off",
                delta_arrow="off",
                width="content",
            )


def _columns(table: pd.DataFrame) -> dict[str, object]:
    days = {
        name: st.column_config.DateColumn(format=DAY_FORMAT)
        for name in table.select_dtypes("datetime")
    }
    shares = {
        name: st.column_config.NumberColumn(format="%.1f %%")
        for name in table.columns
        if name in PERCENT or str(name).startswith("MAPE")
    }
    whole = {
        name: st.column_config.NumberColumn(format="localized")
        for name in table.select_dtypes("Int64")
    }
    return {**days, **shares, **whole}


def kind_of_scores(live: bool) -> None:
    """Says whether scores are of live forecasts or of hindcasts."""
    if live:
        st.caption("**Live:** forecasts made in the night before their first day.")
    else:
        st.warning(
            "**Hindcasts:** forecasts made later, with only what was known at the time. "
            "They show what the model can do, not what was shown in the morning.",
            icon=":material/history:",
        )


def nothing(sentence: str) -> None:
    """Says why there is nothing to show and what to do, and ends the page."""
    st.info(sentence, icon=":material/info:")
    st.stop()
