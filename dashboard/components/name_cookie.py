"""A planner's name, kept in a cookie of the browser where the pages have no login.

A click in a grid loads the page anew, and with it begins another session.
"""

from html import escape
from urllib.parse import unquote

import streamlit as st

COOKIE = "harbor_planner"
MAX_AGE_DAYS = 90
SCRIPT = (
    f"document.cookie = '{COOKIE}=' + "
    "encodeURIComponent(document.currentScript.previousElementSibling.dataset.name) + "
    f"'; path=/; max-age={MAX_AGE_DAYS * 86_400}; samesite=strict'"
)
"""Keeps the name that stands beside it; always the same text, which `server.asgi` lets run."""


def read() -> str:
    """The name that the browser sent when the session began; '' for none."""
    return unquote(st.context.cookies.to_dict().get(COOKIE, ""))


def write(name: str) -> None:
    """Has the browser keep a name."""
    mark = f'<i class="hf-name" data-name="{escape(name)}"></i>'
    st.html(f"{mark}<script>{SCRIPT}</script>", unsafe_allow_javascript=True)
