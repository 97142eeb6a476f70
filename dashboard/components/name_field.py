"""The name that is kept with what a planner saves."""

import streamlit as st

from dashboard.auth import session
from dashboard.planning import overrides

NAME = "planner's name"


def planner_name(form: str) -> str:
    """The logged-in user's name, else a field of a form that keeps it for the session."""
    name = session.planner_name()
    if name is None:
        name = st.text_input(
            "Your name", value=st.session_state.get(NAME, ""), width=320,
            max_chars=overrides.MAX_NAME_LENGTH, key=f"name in {form}",
        )  # fmt: skip
        # The empty field of another form does not forget it.
        st.session_state[NAME] = name or st.session_state.get(NAME, "")
    return name
