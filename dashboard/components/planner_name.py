"""The name that is kept with what a planner saves.

Without a login it is typed, and a cookie of the browser keeps it: a click in a grid loads the
page anew, and with it begins another session.
"""

from html import escape
from urllib.parse import unquote

import streamlit as st

from dashboard.auth import session
from dashboard.components import widgets
from dashboard.planning import overrides

NAME, FIELD = "planner's name", "your name"
COOKIE = "harbor_planner"
MAX_AGE_DAYS = 90
SCRIPT = (
    f"document.cookie = '{COOKIE}=' + "
    "encodeURIComponent(document.currentScript.previousElementSibling.dataset.name) + "
    f"'; path=/; max-age={MAX_AGE_DAYS * 86_400}; samesite=strict'"
)
"""Keeps the name that stands beside it; always the same text, which `server.asgi` lets run."""


def known_name() -> str:
    """The logged-in user's name, else the one typed last, which the browser keeps; '' for none."""
    name = session.planner_name()
    if name is not None:
        return name
    cookie = unquote(st.context.cookies.to_dict().get(COOKIE, ""))
    known: str = st.session_state.setdefault(NAME, cookie[: overrides.MAX_NAME_LENGTH])
    return known


def planner_name(is_saving: bool) -> str:
    """The logged-in user's name, else a field, which says so where it is missing on saving."""
    known = known_name()
    if session.planner_name() is not None:
        return known
    st.session_state.setdefault(FIELD, known)
    name = st.text_input(
        "Your name", width=320, max_chars=overrides.MAX_NAME_LENGTH, key=FIELD
    )
    st.session_state[NAME] = name
    if is_saving and not name.strip():
        widgets.missing_entry("Your name is missing.")
    if name:
        mark = f'<i class="hf-name" data-name="{escape(name)}"></i>'
        script = f"{mark}<script>{SCRIPT}</script>"
        st.html(script, unsafe_allow_javascript=True)
    return name
