"""The name that is kept with what a planner saves.

Without a login it is typed, and a cookie of the browser keeps it: a click in a grid loads the
page anew, and with it begins another session.
"""

from html import escape
from urllib.parse import unquote

import streamlit as st

from dashboard.auth import session
from dashboard.planning import overrides

NAME = "planner's name"
COOKIE = "harbor_planner"
MAX_AGE_DAYS = 90
SCRIPT = (
    f"document.cookie = '{COOKIE}=' + "
    "encodeURIComponent(document.currentScript.previousElementSibling.dataset.name) + "
    f"'; path=/; max-age={MAX_AGE_DAYS * 86_400}; samesite=strict'"
)
"""Keeps the name that stands beside it; always the same text, which `server.asgi` lets run."""


def known_name() -> str:
    """The name that `planner_name` gave last; '' for none."""
    name = session.planner_name()
    return st.session_state.get(NAME, "") if name is None else name


def planner_name(form: str) -> str:
    """The logged-in user's name, else a field of a form; the browser keeps what is typed there."""
    name = session.planner_name()
    if name is not None:
        return name
    if NAME not in st.session_state:
        cookie = unquote(st.context.cookies.to_dict().get(COOKIE, ""))
        st.session_state[NAME] = cookie[: overrides.MAX_NAME_LENGTH]
    field = f"name in {form}"
    typed = st.session_state.get(field)
    # A second click brings what the field held before the first one's run put a name there.
    known = st.session_state.get(f"{field}, known", (typed,))
    if typed not in (None, *known):
        st.session_state[NAME] = typed
    # All forms show the name that was typed last.
    if typed != st.session_state[NAME]:
        st.session_state[field] = st.session_state[NAME]
    name = st.text_input(
        "Your name", width=320, max_chars=overrides.MAX_NAME_LENGTH, key=field
    )
    st.session_state[f"{field}, known"] = (typed, name)
    if name:
        mark = f'<i class="hf-name" data-name="{escape(name)}"></i>'
        script = f"{mark}<script>{SCRIPT}</script>"
        st.html(script, unsafe_allow_javascript=True)
    return name
