"""The head of every page: the title, with Copy link and Save as Excel beside it."""

from collections.abc import Callable
from datetime import datetime
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from dashboard import queries
from dashboard.queries.freshness import Freshness
from dashboard.tables import workbook
from dashboard.tables.workbook import Sheets
from dashboard.text import formatting

PLACE, HEADING = "place of page actions", "place of the title"
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SCRIPT = (Path(__file__).parent / "page_head.js").read_text()
"""Browser script of the page head; constant, because `server.asgi` allows it by its hash."""
FOCUS = (Path(__file__).parent / "focus.js").read_text()
"""Browser script that focuses the message above it; constant for the same reason."""


def show(title: str, *, is_system: bool) -> None:
    """Shows the title and a place for page actions; `is_system` marks "System" in the menu."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom",
        key="page-head",
    ):  # fmt: skip
        heading = st.empty()
        place = st.container(
            horizontal=True, vertical_alignment="center", width="content", key="page-actions",
        )  # fmt: skip
        with place:
            mark = " system" if is_system else ""
            button = f'<button type="button" class="hf-copy{mark}">Copy link</button>'
            script = f"{button}<script>{SCRIPT}</script>"
            st.html(script, unsafe_allow_javascript=True, width="content")
    st.session_state[PLACE], st.session_state[HEADING] = place, heading
    rename(title)


def rename(title: str) -> None:
    """Changes the page's title, for example to the name of its depot."""
    st.session_state[HEADING].title(formatting.escape_markdown(title), width="content")


def print_heading(heading: str) -> None:
    """Adds a heading with the time of printing, which appears only in print."""
    zone = queries.zone()
    printed = f"printed {formatting.timestamp(datetime.now(zone), zone)} ({zone.key})"
    st.html(f'<p class="hf-print">{escape(heading)} <small>{printed}</small></p>')


def run(script: str) -> None:
    """Runs one of `server.asgi.OWN_SCRIPTS` once, at this place on the page."""
    st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)


def save_as_excel(name: str, make: Callable[[], Sheets], freshness: Freshness) -> None:
    """Shows the button that saves the page as Excel, in a file with today's date.

    Args:
      name: File name without date and suffix.
      make: Returns the sheets; called when the button is clicked.
      freshness: Freshness of the forecast in the sheets.
    """
    zone = queries.zone()
    now = datetime.now(zone)
    chosen = urlencode(st.query_params.to_dict())
    forecast = "None yet"
    if freshness.origin_on is not None:
        forecast = f"From orders up to {freshness.origin}, by model {freshness.model}"
    about = {
        "Saved": f"{formatting.timestamp(now, zone)} (times in {zone.key})",
        "Page": "?".join(filter(None, [st.context.url, chosen])),
        "Forecast": forecast,
    }
    with st.session_state[PLACE]:
        st.download_button(
            "Save as Excel", lambda: workbook.write(about, make()), file_name=f"{name}-{now:%Y-%m-%d}.xlsx", mime=EXCEL, key="save as Excel",
            on_click="ignore", icon=":material/download:", type="tertiary",
        )  # fmt: skip
