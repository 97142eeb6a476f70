"""What is chosen lives in the URL, so that a page can be sent to a colleague."""

from collections.abc import Mapping
from typing import overload

import streamlit as st


@overload
def choose_from_url(
    label: str, name: str, options: Mapping[str, str]
) -> str | None: ...


@overload
def choose_from_url(
    label: str, name: str, options: Mapping[str, str], default: str
) -> str: ...


def choose_from_url(
    label: str, name: str, options: Mapping[str, str], default: str | None = None
) -> str | None:
    """A select box whose choice is the URL's parameter `name`.

    The URL is the truth: a choice is written there first and read from there.

    Args:
      label: Above the box.
      name: The parameter, which holds an option and never its label.
      options: What to choose from, each with its label.
      default: Chosen where the URL names none of them.

    Returns:
      The option the URL names, or the default.
    """
    widget = f"choice of {name}"
    asked = st.query_params.get(name)
    chosen = asked if asked in options else default
    st.session_state[widget] = chosen

    def write() -> None:
        if st.session_state[widget] is None:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = st.session_state[widget]

    st.selectbox(
        label,
        list(options),
        key=widget,
        index=None,
        format_func=options.__getitem__,
        on_change=write,
        placeholder="Choose one",
        width=480,
    )
    return chosen
