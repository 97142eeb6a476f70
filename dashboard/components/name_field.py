"""The name that is kept with what a planner saves."""

import streamlit as st

from dashboard.auth import session
from dashboard.components import name_cookie
from dashboard.planning import overrides

NAME = "planner's name"


def planner_name(form: str) -> str:
    """The logged-in user's name, else a field of a form; the browser keeps what is typed there."""
    name = session.planner_name()
    if name is not None:
        return name
    field = f"name in {form}"
    if not st.session_state.get(field):
        # What was typed in another form, or the last time.
        known = st.session_state.get(NAME) or name_cookie.read()
        st.session_state[field] = known[: overrides.MAX_NAME_LENGTH]
    name = st.text_input(
        "Your name", width=320, max_chars=overrides.MAX_NAME_LENGTH, key=field
    )
    if name:
        st.session_state[NAME] = name
        name_cookie.write(name)
    return name
