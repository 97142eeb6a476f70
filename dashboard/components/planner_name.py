"""The planner's name, which is stored with every change.

Without a login the planner types it, and a browser cookie keeps it, because a click in a grid
reloads the page and starts a new session.
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
"""Stores the preceding element's name in a cookie; constant, as `server.asgi` allows it by hash."""


def known_name() -> str:
    """The logged-in user's name, else the name typed last in this browser; '' for none."""
    name = session.planner_name()
    if name is not None:
        return name
    cookie = unquote(st.context.cookies.to_dict().get(COOKIE, ""))
    known: str = st.session_state.setdefault(NAME, cookie[: overrides.MAX_NAME_LENGTH])
    return known


def planner_name(is_saving: bool) -> str:
    """Returns the logged-in user's name, else shows a field for it, which saving requires."""
    known = known_name()
    if session.planner_name() is not None:
        return known
    st.session_state.setdefault(FIELD, known)
    name = st.text_input(
        "Your name", width=420, max_chars=overrides.MAX_NAME_LENGTH, key=FIELD,
        placeholder="As colleagues know you",
    )  # fmt: skip
    st.session_state[NAME] = name
    if is_saving and not name.strip():
        widgets.missing_entry("Your name is missing.")
    if name:
        mark = f'<i class="hf-name" data-name="{escape(name)}"></i>'
        script = f"{mark}<script>{SCRIPT}</script>"
        st.html(script, unsafe_allow_javascript=True)
    return name
