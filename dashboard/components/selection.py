"""A select box bound to a URL parameter, so that a page can be shared by its URL."""

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
    """A select box bound to the URL parameter `name`.

    A choice is written to the URL first and read back from there.

    Args:
      label: Label of the box.
      name: The URL parameter; it holds the option, not its label.
      options: The options and their labels.
      default: Used where the URL has no valid option.

    Returns:
      The option the URL names, or the default.
    """
    widget = f"choice of {name}"
    requested = st.query_params.get(name)
    chosen = requested if requested in options else default
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
