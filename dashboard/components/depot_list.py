"""The depots of the fleet, to choose one: page Depot without one."""

import pandas as pd
import streamlit as st

from dashboard.components import widgets
from dashboard.tables import display_tables
from dashboard.text import formatting

MAX_DEPOTS = 50
"""Depots in the list at once."""


def depot_list(depots: pd.DataFrame) -> None:
    """A field and the depots in whose name, city or id its text is, each a link.

    Args:
      depots: `queries.depots`.
    """
    text = st.text_input(
        "Find depots",
        placeholder="Part of a name, a city or an id",
        width=320,
        key="depots",
    ).strip()
    names = depots["label"].map(formatting.searchable)
    found = depots[names.str.contains(formatting.searchable(text), regex=False)]
    if found.empty:
        name = formatting.escape_markdown(text)
        widgets.empty_state(f"No depot has “{name}” in its name, city or id.")
        return
    shown = found.head(MAX_DEPOTS)
    if len(found) > MAX_DEPOTS:
        st.caption(f"{MAX_DEPOTS} of {len(found):,} depots.")
    widgets.small_table(
        display_tables.display(shown, "label", label="Depot"),
        "Depots",
        links={"Depot": display_tables.depot_links(shown)},
    )
