"""The name that is kept with what a planner saves."""

import streamlit as st

from dashboard.auth import session
from dashboard.components import name_cookie
from dashboard.planning import overrides

NAME = "planner's name"


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
        st.session_state[NAME] = name_cookie.read()[: overrides.MAX_NAME_LENGTH]
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
        name_cookie.write(name)
    return name
